//! Works out which TTL fits a store, as far as a few renewals tell, and gives the reasons.

use std::time::Duration;

use elect_api::{Cadence, Finding, Grants, Lease, Profile, middle};

use crate::election::timing::{Timing, TimingOptions};
use crate::report::{RenewalReport, TtlReport, fine_ms, milliseconds, whole_ms};

/// How much longer than usual a renewal may take without being cut off. The usual time was measured while the
/// machine and the store did little else.
const HEADROOM: u32 = 4;
/// The longest TTL that a user may ask for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A TTL for a store in its measured state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Advice {
    /// The TTL to take. `None` if the store grants no TTL that suffices.
    ttl: Option<Duration>,
    /// The shortest TTL that suffices, whether the store grants it or not. `None` if none up to 24 h does.
    shortest: Option<Duration>,
    /// The TTL that the store grants for the wanted one.
    granted: Duration,
}

impl Advice {
    /// Works out the TTL: the wanted one as far as the store grants it, or the next longer one that suffices.
    /// With it, all checks of [`Timing`] must pass, and a renewal may take `HEADROOM` times as long as
    /// `renewal`.
    fn new(options: &TimingOptions, cadence: Cadence, renewal: Duration, grants: Grants) -> Self {
        let fits = |ttl: Duration| {
            let timing = Timing::new(&TimingOptions { ttl, ..*options }, Lease::Timed(cadence));
            timing.is_ok_and(|timing| timing.attempt_timeout >= renewal * HEADROOM)
        };
        let tenths = 1..=LONGEST.as_secs() * 10;
        let shortest =
            tenths.map(|tenths| Duration::from_millis(tenths * 100)).find(|&ttl| fits(ttl));
        let (least, greatest) =
            (grants.least.unwrap_or_default(), grants.greatest.unwrap_or(Duration::MAX));
        let granted = options.ttl.max(least).min(greatest);
        let ttl = shortest.map(|shortest| shortest.max(granted));
        // A server may name any number, so a TTL above the longest one is not even tried.
        let is_fit = |&ttl: &Duration| ttl <= greatest.min(LONGEST) && fits(ttl);
        Self { ttl: ttl.filter(is_fit), shortest, granted }
    }
}

pub(super) struct TtlAdvice {
    pub(super) renewal: Option<RenewalReport>,
    /// `None` if leases do not end by time, or if no renewal was measured.
    pub(super) ttl: Option<TtlReport>,
    pub(super) findings: Vec<Finding>,
}

/// Works out the advice from some renewals, sorted from the shortest to the longest.
pub(super) fn prescribe(store: &Profile, renewals: &[Duration], grants: Grants) -> TtlAdvice {
    let Some(&slowest) = renewals.last() else {
        return TtlAdvice { renewal: None, ttl: None, findings: Vec::new() };
    };
    let usual = middle(renewals.to_vec());
    let renewal = RenewalReport {
        usual_ms: fine_ms(usual),
        slowest_ms: fine_ms(slowest),
        tries: renewals.len(),
    };
    let Lease::Timed(cadence) = store.lease else {
        return TtlAdvice { renewal: Some(renewal), ttl: None, findings: Vec::new() };
    };
    let options = TimingOptions::usual(store);
    let advice = Advice::new(&options, cadence, usual, grants);
    let whole = |span: Option<Duration>| span.map(whole_ms);
    let ttl = TtlReport {
        advised_ms: whole(advice.ttl),
        shortest_ms: whole(advice.shortest),
        least_ms: whole(grants.least),
        greatest_ms: whole(grants.greatest),
        reasons: reasons(&options, usual, advice, grants),
    };
    TtlAdvice {
        renewal: Some(renewal),
        ttl: Some(ttl),
        findings: finding(&options, usual, advice, grants).into_iter().collect(),
    }
}

fn reasons(
    options: &TimingOptions,
    usual: Duration,
    advice: Advice,
    grants: Grants,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let usual = spoken(usual);
    reasons.push(match advice.shortest {
        Some(shortest) => format!(
            "renewals take {usual}: with {} or more one that takes {HEADROOM} times as long is not cut off, and \
             the command has its grace",
            length(shortest)
        ),
        None => format!("renewals take {usual}, which is too long for any lease"),
    });
    let granted = grants.least.map(|least| format!("from {}", length(least)));
    let granted = [granted, grants.greatest.map(|greatest| format!("up to {}", length(greatest)))];
    let granted: Vec<String> = granted.into_iter().flatten().collect();
    if !granted.is_empty() {
        reasons.push(format!("the store grants leases {}", granted.join(" ")));
    }
    if advice.ttl == Some(options.ttl) {
        reasons.push("it is the default".to_owned());
    }
    reasons
}

