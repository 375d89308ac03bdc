//! Leads and resigns a given number of times in a directory. Use it to count system calls, to
//! measure, and to crowd a directory with several processes.
//!
//!     strace -cf target/release/examples/turns DIR 100

use std::time::Duration;

use elect_api::{Boottime, Candidate, Division, Standing};

const NOW: Boottime = Boottime::from_boot(Duration::ZERO);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory");
    let turns = arguments.next().map_or(1, |turns| turns.parse().expect("a number of turns"));
    let candidate = Candidate {
        id: "a".into(),
        host: "h".into(),
        pid: 1,
        command: "c".into(),
        containment: "t".into(),
        priority: Candidate::USUAL_PRIORITY,
        division: Division::Whole,
        work: None,
    };
    elect_testkit::run("turns", async {
        let store =
            elect_file::connect(&format!("file://{directory}")).expect("an absolute directory");
        let election = "turns".parse().expect("a good name");
        for _ in 0..turns {
            let mut seat = store.open(&election, &candidate, Duration::ZERO).await.expect("a seat");
            while let Standing::Waiting { wake, .. } =
                seat.refresh(NOW).await.expect("a standing").standing
            {
                wake.await;
            }
            seat.resign(None).await.expect("a resign");
        }
    });
}
