//! Signals that come to elect.

use std::time::Duration;

use elect_api::Boottime;

use super::{Machine, Phase, Verdict};

/// A repetition of the same INT or TERM within this time is the same request, delivered twice:
/// `timeout(1)` signals its child and then the whole group.
const SAME_INTERRUPT: Duration = Duration::from_secs(1);

impl Machine {
    pub(super) fn signaled(&mut self, now: Boottime, signal: i32) {
        let interrupts =
            matches!(signal, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM);
        if interrupts && signal != libc::SIGHUP && !self.interrupts.are_new(now, signal) {
            return;
        }
        self.told_to_end |= match self.phase {
            Phase::Leading(_) => interrupts && signal != libc::SIGHUP,
            Phase::Resigning(_) => interrupts,
            _ => false,
        };
        match &self.phase {
            Phase::Joining | Phase::Campaigning(_) if interrupts => {
                self.leave(now, Verdict::Interrupted(signal));
            }
            Phase::Leading(_) => self.signaled_as_leader(now, signal, interrupts),
            // The tree is empty, and the store takes its time: the entry ends by itself.
            Phase::Resigning(_) if interrupts => self.finish(),
            _ => {}
        }
    }
}

/// The signals that asked for an end, and when each did last.
#[derive(Clone, Debug, Default)]
pub struct Interrupts(Vec<(i32, Boottime)>);

impl Interrupts {
    /// The one that came last.
    pub(super) fn last(&self) -> Option<i32> {
        self.0.last().map(|&(signal, _)| signal)
    }

    /// Takes in that `signal` came, and says whether that is not the same request again.
    pub fn are_new(&mut self, now: Boottime, signal: i32) -> bool {
        let is_new = !self.0.iter().any(|&(s, at)| s == signal && now.since(at) < SAME_INTERRUPT);
        if is_new {
            self.0.retain(|&(s, _)| s != signal);
            self.0.push((signal, now));
        }
        is_new
    }
}
