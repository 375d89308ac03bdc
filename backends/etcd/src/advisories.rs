//! The known faults of etcd versions that affect elections.

use std::time::Duration;

use elect_api::Finding;
use etcd_client::Client;
use tokio::time::timeout;

/// The limit for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// A version as etcd writes it, without any suffix after its three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

impl Version {
    /// Reads a version; `None` if the text does not have three numbers.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.trim_start_matches('v').splitn(3, '.').map(|part| {
            let end = part.find(|char: char| !char.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse().ok()
        });
        Some(Self(numbers.next()??, numbers.next()??, numbers.next()??))
    }
}

/// A fault of some versions, which only affects clusters of several members.
struct Fault {
    is_in: fn(Version) -> bool,
    what: &'static str,
    source: &'static str,
    way_out: &'static str,
}

const FAULTS: [Fault; 3] = [
    Fault {
        is_in: |version| {
            version < Version(3, 4, 31) || (Version(3, 5, 0)..Version(3, 5, 13)).contains(&version)
        },
        what: "a member that led and stood still for a while may end leases that its successor keeps alive: \
               another leads before the time",
        source: "https://github.com/etcd-io/etcd/issues/15247",
        way_out: "upgrade it to 3.4.31, 3.5.13 or newer",
    },
    Fault {
        is_in: |version| (Version(3, 5, 0)..Version(3, 5, 3)).contains(&version),
        what: "a member that is killed under high load may lack what the others have committed",
        source: "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/README.md",
        way_out: "upgrade it to 3.5.4 or newer",
    },
    Fault {
        is_in: reads_stale,
        what: "a member whose process stood still may answer reads from the past (elect proves what it must by writes \
               there, one for each renewal of a leader)",
        source: "https://github.com/etcd-io/etcd/issues/20418",
        way_out: "upgrade it to 3.4.42, 3.5.28, 3.6.9 or newer",
    },
];

fn reads_stale(version: Version) -> bool {
    version < Version(3, 4, 42)
        || (Version(3, 5, 0)..Version(3, 5, 28)).contains(&version)
        || (Version(3, 6, 0)..Version(3, 6, 9)).contains(&version)
}

/// Returns whether a member of this version, in a cluster of several, may answer a linearizable read from the past.
pub(crate) fn may_read_stale(version: &str) -> bool {
    Version::read(version).is_none_or(reads_stale)
}

/// Returns the known faults of these members' versions, `ADDRESS` and `VERSION` each. In a cluster of one member they
/// have no effect, and are notes only.
pub(crate) fn known(members: &[(String, String)], is_alone: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for fault in &FAULTS {
        let has =
            |(_, version): &&(String, String)| Version::read(version).is_some_and(fault.is_in);
        let who: Vec<String> = members
            .iter()
            .filter(has)
            .map(|(address, version)| format!("{address} ({version})"))
            .collect();
        if who.is_empty() {
            continue;
        }
        let what = format!("etcd at {}: {} ({})", who.join(", "), fault.what, fault.source);
        findings.push(if is_alone {
            Finding::note(format!("{what}; a cluster of one member is spared"), fault.way_out)
        } else {
            Finding::warning(what, fault.way_out)
        });
    }
    findings
}

/// Returns the number of members that have a vote, if the cluster answers in time.
pub(crate) async fn voters(client: &Client) -> Option<usize> {
    let list = timeout(ANSWER_TIMEOUT, client.cluster_client().member_list()).await.ok()?.ok()?;
    Some(list.members().iter().filter(|member| !member.is_learner()).count())
}

/// Returns whether linearizable reads of a member can be trusted: in a cluster of one voter, or by the member's
/// version. `None` if the member does not answer in time.
pub(crate) async fn reads_are_sound(client: &Client) -> Option<bool> {
    let mut maintenance = client.maintenance_client();
    let (status, voters) =
        tokio::join!(timeout(ANSWER_TIMEOUT, maintenance.status()), voters(client));
    let status = status.ok()?.ok()?;
    Some(voters == Some(1) || !may_read_stale(status.version()))
}

#[cfg(test)]
mod tests {
    use elect_api::Severity;

    use super::*;

    #[test]
    fn versions_are_read_as_etcd_writes_them() {
        assert_eq!(Version::read("3.4.23"), Some(Version(3, 4, 23)));
        assert_eq!(Version::read("v3.6.0-rc.1"), Some(Version(3, 6, 0)));
        for odd in ["", "3", "3.5", "a.b.c", "3.5.x"] {
            assert_eq!(Version::read(odd), None, "{odd}");
        }
    }

    #[test]
    fn each_version_has_the_faults_that_are_known_of_it() {
        for (version, faults) in [
            ("3.3.27", 2),
            ("3.4.23", 2),
            ("3.4.30", 2),
            ("3.4.31", 1),
            ("3.4.41", 1),
            ("3.4.42", 0),
            ("3.5.0", 3),
            ("3.5.2", 3),
            ("3.5.3", 2),
            ("3.5.12", 2),
            ("3.5.13", 1),
            ("3.5.27", 1),
            ("3.5.28", 0),
            ("3.6.0", 1),
            ("3.6.8", 1),
            ("3.6.9", 0),
            ("3.7.0", 0),
            ("of tomorrow", 0),
        ] {
            let member = [("a:1".to_owned(), version.to_owned())];
            let found = known(&member, false);
            assert_eq!(found.len(), faults, "{version}: {found:?}");
            assert!(found.iter().all(|finding| finding.severity == Severity::Warning));
            assert!(known(&member, true).iter().all(|found| found.severity == Severity::Note));
        }
    }

    #[test]
    fn reads_are_trusted_of_versions_that_are_known_to_be_well() {
        for (version, is_trusted) in
            [("3.5.28", true), ("3.6.9", true), ("3.5.16", false), ("", false), ("tomorrow", false)]
        {
            assert_eq!(may_read_stale(version), !is_trusted, "{version}");
        }
    }

    #[test]
    fn members_with_the_same_fault_are_named_together() {
        let members = [("a:1", "3.5.1"), ("b:1", "3.4.40"), ("c:1", "3.4.2")]
            .map(|(address, version)| (address.to_owned(), version.to_owned()));
        let found = known(&members, false);
        assert!(found[0].what.contains("a:1 (3.5.1), c:1 (3.4.2): "), "{found:?}");
        assert!(!found[0].what.contains("b:1"), "{found:?}");
    }
}
