//! The library: programs in Rust beside each other, and beside `elect run`.

mod blocked;
mod crowd;
mod example;
mod lost;
mod manual;
mod queue;
mod turns;

use std::time::Duration;

use elect::Campaign;

/// As long as ZooKeeper grants them here: a busy machine is late.
const TTL: Duration = Duration::from_secs(15);
const GRACE: Duration = Duration::from_secs(2);

/// One with the times of these tests.
fn campaign(url: &str, label: &str) -> Campaign {
    Campaign::new(url, "job").expect("a campaign").label(label).ttl(TTL).grace(GRACE)
}

/// Runs work as a program does on its own runtime, if it has one.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}
