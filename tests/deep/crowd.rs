use std::time::Duration;

use elect_testkit::oracle::now;

use crate::stage::contend;

#[test]
fn two_hundred_at_once_run_once_each_in_the_order_of_their_arrival() {
    let start = now();
    let runs = contend(200);
    let gap = |pair: &[elect_testkit::oracle::Run]| pair[1].first.since(pair[0].last);
    let mut gaps: Vec<Duration> = runs.windows(2).map(gap).collect();
    gaps.sort();
    println!(
        "{} runs in {:.1?}; from the last stamp of one to the first of the next: median {:.2?}, greatest {:.2?}",
        runs.len(),
        now().since(start),
        gaps[gaps.len() / 2],
        gaps[gaps.len() - 1],
    );
}
