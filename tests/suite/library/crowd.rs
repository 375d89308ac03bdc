//! Many campaigns in one process cost little each.

use std::fs;

use elect::Campaign;
use elect_testkit::servers::Etcd;
use tokio::task::JoinSet;

use super::{TTL, block_on};

const COUNT: usize = 200;

/// What this process has of something.
fn count_of(folder: &str) -> usize {
    fs::read_dir(folder).expect("procfs").count()
}

#[test]
fn hundreds_share_one_thread_and_one_connection() {
    let etcd = Etcd::start(1);
    let url = etcd.url();
    let campaign = move |election: usize| {
        Campaign::new(&url, &format!("job-{election}")).expect("a campaign").ttl(TTL)
    };
    block_on(async {
        let first = campaign(0).lead().await.expect("leadership");
        let before = [count_of("/proc/self/fd"), count_of("/proc/self/task")];
        let mut others = JoinSet::new();
        for election in 1..COUNT {
            let campaign = campaign(election);
            others.spawn(async move { campaign.lead().await });
        }
        let others: Result<Vec<_>, _> = others.join_all().await.into_iter().collect();
        let others = others.expect("leaderships");
        let after = [count_of("/proc/self/fd"), count_of("/proc/self/task")];
        assert_eq!(others.len(), COUNT - 1);
        // A connection that is made anew is there twice for a moment.
        assert!(after[0] < before[0] + 10 && after[1] < before[1] + 5, "{before:?}, {after:?}");
        drop(others);
        first.resign().await.expect("a resign");
    });
}
