//! Versions of a server with defects that affect elections, for `elect doctor`.

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

#[cfg(test)]
mod tests {
    use super::*;

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
