//! When the wrapper kills in its guardian's place: a guardian that is stopped does nothing, and one that stands before a
//! tracer does not even die of a KILL as long as the tracer does not let it.

use std::time::Duration;

use elect_api::Boottime;

use super::is_off;

/// How long a guardian may take to kill everything that it was told to kill.
const PATIENCE: Duration = Duration::from_millis(50);
/// How soon the wrapper looks again.
const AGAIN: Duration = Duration::from_millis(20);
/// How long nobody below it may live before a guardian that does not say so is killed.
const SILENCE: Duration = Duration::from_millis(100);

/// What the wrapper knows of that.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// Whether the guardian may have a tree.
    has_tree: bool,
    /// When it is to have killed everything by the newest renewal.
    deadline: Option<Boottime>,
    /// The same by what it was told besides.
    ordered: Option<Boottime>,
    /// Until when it may take to do that.
    patience_ends: Option<Boottime>,
    /// Since when nobody below it lives.
    empty_since: Option<Boottime>,
    /// It was killed, and does nothing any more, whatever becomes of it.
    is_killed: bool,
}

/// What is to be done about a guardian below which nobody lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// It may yet say so itself.
    Wait,
    /// Kill it: the kernel refuses a fork with KILL pending, so that nothing is below it from then on.
    Kill,
    /// Its tree is empty.
    Empty,
}

impl Takeover {
    /// It was told to start a command.
    pub(super) fn begin(&mut self) {
        // What it was told before that is about no tree, and the guardian has dropped it.
        *self = Self { has_tree: true, deadline: self.deadline, ..Self::default() };
    }

    /// Its tree is empty, or never was. What it was told before is done.
    pub(super) fn end(&mut self) {
        *self = Self {
            has_tree: false,
            deadline: self.deadline,
            is_killed: self.is_killed,
            ..Self::default()
        };
    }

    /// By the newest renewal the kernel kills it at `dead_man`.
    pub(super) const fn renewed(&mut self, dead_man: Boottime) {
        self.deadline = Some(dead_man);
    }

    /// It was told to kill everything at `at`.
    pub(super) fn kills_at(&mut self, at: Boottime) {
        self.look_at(at);
        let end = at + PATIENCE;
        self.patience_ends = Some(self.patience_ends.map_or(end, |known| known.min(end)));
    }

    /// Whether one that can act has some time yet at `now`.
    pub(super) fn waits(&mut self, now: Boottime) -> bool {
        let is_late = self.deadline.is_some_and(|deadline| deadline <= now);
        match self.patience_ends.filter(|&end| now < end && !is_late) {
            Some(end) => {
                self.ordered = Some(end);
                true
            }
            None => false,
        }
    }

    /// It was sent KILL: it does nothing any more.
    pub(super) const fn is_killed(&mut self) {
        self.is_killed = true;
    }

    /// It was told to kill everything, and cannot.
    pub(super) fn look_at(&mut self, at: Boottime) {
        self.ordered = Some(self.ordered.map_or(at, |known| known.min(at)));
    }

    /// When the wrapper is to kill everything below it.
    pub(super) fn due(&self) -> Option<Boottime> {
        let is_on = self.has_tree && !is_off!(Takeover);
        [self.ordered, self.deadline].into_iter().flatten().min().filter(|_| is_on)
    }

    /// Everything below it was killed at `now`; whether nobody lives there.
    pub(super) fn looked(&mut self, now: Boottime, is_empty: bool) -> Conclusion {
        (self.ordered, self.deadline, self.patience_ends) = (Some(now + AGAIN), None, None);
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

    /// Whether it may never be gone.
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
    fn the_earliest_of_what_was_told_counts_while_there_is_a_tree() {
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
    fn a_tree_is_empty_once_nobody_lives_below_a_guardian_that_is_killed() {
        let mut takeover = Takeover::default();
        takeover.begin();
        takeover.look_at(at(100));
        assert_eq!(takeover.looked(at(100), false), Conclusion::Wait);
        assert_eq!(takeover.due(), Some(at(120)));
        assert_eq!(takeover.looked(at(120), true), Conclusion::Wait);
        assert_eq!(takeover.looked(at(219), true), Conclusion::Wait);
        assert_eq!(takeover.looked(at(220), true), Conclusion::Kill);
        assert_eq!(takeover.looked(at(240), false), Conclusion::Wait, "it had just forked");
        assert_eq!(takeover.looked(at(260), true), Conclusion::Empty);
        assert!(takeover.is_stuck());
    }
}
