//! Which length of lease fits a store, as far as that can be told from a few renewals.

use std::time::Duration;

use elect_api::{Cadence, Grants, Lease};

use super::timing::{Timing, Wishes};

/// How many times as long as usual a renewal may take that must not be cut off: what is usual was seen while
/// little else happened.
pub const HEADROOM: u32 = 4;
/// The longest TTL that may be asked for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A length of lease for a store as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What to take; `None` if no TTL that the store grants does.
    pub ttl: Option<Duration>,
    /// The shortest that would do, whether the store grants it or not; `None` if none up to 24 h does.
    pub shortest: Option<Duration>,
    /// What the store makes of the TTL that was wished for.
    pub granted: Duration,
}

impl Advice {
    /// The TTL wished for as far as the store grants it, or else the next longer one with which all that
    /// [`Timing`] checks holds, and a renewal that takes `HEADROOM` times as long as `renewal` is not cut off.
    pub fn new(wishes: &Wishes, cadence: Cadence, renewal: Duration, grants: Grants) -> Self {
        let fits = |ttl: Duration| {
            let timing = Timing::new(&Wishes { ttl, ..*wishes }, Lease::Timed(cadence));
            timing.is_ok_and(|timing| timing.attempt_timeout >= renewal * HEADROOM)
        };
        let tenths = 1..=LONGEST.as_secs() * 10;
        let shortest =
            tenths.map(|tenths| Duration::from_millis(tenths * 100)).find(|&ttl| fits(ttl));
        let (least, greatest) =
            (grants.least.unwrap_or_default(), grants.greatest.unwrap_or(Duration::MAX));
        let granted = wishes.ttl.max(least).min(greatest);
        let ttl = shortest.map(|shortest| shortest.max(granted));
        // A server may say anything: what is longer is not even reckoned with.
        let is_fit = |&ttl: &Duration| ttl <= greatest.min(LONGEST) && fits(ttl);
        Self { ttl: ttl.filter(is_fit), shortest, granted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETCD: Cadence = Cadence { anchor_lag_48ths: 0, renew_48ths: 8 };
    const ZOOKEEPER: Cadence = Cadence { anchor_lag_48ths: 15, renew_48ths: 3 };

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn advice(cadence: Cadence, renewal: f64, grants: [Option<f64>; 2]) -> Advice {
        let [least, greatest] = grants.map(|span| span.map(seconds));
        Advice::new(&Wishes::default(), cadence, seconds(renewal), Grants { least, greatest })
    }

    #[test]
    fn a_quick_store_does_with_the_default() {
        for cadence in [ETCD, ZOOKEEPER] {
            let found = advice(cadence, 0.001, [Some(2.0), Some(40.0)]);
            assert_eq!((found.ttl, found.granted), (Some(seconds(15.0)), seconds(15.0)));
            assert_eq!(found.shortest, Some(seconds(3.6)));
        }
    }

    #[test]
    fn a_slow_store_takes_a_ttl_in_which_its_renewals_fit() {
        // Attempts are cut off after W/6 and W/16.
        for (cadence, ttl) in [(ETCD, 48.0), (ZOOKEEPER, 128.0)] {
            assert_eq!(advice(cadence, 2.0, [None, None]).ttl, Some(seconds(ttl)));
        }
        let beyond = advice(ZOOKEEPER, 2.0, [None, Some(40.0)]);
        assert_eq!((beyond.ttl, beyond.shortest), (None, Some(seconds(128.0))));
        assert_eq!(advice(ETCD, 1e5, [None, None]).shortest, None);
    }

    #[test]
    fn a_store_that_grants_less_or_more_is_taken_as_it_is() {
        let less = advice(ZOOKEEPER, 0.001, [Some(1.0), Some(10.0)]);
        assert_eq!((less.ttl, less.granted), (Some(seconds(10.0)), seconds(10.0)));
        let more = advice(ZOOKEEPER, 0.001, [Some(60.0), Some(600.0)]);
        assert_eq!((more.ttl, more.granted), (Some(seconds(60.0)), seconds(60.0)));
        assert_eq!(advice(ZOOKEEPER, 0.001, [Some(1.0), Some(2.0)]).ttl, None);
    }

    #[test]
    fn a_store_that_grants_what_nobody_may_ask_for_gets_no_advice() {
        for least in [24 * 60 * 60 + 1, i64::MAX.unsigned_abs(), u64::MAX] {
            let grants = Grants { least: Some(Duration::from_secs(least)), greatest: None };
            let advice = Advice::new(&Wishes::default(), ETCD, seconds(0.002), grants);
            assert_eq!(advice.ttl, None, "{least}");
        }
    }
}
