//! The known defects of etcd versions that affect elections, each in clusters of several members only.

use std::time::Duration;

use elect_api::Finding;
use elect_remote::{Defect, Version};
use etcd_client::Client;
use tokio::time::timeout;

/// The limit for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

const ENDS_LIVING_LEASES: Defect = Defect {
    versions: &[Version(0, 0, 0)..Version(3, 4, 31), Version(3, 5, 0)..Version(3, 5, 13)],
    what: "a member that led and stood still for a while may end leases that its successor keeps alive: another leads \
           before the time",
    source: "https://github.com/etcd-io/etcd/issues/15247",
    way_out: "upgrade it to 3.4.31, 3.5.13 or newer",
};
const LOSES_WRITES: Defect = Defect {
    versions: &[Version(3, 5, 0)..Version(3, 5, 3)],
    what: "a member that is killed under high load may lack what the others have committed",
    source: "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/README.md",
    way_out: "upgrade it to 3.5.4 or newer",
};
const READS_STALE: Defect = Defect {
    versions: &[
        Version(0, 0, 0)..Version(3, 4, 42),
        Version(3, 5, 0)..Version(3, 5, 28),
        Version(3, 6, 0)..Version(3, 6, 9),
    ],
    what: "a member whose process stood still may answer reads from the past (elect proves what it must by writes \
           there, one for each renewal of a leader)",
    source: "https://github.com/etcd-io/etcd/issues/20418",
    way_out: "upgrade it to 3.4.42, 3.5.28, 3.6.9 or newer",
};

/// Returns whether a member of this version, in a cluster of several, may answer a linearizable read from the past.
pub(crate) fn may_read_stale(version: &str) -> bool {
    Version::read(version).is_none() || READS_STALE.is_in(version)
}

/// Returns the known defects of these members' versions, `ADDRESS` and `VERSION` each. In a cluster of one member they
/// have no effect, and are notes only.
pub(crate) fn known(members: &[(String, String)], is_alone: bool) -> Vec<Finding> {
    let members = members.iter().map(|(address, version)| (&**address, &**version));
    let defects = [ENDS_LIVING_LEASES, LOSES_WRITES, READS_STALE];
    let findings = defects.iter().filter_map(|defect| defect.warning("etcd", members.clone()));
    let spared = |found: Finding| {
        let what = format!("{}; a cluster of one member is spared", found.what);
        if is_alone { Finding::note(what, found.way_out) } else { found }
    };
    findings.map(spared).collect()
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
    fn each_version_has_the_defects_that_are_known_of_it() {
        for (version, defects) in [
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
            assert_eq!(found.len(), defects, "{version}: {found:?}");
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
}
