use std::collections::VecDeque;
use std::time::Duration;

use elect_api::Boottime;

/// From when on the lease of one session runs: arithmetic on instants that it is told.
///
/// A server that acknowledges a request has seen the session alive, but only the leader of the
/// ensemble ends sessions, and a follower tells it whom it has seen no sooner than every half tick. So
/// an acknowledgement counts once a *quorum write*, sent at least S/4 after it, was acknowledged as well:
/// S is two ticks at the least, so by then the follower has answered a ping of its leader, and told.
///
/// No clock is read: that a request was acknowledged is only known to have been so by the next call.
#[derive(Debug)]
pub struct Anchors {
    quarter: Duration,
    proven: Boottime,
    /// Acknowledged and not confirmed yet, the oldest first.
    pending: VecDeque<Acknowledged>,
}

#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    sent: Boottime,
    /// `None` until another call has come.
    by: Option<Boottime>,
}

impl Anchors {
    /// Those of a session with this timeout, whose connect was sent at `sent` or later: the leader itself
    /// begins to track it then.
    pub fn new(window: Duration, sent: Boottime) -> Self {
        Self { quarter: window / 4, proven: sent, pending: VecDeque::new() }
    }

    /// A call begins: whatever was acknowledged until now has been so by `now`.
    pub fn begin(&mut self, now: Boottime) {
        for known in self.pending.iter_mut().rev().take_while(|known| known.by.is_none()) {
            known.by = Some(now);
        }
        // Of those that any write would confirm from here on, the newest says all.
        while self.pending.get(1).is_some_and(|next| self.is_ripe(*next, now)) {
            self.pending.pop_front();
        }
    }

    /// A request of the call that began at `sent` was acknowledged.
    pub fn acknowledged(&mut self, sent: Boottime) {
        if self.pending.back().is_none_or(|newest| newest.sent < sent) {
            self.pending.push_back(Acknowledged { sent, by: None });
        }
    }

    /// A quorum write of the call that began at `sent` was acknowledged.
    pub fn confirmed(&mut self, sent: Boottime) {
        while let Some(oldest) = self.pending.front().copied()
            && self.is_ripe(oldest, sent)
        {
            self.proven = self.proven.max(oldest.sent);
            self.pending.pop_front();
        }
        self.acknowledged(sent);
    }

    /// The newest instant that counts.
    pub const fn proven(&self) -> Boottime {
        self.proven
    }

    fn is_ripe(&self, known: Acknowledged, write_sent: Boottime) -> bool {
        known.by.is_some_and(|by| by + self.quarter <= write_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 16_000;

    fn at(millis: u64) -> Boottime {
        Boottime::from_boot(Duration::from_millis(millis))
    }

    fn fresh() -> Anchors {
        Anchors::new(Duration::from_millis(S), at(0))
    }

    /// A leader's refresh, whose check-write was acknowledged.
    fn write(anchors: &mut Anchors, now: u64) -> Boottime {
        anchors.begin(at(now));
        anchors.confirmed(at(now));
        anchors.proven()
    }

    fn read(anchors: &mut Anchors, now: u64) {
        anchors.begin(at(now));
        anchors.acknowledged(at(now));
    }

    #[test]
    fn a_fresh_session_counts_from_its_connect() {
        let mut anchors = fresh();
        assert_eq!(write(&mut anchors, 900), at(0));
    }

    #[test]
    fn steady_renewals_lag_five_sixteenths_behind() {
        let mut anchors = fresh();
        let step = S / 16;
        for turn in 1..50 {
            let proven = write(&mut anchors, turn * step);
            assert_eq!(proven, at(turn.saturating_sub(5) * step), "turn {turn}");
        }
    }

    #[test]
    fn an_acknowledgement_is_dated_by_the_call_after_it() {
        let mut anchors = fresh();
        assert_eq!(write(&mut anchors, 1_000), at(0));
        // The reply of the first came somewhere between the two: the later instant is meant.
        assert_eq!(write(&mut anchors, 6_000), at(0));
        assert_eq!(write(&mut anchors, 9_999), at(0));
        assert_eq!(write(&mut anchors, 10_000), at(1_000));
    }

    #[test]
    fn who_stalled_gains_nothing_by_one_write() {
        let mut anchors = fresh();
        for now in [1_000, 2_000, 3_000, 4_000, 5_000, 6_000] {
            write(&mut anchors, now);
        }
        assert_eq!(anchors.proven(), at(1_000));
        // Ten seconds stopped. What was acknowledged before the stop is now confirmed, the write is not.
        assert_eq!(write(&mut anchors, 16_000), at(5_000));
        assert_eq!(write(&mut anchors, 17_000), at(5_000));
        assert_eq!(write(&mut anchors, 20_000), at(6_000));
        assert_eq!(write(&mut anchors, 21_000), at(16_000));
    }

    #[test]
    fn reads_of_a_waiter_are_confirmed_by_one_write_when_it_wins() {
        let mut anchors = fresh();
        for turn in 1..1_000 {
            read(&mut anchors, turn * 1_000);
            assert!(anchors.pending.len() <= 7, "they pile up");
        }
        assert_eq!(anchors.proven(), at(0));
        assert_eq!(write(&mut anchors, 1_000_000), at(995_000));
    }

    #[test]
    fn a_lost_reply_confirms_nothing_and_is_never_counted() {
        let mut anchors = fresh();
        write(&mut anchors, 1_000);
        for lost in 2..20 {
            anchors.begin(at(lost * 1_000));
            assert_eq!(anchors.proven(), at(0));
        }
        assert_eq!(write(&mut anchors, 20_000), at(1_000));
    }

    #[test]
    fn several_requests_of_one_call_are_one() {
        let mut anchors = fresh();
        anchors.begin(at(1_000));
        anchors.acknowledged(at(1_000));
        anchors.acknowledged(at(1_000));
        anchors.confirmed(at(1_000));
        assert_eq!(anchors.pending.len(), 1);
        assert_eq!(anchors.proven(), at(0));
    }

    #[test]
    fn it_never_goes_back_and_never_ahead() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut anchors, mut now, mut last) = (fresh(), 0, at(0));
        for _ in 0..10_000 {
            now += random.u64(0..6_000);
            anchors.begin(at(now));
            match random.u8(0..3) {
                0 => anchors.acknowledged(at(now)),
                1 => anchors.confirmed(at(now)),
                _ => {}
            }
            assert!(last <= anchors.proven() && anchors.proven() <= at(now));
            last = anchors.proven();
        }
    }
}
