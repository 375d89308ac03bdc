//! Tests of the requests to an API server, and of their number.

use std::time::Duration;

use elect_api::{Candidate, Standing};
use elect_testkit::oracle;
use elect_testkit::servers::ApiServer;

/// As many as the shards that one process may lead.
const SEATS: usize = 300;

#[tokio::test]
async fn a_renewal_is_one_request_however_many_a_process_leads() {
    let server = ApiServer::start();
    let store = elect_kubernetes::connect(&server.url("elect")).expect("a good URL");
    let candidate = Candidate { host: "h".into(), ..Candidate::foreign("a") };
    let mut seats = Vec::new();
    for number in 0..SEATS {
        let name = format!("shard-{number}").parse().expect("a name");
        let seat = store.open(&name, &candidate, Duration::from_secs(60)).await;
        let mut seat = seat.expect("no request");
        let standing = seat.refresh(oracle::now()).await.expect("an answer").standing;
        assert!(matches!(standing, Standing::Leading { .. }));
        seats.push(seat);
    }
    // With its first renewal, and then once in a lease, a leader looks for waiters that are dead.
    let mut before = elect_testkit::servers::kubernetes::Counts::default();
    let mut counted_before = 0;
    for _ in 0..2 {
        before = server.counts();
        counted_before = counted("update");
        for seat in &mut seats {
            seat.refresh(oracle::now()).await.expect("an answer");
        }
    }
    let after = server.counts();
    let asked = |verb| after.of(verb, "leases") - before.of(verb, "leases");
    assert_eq!([asked("get"), asked("list"), asked("update")], [0, 0, SEATS as u64]);
    // The count of this process, which its metrics show, agrees.
    assert_eq!(counted("update") - counted_before, SEATS as u64);
}

/// The number of requests with this verb that this process has counted.
fn counted(verb: &str) -> u64 {
    let all = elect_api::trips();
    all.iter().find(|(operation, _)| *operation == verb).map_or(0, |(_, count)| *count)
}
