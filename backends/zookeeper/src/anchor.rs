use std::collections::VecDeque;
use std::time::Duration;

use elect_api::Boottime;

/// The instant from which the lease of one session counts. The arithmetic uses instants that all seats in the session
/// report.
///
/// A server that acknowledges a request has seen the session alive. But only the leader of the ensemble ends sessions,
/// and a follower reports live sessions to it only every half tick. So an acknowledgement counts once a *quorum write*,
/// sent at least S/4 after it, was acknowledged as well. S is two ticks at the least, so by then the follower has
/// answered a ping of its leader, and reported.
///
/// It does not matter which seat sent the request or the write: a new seat uses the facts of the others.
#[derive(Clone, Debug)]
pub struct Anchors {
    quarter: Duration,
    proven: Boottime,
    /// The instant that every write confirms if it is sent from now on.
    ripe: Boottime,
    /// The facts that only a later write confirms, by the time of their acknowledgement.
    facts: VecDeque<Fact>,
}

/// A request that was sent at `sent` or later was acknowledged by `by`.
#[derive(Clone, Copy, Debug)]
struct Fact {
    sent: Boottime,
    by: Boottime,
}

/// The calls of one seat, each of which begins after the previous one has ended.
///
/// No clock is read: the start of the next call is the first known upper bound for an acknowledgement. The instant that
/// a write confirms is fixed when its call begins. So calls of other seats meanwhile take nothing away from it.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The start of the call in which a request was acknowledged, until the next call.
    acknowledged: Option<Boottime>,
    /// The instant that a write of this call confirms.
    ripe: Option<Boottime>,
}

impl Anchors {
    /// Returns the anchors of a session with this timeout, whose connect was sent at `sent` or later: from then on the
    /// leader itself tracks it.
    pub fn new(window: Duration, sent: Boottime) -> Self {
        Self { quarter: window / 4, proven: sent, ripe: sent, facts: VecDeque::new() }
    }

    fn learn(&mut self, fact: Fact) {
        // Two calls at nearly the same time may report in either order.
        let later = self.facts.iter().rev().take_while(|other| other.by > fact.by).count();
        self.facts.insert(self.facts.len() - later, fact);
    }

    /// Returns the instant that a write confirms if it is sent at `now` or later.
    fn ripe(&mut self, now: Boottime) -> Boottime {
        while let Some(oldest) = self.facts.front().copied()
            && oldest.by + self.quarter <= now
        {
            self.ripe = self.ripe.max(oldest.sent);
            self.facts.pop_front();
        }
        // Other seats may have read the clock later and reported earlier: nothing had been sent at that time.
        self.ripe
    }

    /// The newest instant from which the lease counts.
    pub const fn proven(&self) -> Boottime {
        self.proven
    }
}

impl Calls {
    /// Begins a call that has sent nothing yet. All earlier acknowledgements arrived by `now`.
    pub fn begin(&mut self, now: Boottime, anchors: &mut Anchors) {
        if let Some(sent) = self.acknowledged.take() {
            anchors.learn(Fact { sent, by: now });
        }
        self.ripe = Some(anchors.ripe(now));
    }

    /// Records that a request of the call that began at `sent` was acknowledged.
    pub const fn acknowledged(&mut self, sent: Boottime) {
        self.acknowledged = Some(sent);
    }

    /// Records that a quorum write of the call that began at `sent` was acknowledged.
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

    /// A session and its seats.
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

    /// A leader's refresh, whose check was acknowledged.
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
        // The reply to the first came at some time between the two calls: the later instant counts.
        assert_eq!(write(&mut anchors, 6_000), at(0));
        assert_eq!(write(&mut anchors, 9_999), at(0));
        assert_eq!(write(&mut anchors, 10_000), at(1_000));
    }

    #[test]
    fn a_process_that_stalled_gains_nothing_by_one_write() {
        let mut anchors = fresh();
        for now in [1_000, 2_000, 3_000, 4_000, 5_000, 6_000] {
            write(&mut anchors, now);
        }
        assert_eq!(anchors.anchors.proven(), at(1_000));
        // The process stood still for ten seconds. The write confirms the acknowledgements before the stop, but not
        // itself.
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
    fn a_late_seat_uses_the_proofs_of_other_seats() {
        let mut session = fresh();
        for turn in 1..100 {
            session.reads(0, turn * 1_000);
        }
        session.seats.push(Calls::default());
        // The new seat arrives at 99.5 s. The acknowledgement of 94 s was known at 95 s.
        assert_eq!(session.writes(1, 99_500), at(94_000));
        // The other seat uses the new seat's facts too.
        session.begins(1, 100_500);
        assert_eq!(session.writes(0, 104_500), at(99_500));
    }

    #[test]
    fn an_answer_does_not_count_before_its_seat_calls_again() {
        let mut session = fresh();
        session.reads(0, 1_000);
        session.seats.push(Calls::default());
        // The first seat has not called again, so the time of its answer is unknown.
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
        // The call began earlier, and reports later.
        session.begins(0, 2_000);
        assert_eq!(session.writes(1, 5_999), at(0));
        assert_eq!(session.writes(1, 6_000), at(1_000));
        assert_eq!(session.writes(0, 6_499), at(1_000));
        assert_eq!(session.writes(0, 6_500), at(1_500));
    }

    /// This holds for any number of seats, however long each waits for its answer.
    #[test]
    fn calls_of_other_seats_take_nothing_from_a_write_on_its_way() {
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
                    // The first call of each seat is in the first two steps.
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
        // The answer takes long, and its facts are as old as its question.
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
