use std::collections::VecDeque;
use std::time::Duration;

use elect_api::Boottime;

/// From when on the lease of one session runs: arithmetic on instants that it is told, by all who have entries in the
/// session.
///
/// A server that acknowledges a request has seen the session alive, but only the leader of the
/// ensemble ends sessions, and a follower tells it whom it has seen no sooner than every half tick. So
/// an acknowledgement counts once a *quorum write*, sent at least S/4 after it, was acknowledged as well:
/// S is two ticks at the least, so by then the follower has answered a ping of its leader, and told.
///
/// Whose request it was, and whose write, does not matter: a seat that comes late has what the others found out.
#[derive(Clone, Debug)]
pub struct Anchors {
    quarter: Duration,
    proven: Boottime,
    /// What every write confirms that is sent from now on.
    ripe: Boottime,
    /// What a later one will, by when it was acknowledged.
    facts: VecDeque<Fact>,
}

/// A request that was sent at `sent` or later was acknowledged by `by`.
#[derive(Clone, Copy, Debug)]
struct Fact {
    sent: Boottime,
    by: Boottime,
}

/// The calls of one seat, each of which begins after the one before has ended.
///
/// No clock is read: that a request was acknowledged is only known to have been so by the next call. And what a write
/// confirms is settled as its call begins, so that others who call meanwhile take nothing away from it.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// When the call began in which a request was acknowledged, until the next one.
    acknowledged: Option<Boottime>,
    /// What a write of this call confirms.
    ripe: Option<Boottime>,
}

impl Anchors {
    /// Those of a session with this timeout, whose connect was sent at `sent` or later: the leader itself
    /// begins to track it then.
    pub fn new(window: Duration, sent: Boottime) -> Self {
        Self { quarter: window / 4, proven: sent, ripe: sent, facts: VecDeque::new() }
    }

    fn learn(&mut self, fact: Fact) {
        // Of two calls at nearly the same time either may be heard of first.
        let later = self.facts.iter().rev().take_while(|other| other.by > fact.by).count();
        self.facts.insert(self.facts.len() - later, fact);
    }

    /// What a write confirms that is sent at `now` or later.
    fn ripe(&mut self, now: Boottime) -> Boottime {
        while let Some(oldest) = self.facts.front().copied()
            && oldest.by + self.quarter <= now
        {
            self.ripe = self.ripe.max(oldest.sent);
            self.facts.pop_front();
        }
        // Where others have read the clock later, and were heard of before: nothing was sent yet then.
        self.ripe
    }

    /// The newest instant that counts.
    pub const fn proven(&self) -> Boottime {
        self.proven
    }
}

impl Calls {
    /// A call begins, and has sent nothing yet: whatever was acknowledged until now has been so by `now`.
    pub fn begin(&mut self, now: Boottime, anchors: &mut Anchors) {
        if let Some(sent) = self.acknowledged.take() {
            anchors.learn(Fact { sent, by: now });
        }
        self.ripe = Some(anchors.ripe(now));
    }

    /// A request of the call that began at `sent` was acknowledged.
    pub const fn acknowledged(&mut self, sent: Boottime) {
        self.acknowledged = Some(sent);
    }

