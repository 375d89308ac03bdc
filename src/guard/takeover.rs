//! Decides when the wrapper kills in its guardian's place. A stopped guardian does nothing. A guardian that is halted
//! by a tracer does not even die of a KILL until the tracer lets it.

use std::time::Duration;

use elect_api::Boottime;

use super::is_off;

/// The time in which a guardian must have killed everything after an order.
const KILL_TIME: Duration = Duration::from_millis(50);
/// The time between two passes of the wrapper.
const AGAIN: Duration = Duration::from_millis(20);
/// How long the tree must be empty before a guardian that does not report it is killed.
const SILENCE: Duration = Duration::from_millis(100);

/// The wrapper's knowledge for a takeover.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// Whether the guardian may have a tree.
    has_tree: bool,
    /// The instant by which the guardian must have killed everything, by the newest renewal.
    deadline: Option<Boottime>,
    /// The same instant by its other orders.
    ordered: Option<Boottime>,
    /// The end of the time that the guardian has to carry out such an order.
    kill_time_ends: Option<Boottime>,
    /// The time since which no process below the guardian lives.
    empty_since: Option<Boottime>,
    /// The guardian was sent KILL. It does nothing any more, even if it is not gone.
    is_killed: bool,
}

/// What to do about a guardian after a pass over the tree below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// Wait: the guardian may still report an empty tree itself.
    Wait,
    /// Kill the guardian. The kernel refuses a fork with KILL pending, so no process can appear below it after that.
    Kill,
    /// The tree of the guardian is empty.
    Empty,
}

impl Takeover {
    /// Takes note that the guardian was ordered to start a command.
    pub(super) fn begin(&mut self) {
        // Earlier orders concern no tree, and the guardian has dropped them.
        *self = Self { has_tree: true, deadline: self.deadline, ..Self::default() };
    }

    /// Takes note that the tree is empty, or never was there. Earlier orders are done.
    pub(super) fn end(&mut self) {
        *self = Self {
            has_tree: false,
            deadline: self.deadline,
            is_killed: self.is_killed,
            ..Self::default()
        };
    }

    /// Takes in a renewal: by it, the kernel kills the guardian at `dead_man`.
    pub(super) const fn renewed(&mut self, dead_man: Boottime) {
        self.deadline = Some(dead_man);
    }

    /// Takes note that the guardian was ordered to kill everything at `at`.
    pub(super) fn kills_at(&mut self, at: Boottime) {
        self.schedule_pass(at);
        let end = at + KILL_TIME;
        self.kill_time_ends = Some(self.kill_time_ends.map_or(end, |known| known.min(end)));
    }

    /// Returns whether a guardian that can act still has time at `now`. If so, the wrapper makes its pass when that
    /// time is over.
    pub(super) fn waits(&mut self, now: Boottime) -> bool {
        let is_late = self.deadline.is_some_and(|deadline| deadline <= now);
        match self.kill_time_ends.filter(|&end| now < end && !is_late) {
            Some(end) => {
                self.ordered = Some(end);
                true
            }
            None => false,
        }
    }

    /// Takes note that the guardian was sent KILL, and does nothing any more.
    pub(super) const fn is_killed(&mut self) {
        self.is_killed = true;
    }

    /// Schedules a pass of the wrapper at `at`, or earlier if an earlier pass is due.
    pub(super) fn schedule_pass(&mut self, at: Boottime) {
        self.ordered = Some(self.ordered.map_or(at, |known| known.min(at)));
    }

    /// Returns when the wrapper must kill everything below the guardian.
    pub(super) fn due(&self) -> Option<Boottime> {
        let is_on = self.has_tree && !is_off!(Takeover);
        [self.ordered, self.deadline].into_iter().flatten().min().filter(|_| is_on)
    }

    /// Takes in a pass of the wrapper at `now`, which has killed everything below the guardian. `is_empty` says that no
    /// process lives there.
    pub(super) fn pass_ended(&mut self, now: Boottime, is_empty: bool) -> Conclusion {
        (self.ordered, self.deadline, self.kill_time_ends) = (Some(now + AGAIN), None, None);
        if !is_empty {
            self.empty_since = None;
            return Conclusion::Wait;
        }
        let since = *self.empty_since.get_or_insert(now);
        if self.is_killed {
            return Conclusion::Empty;
        }
        if now < since + SILENCE {
            return Conclusion::Wait;
        }
        self.is_killed = true;
        self.empty_since = None;
        Conclusion::Kill
    }

    /// Returns whether the guardian was killed, and may never be gone.
    pub(super) const fn is_stuck(&self) -> bool {
        self.is_killed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Boottime {
        Boottime::from_boot(Duration::from_millis(millis))
    }

    #[test]
    fn the_earliest_deadline_counts_while_there_is_a_tree() {
        let mut takeover = Takeover::default();
        takeover.renewed(at(900));
        assert_eq!(takeover.due(), None);
        takeover.begin();
        assert_eq!(takeover.due(), Some(at(900)));
        takeover.renewed(at(2000));
        takeover.kills_at(at(1500));
        takeover.kills_at(at(1600));
        assert_eq!(takeover.due(), Some(at(1500)), "it may be stopped");
        assert!(takeover.waits(at(1500)));
        assert_eq!(takeover.due(), Some(at(1550)));
        assert!(!takeover.waits(at(1550)));
        takeover.end();
        assert_eq!(takeover.due(), None);
        takeover.kills_at(at(100));
        takeover.begin();
        assert_eq!(takeover.due(), Some(at(2000)), "no command was there to be killed");
    }

    #[test]
    fn a_tree_is_empty_once_a_killed_guardian_has_no_descendants() {
        let mut takeover = Takeover::default();
        takeover.begin();
        takeover.schedule_pass(at(100));
        assert_eq!(takeover.pass_ended(at(100), false), Conclusion::Wait);
        assert_eq!(takeover.due(), Some(at(120)));
        assert_eq!(takeover.pass_ended(at(120), true), Conclusion::Wait);
        assert_eq!(takeover.pass_ended(at(219), true), Conclusion::Wait);
        assert_eq!(takeover.pass_ended(at(220), true), Conclusion::Kill);
        assert_eq!(takeover.pass_ended(at(240), false), Conclusion::Wait, "it had just forked");
        assert_eq!(takeover.pass_ended(at(260), true), Conclusion::Empty);
        assert!(takeover.is_stuck());
    }
}
