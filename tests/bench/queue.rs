//! The number of waiting candidates, as elect's `status` tells it.

use std::time::Duration;

use elect_testkit::oracle::now;
use elect_testkit::program::Elect;
use serde_json::Value;

use crate::contender::Store;
use crate::release;
use crate::stage::Stage;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// After this time without a change a crowd is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Counts the candidates that wait in an election.
fn length(stage: &Stage, store: Store, election: &str) -> usize {
    let url = store.url(&stage.place(store));
    let elect = Elect::new(release::path());
    let status = elect.args(["status", "-b", &url, "-o", "json", election]).command().output();
    let told = status.expect("elect runs").stdout;
    let told: Value = serde_json::from_slice(&told).unwrap_or_default();
    told["elections"][0]["waiting"].as_array().map_or(0, Vec::len)
}

/// Returns when so many wait; `pause` passes the time meanwhile.
pub(crate) fn wait_for(
    (stage, store, election): (&Stage, Store, &str),
    wanted: usize,
    pause: impl Fn(Duration),
) {
    let (mut seen, mut since) = (usize::MAX, now());
    loop {
        let length = length(stage, store, election);
        if length == wanted {
            return;
        }
        if length != seen {
            (seen, since) = (length, now());
        }
        assert!(now().since(since) < PATIENCE, "{length} wait for {election}, not {wanted}");
        pause(LOOK);
    }
}
