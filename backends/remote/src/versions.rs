//! Versions of a server that are too old for elect, or have defects that affect elections, for `elect doctor`.

use std::ops::Range;

use elect_api::Finding;

/// A version: three numbers. One that is not written counts as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads the numbers at the begin of a text, as in `v3.6.0-rc.1`, `15.18 (Debian)` or `10.6.9-MariaDB-log`. Returns
    /// `None` if it does not begin with one.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('v');
        let end = text.find(|char: char| !char.is_ascii_digit() && char != '.');
        let mut numbers = text[..end.unwrap_or(text.len())].split('.');
        let mut next = || numbers.next().unwrap_or_default().parse().ok();
        Some(Self(next()?, next().unwrap_or(0), next().unwrap_or(0)))
    }
}

/// A defect of some versions.
#[derive(Clone, Copy, Debug)]
pub struct Defect {
    /// The versions that have it.
    pub versions: &'static [Range<Version>],
    /// Its effect on an election.
    pub what: &'static str,
    /// The page that tells of it.
    pub source: &'static str,
    /// The version to upgrade to.
    pub way_out: &'static str,
}

impl Defect {
    /// Returns whether this version has it. A version that cannot be read does not.
    #[must_use]
    pub fn is_in(&self, version: &str) -> bool {
        let is_in = |version| self.versions.iter().any(|range| range.contains(&version));
        Version::read(version).is_some_and(is_in)
    }

    /// Returns a warning that names the servers with this defect. Each has an address and a version.
    #[must_use]
    pub fn warning<'a>(
        &self,
        product: &str,
        servers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Option<Finding> {
        let affected = servers.into_iter().filter(|(_, version)| self.is_in(version));
        let affected: Vec<_> =
            affected.map(|(address, version)| format!("{address} ({version})")).collect();
        let what = format!("{product} at {}: {} ({})", affected.join(", "), self.what, self.source);
        (!affected.is_empty()).then(|| Finding::warning(what, self.way_out))
    }
}

/// What elect knows of the versions of a product.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    /// The name of the product.
    pub product: &'static str,
    /// The oldest one with all that elect uses.
    pub oldest: Version,
    /// The defects that are known.
    pub defects: &'static [Defect],
}

impl Versions {
    /// Returns an error if this version of the server at `place` is too old, and a warning for each defect that it has.
    /// A version that cannot be read has neither.
    pub fn findings(self, place: &str, version: &str) -> impl Iterator<Item = Finding> {
        let Self { product, oldest, defects } = self;
        let is_old = Version::read(version).is_some_and(|version| version < oldest);
        let old = is_old.then(|| {
            Finding::error(
                format!("{product} at {place} is of version {version}"),
                format!("upgrade it to version {}.{} or later", oldest.0, oldest.1),
            )
        });
        let known = defects.iter().filter_map(move |it| it.warning(product, [(place, version)]));
        old.into_iter().chain(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_and_those_with_known_defects_are_named() {
        const DEFECTS: &[Defect] = &[Defect {
            versions: &[Version(10, 6, 9)..Version(10, 6, 10)],
            what: "it forgets",
            source: "a page",
            way_out: "upgrade",
        }];
        let known = Versions { product: "It", oldest: Version(10, 5, 0), defects: DEFECTS };
        for (version, said) in [
            ("10.4.34-log", &["It at a:1 is of version 10.4.34-log"][..]),
            ("10.6.9", &["It at a:1 (10.6.9): it forgets (a page)"]),
            ("10.5", &[]),
            ("10.6.10", &[]),
            ("of tomorrow", &[]),
        ] {
            let found: Vec<_> = known.findings("a:1", version).map(|it| it.what).collect();
            assert_eq!(found, said, "{version}");
        }
        let old = known.findings("a:1", "9").next().expect("it is too old");
        assert_eq!(old.way_out, "upgrade it to version 10.5 or later");
    }

    #[test]
    fn versions_are_read_as_servers_write_them() {
        for (text, version) in [
            ("3.4.23", Version(3, 4, 23)),
            ("v3.6.0-rc.1", Version(3, 6, 0)),
            ("15.18 (Debian 15.18-0+deb12u1)", Version(15, 18, 0)),
            ("17beta1", Version(17, 0, 0)),
            ("10.6.9-MariaDB-1:10.6.9+maria~deb11-log", Version(10, 6, 9)),
            ("8.4.1", Version(8, 4, 1)),
        ] {
            assert_eq!(Version::read(text), Some(version), "{text}");
        }
        for odd in ["", "of tomorrow", "a.b.c", "."] {
            assert_eq!(Version::read(odd), None, "{odd}");
        }
    }

    #[test]
    fn servers_with_the_same_defect_are_named_together() {
        let versions = &[Version(3, 4, 0)..Version(3, 4, 31), Version(3, 5, 0)..Version(3, 5, 3)];
        let defect = Defect { versions, what: "it forgets", source: "a page", way_out: "upgrade" };
        let servers = [("a:1", "3.5.1"), ("b:1", "3.5.3"), ("c:1", "3.4.2"), ("d:1", "tomorrow")];
        let found = defect.warning("etcd", servers).expect("two have it");
        assert_eq!(found.what, "etcd at a:1 (3.5.1), c:1 (3.4.2): it forgets (a page)");
        assert_eq!(defect.warning("etcd", [("b:1", "3.5.3")]), None);
    }
}
