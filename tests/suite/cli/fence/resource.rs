//! The manual's examples of resources that compare tokens themselves, with leaders that stand still.

use super::escapee::{Escapee, Successor};
use super::example::Example;
use super::stopping::{Stopped, stopping, was_stopped};
use crate::cli::see::Arena;

/// The system call with which libpq and Python send to a server.
pub(super) const SENDS: &str = "sendto";

/// More than any makes.
const MOST: usize = 20;

/// An example with the server that it takes.
pub(super) trait Resource {
    fn example(&self) -> &Example;

    /// The number that is kept there.
    fn total(&self) -> String;
}

/// It is stopped once it has sent something for the `nth` time, while another leads with a greater token and writes.
pub(super) fn a_leader_that_stood_still_is_refused(
    arena: &Arena,
    resource: &impl Resource,
    nth: usize,
) {
    let log = arena.path("strace");
    let strace = stopping(SENDS, nth, &log.display().to_string()).join(" ");
    let example = resource.example();
    let script = example.script().display();
    let words = format!("{strace} {script} 1; echo \"$?\" >>\"$RECORD.late\"");
    let one = Escapee::of_a_leader(arena, |it| example.around(it), &words, |_| was_stopped(&log));
    let words = format!("{script} 2");
    let mut two = Successor::start(arena, |it| example.around(it), &words);
    two.has_done();
    assert_eq!(resource.total(), "2");
    let (late, said) = one.go_on();
    assert_eq!(late, "1\ndone\n", "{said}");
    assert!(said.contains("is stale"), "{said}");
    assert_eq!(resource.total(), "2");
}

/// Wherever it stands still, nothing that it does comes after the greater token.
pub(super) fn a_writer_stopped_at_any_request_writes_nothing_later(resource: &impl Resource) {
    let example = resource.example();
    let mut refused = 0;
    for nth in 1..MOST {
        let (old, new) = (2 * nth, 2 * nth + 1);
        let late = example.call(old).arg(old.to_string());
        let stopped = Stopped::at(late, SENDS, nth, example.folder());
        if stopped.is_over() {
            stopped.go_on().exits(0);
            break;
        }
        example.call(new).arg(new.to_string()).run().exits(0).is_silent();
        match stopped.go_on().code() {
            1 => refused += 1,
            // It had written before the other.
            0 => {}
            code => panic!("it exits with {code}, stopped at {nth}"),
        }
        assert_eq!(resource.total(), new.to_string(), "stopped at {nth}");
    }
    assert!(refused > 0, "refused {refused} times");
}