    /// A quorum write of the call that began at `sent` was acknowledged.
    pub fn confirmed(&mut self, sent: Boottime, anchors: &mut Anchors) {
        if let Some(ripe) = self.ripe {
            anchors.proven = anchors.proven.max(ripe);
        }
        self.acknowledged(sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 16_000;

    fn at(millis: u64) -> Boottime {
        Boottime::from_boot(Duration::from_millis(millis))
    }

    /// A session, and its seats.
    struct Session {
        anchors: Anchors,
        seats: Vec<Calls>,
    }

    fn fresh() -> Session {
        let anchors = Anchors::new(Duration::from_millis(S), at(0));
        Session { anchors, seats: vec![Calls::default()] }
    }

    impl Session {
        fn begins(&mut self, seat: usize, now: u64) {
            self.seats[seat].begin(at(now), &mut self.anchors);
        }

        fn reads(&mut self, seat: usize, now: u64) {
            self.begins(seat, now);
            self.seats[seat].acknowledged(at(now));
        }

        fn confirms(&mut self, seat: usize, now: u64) -> Boottime {
            self.seats[seat].confirmed(at(now), &mut self.anchors);
            self.anchors.proven()
        }

        fn writes(&mut self, seat: usize, now: u64) -> Boottime {
            self.begins(seat, now);
            self.confirms(seat, now)
        }
    }

    /// A leader's refresh, whose check-write was acknowledged.
    fn write(session: &mut Session, now: u64) -> Boottime {
        session.writes(0, now)
    }

    fn read(session: &mut Session, now: u64) {
        session.reads(0, now);
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
        assert_eq!(anchors.anchors.proven(), at(1_000));
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
            assert!(anchors.anchors.facts.len() <= 7, "they pile up");
        }
        assert_eq!(anchors.anchors.proven(), at(0));
        assert_eq!(write(&mut anchors, 1_000_000), at(995_000));
    }

    #[test]
    fn a_lost_reply_confirms_nothing_and_is_never_counted() {
        let mut anchors = fresh();
        write(&mut anchors, 1_000);
        for lost in 2..20 {
            anchors.begins(0, lost * 1_000);
            assert_eq!(anchors.anchors.proven(), at(0));
        }
        assert_eq!(write(&mut anchors, 20_000), at(1_000));
    }

    #[test]
    fn several_requests_of_one_call_are_one() {
        let mut anchors = fresh();
        read(&mut anchors, 1_000);
        anchors.seats[0].acknowledged(at(1_000));
        anchors.begins(0, 2_000);
        assert_eq!(anchors.anchors.facts.len(), 1);
        assert_eq!(anchors.anchors.proven(), at(0));
    }

    #[test]
    fn a_seat_that_comes_late_has_what_the_others_found_out() {
        let mut session = fresh();
        for turn in 1..100 {
            session.reads(0, turn * 1_000);
        }
        session.seats.push(Calls::default());
        // It comes at 99.5 s: what was acknowledged at 94 s was known to be so at 95 s.
        assert_eq!(session.writes(1, 99_500), at(94_000));
        // And of the new one the others have as much.
        session.begins(1, 100_500);
        assert_eq!(session.writes(0, 104_500), at(99_500));
    }

    #[test]
    fn what_nobody_has_asked_again_after_counts_for_nobody() {
        let mut session = fresh();
        session.reads(0, 1_000);
        session.seats.push(Calls::default());
        // The first seat has not called again: when its answer came nobody knows.
        for now in [6_000, 7_000, 9_999] {
            assert_eq!(session.writes(1, now), at(0));
        }
        session.begins(0, 10_000);
        assert_eq!(session.writes(1, 11_000), at(6_000));
        assert_eq!(session.writes(1, 14_000), at(7_000));
    }

    #[test]
    fn calls_that_overtake_each_other_prove_no_more_than_each_does() {
        let mut session = fresh();
        session.seats.push(Calls::default());
        session.reads(0, 1_000);
        session.reads(1, 1_500);
        session.begins(1, 2_500);
        // It began before, and is heard of later.
        session.begins(0, 2_000);
        assert_eq!(session.writes(1, 5_999), at(0));
        assert_eq!(session.writes(1, 6_000), at(1_000));
        assert_eq!(session.writes(0, 6_499), at(1_000));
        assert_eq!(session.writes(0, 6_500), at(1_500));
    }

    /// However many there are, and however long each waits for its answer.
    #[test]
    fn whoever_calls_meanwhile_takes_nothing_away_from_a_write_on_its_way() {
        const STEP: u64 = S / 16;
        for (seats, way) in [(2, 3), (2, 600), (7, 5), (50, 30), (50, 900), (200, 30)] {
            let mut session = fresh();
            session.seats.resize_with(seats, Calls::default);
            let mut steps: Vec<(u64, bool, usize, u64)> = Vec::new();
            for (turn, seat) in (1..40).flat_map(|turn| (0..seats).map(move |seat| (turn, seat))) {
                let now = turn * STEP + (seat as u64 * STEP) / seats as u64;
                steps.push((now, false, seat, now));
                steps.push((now + way, true, seat, now));
            }
            steps.sort_unstable();
            for (_, is_answer, seat, now) in steps {
                if is_answer {
                    let proven = session.confirms(seat, now);
                    // The first call of each is in the first two steps.
                    let expected = if now < 7 * STEP { 0 } else { now - 5 * STEP };
                    assert!(proven >= at(expected), "{seats} {way}: {now}");
                    assert!(proven < at(now));
                } else {
                    session.begins(seat, now);
                }
            }
            assert!(session.anchors.facts.len() <= 5 * seats, "they pile up");
        }
    }

    #[test]
    fn a_write_confirms_nothing_that_came_after_its_call_began() {
        let mut session = fresh();
        session.seats.push(Calls::default());
        session.reads(0, 1_000);
        session.begins(0, 2_000);
        session.begins(1, 5_999);
        session.begins(0, 6_000);
        // Its answer takes long, and what it says is as old as its question.
        assert_eq!(session.confirms(1, 5_999), at(0));
        assert_eq!(session.confirms(0, 6_000), at(1_000));
    }

    #[test]
    fn it_never_goes_back_and_never_ahead() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut session, mut now, mut last) = (fresh(), 0, at(0));
        session.seats.push(Calls::default());
        for _ in 0..10_000 {
            now += random.u64(0..6_000);
            let seat = random.usize(0..2);
            match random.u8(0..3) {
                0 => session.reads(seat, now),
                1 => drop(session.writes(seat, now)),
                _ => session.begins(seat, now),
            }
            let proven = session.anchors.proven();
            assert!(last <= proven && proven <= at(now));
            last = proven;
        }
    }
}
