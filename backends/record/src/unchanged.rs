use std::time::Duration;

use elect_api::Boottime;

use crate::guards::{Guard, is_off};

/// Measures for how long an entry has not changed, by the clock of this machine (law 8).
///
/// The holder counts its lease from before it sends a renewal. An observer sees the renewal later. But a poll that
/// was under way at the time may have begun before the renewal. So the time counts from the poll *after* the one that
/// first showed the entry.
#[derive(Clone, Debug)]
pub(crate) struct Unchanged<M> {
    /// The mark of the entry at the newest poll, and the start of the poll that first showed it.
    mark: Option<(M, Boottime)>,
    /// The newest poll that found the same mark; `None` until the second poll.
    last: Option<Boottime>,
    /// The time for which the mark has not changed.
    span: Duration,
    /// Whether the entry had another mark before.
    has_changed: bool,
}

impl<M> Default for Unchanged<M> {
    fn default() -> Self {
        Self { mark: None, last: None, span: Duration::ZERO, has_changed: false }
    }
}

impl<M: PartialEq> Unchanged<M> {
    /// Returns whether the entry has been unchanged for its whole TTL, by a poll that began at `now`. The time between
    /// two polls counts for at most `longest_gap`.
    pub(crate) fn is_over(
        &mut self,
        now: Boottime,
        mark: M,
        ttl: Duration,
        longest_gap: Duration,
    ) -> bool {
        let shown =
            self.mark.as_ref().and_then(|(known, shown)| (*known == mark).then_some(*shown));
        if shown.is_none() {
            let has_changed = self.has_changed || self.mark.is_some();
            *self = Self { mark: Some((mark, now)), has_changed, ..Self::default() };
        }
        // Two reads in one call are one poll: both may have begun before the renewal that they show.
        if shown.is_none_or(|shown| now <= shown) && !is_off(Guard::SecondLook) {
            return false;
        }
        let gap = self.last.map_or(Duration::ZERO, |last| now.since(last));
        self.last = Some(now);
        self.span += gap.min(longest_gap);
        self.span >= ttl
    }

    /// The mark of the entry at the newest poll.
    pub(crate) fn mark(&self) -> Option<&M> {
        self.mark.as_ref().map(|(mark, _)| mark)
    }

    /// For how long the entry is known to be unchanged.
    pub(crate) const fn span(&self) -> Duration {
        self.span
    }

    /// Returns whether the entry was seen to change, so that its holder was alive at that time.
    pub(crate) const fn lives(&self) -> bool {
        self.has_changed
    }

    /// Returns whether the entry was the same at the last two polls.
    pub(crate) const fn is_still(&self) -> bool {
        self.last.is_some()
    }

    /// Forgets that the entry was seen to change.
    pub(crate) const fn doubt(&mut self) {
        self.has_changed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(12);
    const GAP: Duration = Duration::from_secs(4);

    fn at(second: u64) -> Boottime {
        Boottime::from_boot(Duration::from_secs(second))
    }

    #[test]
    fn the_time_counts_from_the_second_poll() {
        let mut entry = Unchanged::default();
        for second in 0..=12 {
            assert!(!entry.is_over(at(second), 1, TTL, GAP), "{second}");
        }
        assert!(entry.is_over(at(13), 1, TTL, GAP));
    }

    #[test]
    fn two_reads_of_one_poll_are_one_poll() {
        let mut entry = Unchanged::default();
        for second in [0, 0, 1, 1, 5, 5, 9] {
            assert!(!entry.is_over(at(second), 1, TTL, GAP), "{second}");
        }
        for second in [13, 13] {
            assert!(entry.is_over(at(second), 1, TTL, GAP), "{second}");
        }
    }

    #[test]
    fn each_change_begins_it_anew() {
        let mut entry = Unchanged::default();
        for second in 0..=12 {
            assert!(!entry.is_over(at(second), 1, TTL, GAP));
        }
        for second in 13..=25 {
            assert!(!entry.is_over(at(second), 2, TTL, GAP), "{second}");
        }
        assert!(entry.is_over(at(26), 2, TTL, GAP));
    }

    #[test]
    fn an_entry_whose_mark_changes_lives() {
        let mut entry = Unchanged::default();
        let lives = [1, 1, 2, 2].map(|mark| {
            entry.is_over(at(1), mark, TTL, GAP);
            entry.lives()
        });
        assert_eq!(lives, [false, false, true, true]);
    }

    #[test]
    fn of_a_long_gap_between_two_polls_a_part_counts() {
        let mut entry = Unchanged::default();
        let is_over = [0, 1, 100, 200, 300].map(|second| entry.is_over(at(second), 1, TTL, GAP));
        assert_eq!(is_over, [false, false, false, false, true]);
    }
}
