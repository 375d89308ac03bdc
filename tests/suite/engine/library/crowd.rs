//! Many campaigns in one process cost little each.

use elect::Campaign;
use tokio::task::JoinSet;

use super::block_on;
use crate::prelude::*;

/// So many come at once: etcd writes several times for each, one after the other.
const GROUP: usize = 10;
const GROUPS: usize = 10;

const TTL: Duration = Duration::from_secs(60);

/// Counts what this process has of something.
fn count_of(folder: &str) -> usize {
    fs::read_dir(folder).expect("procfs").count()
}

#[test]
fn a_hundred_share_one_thread_and_one_connection() {
    let etcd = Etcd::start(1);
    let url = etcd.url();
    let campaign = |election: &str| Campaign::new(&url, election).expect("a campaign").ttl(TTL);
    block_on(async {
        let first = campaign("first").lead().await.expect("leadership");
        let before = [count_of("/proc/self/fd"), count_of("/proc/self/task")];
        let mut others = Vec::new();
        for group in 0..GROUPS {
            let mut joining = JoinSet::new();
            for member in 0..GROUP {
                let campaign = campaign(&format!("job-{group}-{member}"));
                joining.spawn(async move { campaign.lead().await.expect("leadership") });
            }
            others.extend(joining.join_all().await);
        }
        let after = [count_of("/proc/self/fd"), count_of("/proc/self/task")];
        // A connection that is made anew is there twice for a moment.
        assert!(after[0] < before[0] + 10 && after[1] < before[1] + 5, "{before:?}, {after:?}");
        assert!(first.validity().is_valid());
        first.resign().await.expect("a resign");
        drop(others);
    });
}