fn finding(
    options: &TimingOptions,
    usual: Duration,
    advice: Advice,
    grants: Grants,
) -> Option<Finding> {
    let default = length(options.ttl);
    match advice.ttl {
        Some(ttl) if ttl == options.ttl => None,
        Some(ttl) if ttl == advice.granted => Some(Finding::note(
            format!("the store makes {} of the default TTL of {default}", length(ttl)),
            "take the loss of time into account, or change the store's limits",
        )),
        Some(ttl) => Some(Finding::warning(
            format!(
                "renewals take {}: a lease of {default} may be lost to a slower one",
                spoken(usual)
            ),
            format!("give --ttl {} or more", length(ttl)),
        )),
        None => {
            let greatest = grants.greatest.map_or_else(|| "24h".to_owned(), length);
            Some(Finding::error(
                format!(
                    "renewals take {}: no lease that the store grants (up to {greatest}) is long enough to be kept",
                    spoken(usual)
                ),
                match advice.shortest {
                    Some(shortest) => format!(
                        "have the store grant {} or more (maxSessionTimeout of ZooKeeper), or bring it nearer",
                        length(shortest)
                    ),
                    None => "bring the store nearer".to_owned(),
                },
            ))
        }
    }
}

/// Returns the length of a lease in words.
fn length(span: Duration) -> String {
    humantime::format_duration(span).to_string()
}

/// Returns a short time span in words.
fn spoken(span: Duration) -> String {
    milliseconds(fine_ms(span))
}

#[cfg(test)]
mod tests {
    use elect_api::Severity;

    use super::*;

    const ETCD: Cadence = Cadence::LEASE;
    const ZOOKEEPER: Cadence = Cadence::SESSION;

    fn seen(milliseconds: u64, greatest: Option<u64>) -> TtlAdvice {
        let grants = Grants { least: None, greatest: greatest.map(Duration::from_secs) };
        let renewals = [1, milliseconds, milliseconds * 3].map(Duration::from_millis);
        prescribe(&store(Lease::Timed(ZOOKEEPER)), &renewals, grants)
    }

    #[test]
    fn a_ttl_comes_with_its_reasons() {
        let found = seen(2, Some(40));
        assert!(found.findings.is_empty());
        let ttl = found.ttl.expect("a TTL");
        assert_eq!((ttl.advised_ms, ttl.greatest_ms), (Some(15_000), Some(40_000)));
        assert_eq!(ttl.reasons.last().map(String::as_str), Some("it is the default"));
        let renewal = found.renewal.expect("renewals");
        assert_eq!((renewal.usual_ms.to_string(), renewal.tries), ("2".to_owned(), 3));
    }

    #[test]
    fn a_latency_that_the_default_ttl_cannot_bear_is_found() {
        let severity = |milliseconds, greatest| {
            let findings = seen(milliseconds, greatest).findings;
            findings.first().map(|finding| (finding.severity, finding.way_out.clone()))
        };
        assert_eq!(severity(2, Some(10)).expect("a note").0, Severity::Note);
        let (slow, way_out) = severity(1000, None).expect("a warning");
        assert_eq!((slow, &*way_out), (Severity::Warning, "give --ttl 1m 4s or more"));
        let (hopeless, way_out) = severity(1000, Some(40)).expect("an error");
        assert_eq!(hopeless, Severity::Error);
        assert!(way_out.contains("maxSessionTimeout"), "{way_out}");
    }

    #[test]
    fn leases_without_end_take_no_ttl() {
        let found =
            prescribe(&store(Lease::Unlimited), &[Duration::from_millis(1)], Grants::default());
        assert!(found.ttl.is_none() && found.renewal.is_some() && found.findings.is_empty());
        let timed = store(Lease::Timed(ZOOKEEPER));
        assert!(prescribe(&timed, &[], Grants::default()).renewal.is_none());
    }

    fn store(lease: Lease) -> Profile {
        Profile::new("some", "some:".to_owned(), lease, elect_api::Order::Queue)
    }

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn advice(cadence: Cadence, renewal: f64, grants: [Option<f64>; 2]) -> Advice {
        let [least, greatest] = grants.map(|span| span.map(seconds));
        Advice::new(
            &TimingOptions::default(),
            cadence,
            seconds(renewal),
            Grants { least, greatest },
        )
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
        // Attempts are cut off after W/6 (etcd) and W/16 (ZooKeeper).
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
    fn a_store_that_grants_only_too_long_leases_gets_no_advice() {
        for least in [24 * 60 * 60 + 1, i64::MAX.unsigned_abs(), u64::MAX] {
            let grants = Grants { least: Some(Duration::from_secs(least)), greatest: None };
            let advice = Advice::new(&TimingOptions::default(), ETCD, seconds(0.002), grants);
            assert_eq!(advice.ttl, None, "{least}");
        }
    }
}
