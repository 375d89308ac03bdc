//! Leases that candidates judge by their own clocks. A watcher judges by the same rule, and needs more than one survey.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use elect_api::{Boottime, ElectionName, Ending, Leader, Token};

use super::ElectionSnapshot;

/// The ratio by which the holder's clock may be slower than this one. Each clock may have half of the default of
/// `--max-clock-drift`: 1.05 / 0.95.
const DRIFTS: f64 = 1.11;
/// The time that a holder or a store may be late.
const MARGIN: Duration = Duration::from_secs(1);
/// A leader renews its lease this often within the length of the lease.
const RENEWALS: u32 = 6;

/// Returns the time after which a lease without a renewal is over.
pub(in crate::command) fn time_until_over(within: Duration) -> Duration {
    within.mul_f64(DRIFTS) + MARGIN
}

/// What proves, beside its entry, that a leader is alive.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::command) enum Proof {
    /// The entry is proof enough, because the store ends it.
    #[default]
    Shown,
    /// Nothing proves it. A dead leader's entry would be there as well, and the last renewal may be old.
    Missing,
    /// The lease of this leader is over. The entry stays until another candidate takes it.
    Over(Box<Leader>),
}

impl Proof {
    /// Returns the proof that one survey gives, at this time by the wall clock. The comparison of two wall clocks is
    /// good enough for a display, and later surveys tell more.
    pub(super) fn at_sight(leader: Option<&Leader>, wall: SystemTime) -> Self {
        let Some(Ending::Judged { within, renewed, .. }) = leader.and_then(|it| it.ending) else {
            return Self::Shown;
        };
        let is_new = renewed.is_some_and(|renewed| {
            let apart = wall.duration_since(renewed).unwrap_or_else(|ahead| ahead.duration());
            apart < within
        });
        if is_new { Self::Shown } else { Self::Missing }
    }
}

/// The leases of this kind that were surveyed so far.
#[derive(Default)]
pub(in crate::command) struct Vigil(BTreeMap<ElectionName, Held>);

struct Held {
    token: Token,
    mark: u64,
    /// The arrival of the first answer with this mark.
    since: Boottime,
    was_renewed: bool,
}

impl Vigil {
    /// Judges a leader by this survey and the earlier ones. Returns the instant at which the next survey can tell more.
    pub(in crate::command) fn judge(&mut self, seen: &mut ElectionSnapshot) -> Option<Boottime> {
        let leader = seen.survey.leader.as_ref();
        let ending = leader.and_then(|leader| Some((leader.token, leader.ending?)));
        let Some((token, Ending::Judged { within, mark, .. })) = ending else {
            self.0.remove(&seen.election);
            return None;
        };
        let new = Held { token, mark, since: seen.answered, was_renewed: false };
        let held = self.0.entry(seen.election.clone()).or_insert(new);
        if (held.token, held.mark) != (token, mark) {
            let was_renewed = held.token == token;
            *held = Held { token, mark, since: seen.answered, was_renewed };
        }
        let end = held.since + time_until_over(within);
        if end <= seen.asked {
            seen.proof = seen
                .survey
                .leader
                .take()
                .map_or(Proof::Shown, |leader| Proof::Over(Box::new(leader)));
            return None;
        }
        if held.was_renewed {
            seen.proof = Proof::Shown;
        }
        let next = if seen.proof == Proof::Missing { seen.asked + within / RENEWALS } else { end };
        Some(end.min(next))
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use elect_api::{Candidate, Entry, Survey};

    use super::*;

    const TTL: Duration = Duration::from_secs(15);

    fn leader(mark: u64, renewed: Option<u64>) -> Leader {
        let renewed = renewed.map(|second| UNIX_EPOCH + Duration::from_secs(second));
        let ending = Some(Ending::Judged { within: TTL, mark, renewed });
        Leader {
            ending,
            ..Leader::new(Entry::new(Candidate::foreign("a"), None, 0), Token::new(7))
        }
    }

    fn at(second: u64) -> Boottime {
        Boottime::from_boot(Duration::from_secs(second))
    }

    /// Returns whether a survey at this second shows a leader, and its proof, as the vigil judges them.
    fn judged(vigil: &mut Vigil, second: u64, mark: u64) -> (bool, Proof) {
        let mut seen = ElectionSnapshot::of("job".parse().unwrap(), at(second));
        seen.survey = Survey { leader: Some(leader(mark, None)), waiting: Vec::new() };
        seen.proof = Proof::Missing;
        vigil.judge(&mut seen);
        (seen.survey.leader.is_some(), seen.proof)
    }

    #[test]
    fn a_lease_without_a_renewal_is_over_after_its_length() {
        let mut vigil = Vigil::default();
        for second in [0, 5, 15, 17] {
            assert_eq!(judged(&mut vigil, second, 1), (true, Proof::Missing), "{second}");
        }
        let (leads, proof) = judged(&mut vigil, 18, 1);
        assert!(!leads && matches!(proof, Proof::Over(_)), "{proof:?}");
        // It stood still, and goes on.
        assert_eq!(judged(&mut vigil, 19, 2), (true, Proof::Shown));
    }

    #[test]
    fn a_leader_that_was_seen_to_renew_leads_until_its_lease_is_over() {
        let mut vigil = Vigil::default();
        assert_eq!(judged(&mut vigil, 0, 1), (true, Proof::Missing));
        for second in [3, 10, 20] {
            assert_eq!(judged(&mut vigil, second, 2), (true, Proof::Shown), "{second}");
        }
        assert!(!judged(&mut vigil, 21, 2).0);
    }

    #[test]
    fn one_survey_believes_a_renewal_that_is_new_by_both_clocks() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        for (renewed, proof) in [
            (Some(100), Proof::Shown),
            (Some(86), Proof::Shown),
            (Some(114), Proof::Shown),
            (Some(85), Proof::Missing),
            (Some(115), Proof::Missing),
            (None, Proof::Missing),
        ] {
            assert_eq!(Proof::at_sight(Some(&leader(1, renewed)), now), proof, "{renewed:?}");
        }
        let shown = Leader { ending: Some(Ending::Granted), ..leader(1, None) };
        assert_eq!(Proof::at_sight(Some(&shown), now), Proof::Shown);
        assert_eq!(Proof::at_sight(None, now), Proof::Shown);
    }
}
