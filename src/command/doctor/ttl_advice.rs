use std::time::Duration;

use elect_api::{Finding, Grants, Lease, middle};

use crate::election::advice::{Advice, HEADROOM};
use crate::election::timing::Wishes;
use crate::report::{CheckReport, RenewalReport, TtlReport, milliseconds};

/// Which TTL to take, and why.
pub(super) struct TtlAdvice {
    pub(super) renewal: Option<RenewalReport>,
    /// `None` where leases do not end by time, or no renewal was seen.
    pub(super) ttl: Option<TtlReport>,
    pub(super) findings: Vec<Finding>,
}

/// Works it out from some renewals, the shortest first.
pub(super) fn prescribe(lease: Lease, renewals: &[Duration], grants: Grants) -> TtlAdvice {
    let Some(&slowest) = renewals.last() else {
        return TtlAdvice { renewal: None, ttl: None, findings: Vec::new() };
    };
    let usual = middle(renewals.to_vec());
    let renewal = RenewalReport {
        usual_ms: CheckReport::fine_ms(usual),
        slowest_ms: CheckReport::fine_ms(slowest),
        tries: renewals.len(),
    };
    let Lease::Timed(cadence) = lease else {
        return TtlAdvice { renewal: Some(renewal), ttl: None, findings: Vec::new() };
    };
    let wishes = Wishes::default();
    let advice = Advice::new(&wishes, cadence, usual, grants);
    let whole = |span: Option<Duration>| span.map(CheckReport::whole_ms);
    let ttl = TtlReport {
        advised_ms: whole(advice.ttl),
        shortest_ms: whole(advice.shortest),
        least_ms: whole(grants.least),
        greatest_ms: whole(grants.greatest),
        reasons: reasons(&wishes, usual, advice, grants),
    };
    TtlAdvice {
        renewal: Some(renewal),
        ttl: Some(ttl),
        findings: finding(&wishes, usual, advice, grants).into_iter().collect(),
    }
}

fn reasons(wishes: &Wishes, usual: Duration, advice: Advice, grants: Grants) -> Vec<String> {
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
    if advice.ttl == Some(wishes.ttl) {
        reasons.push("it is the default".to_owned());
    }
    reasons
}

fn finding(wishes: &Wishes, usual: Duration, advice: Advice, grants: Grants) -> Option<Finding> {
    let default = length(wishes.ttl);
    match advice.ttl {
        Some(ttl) if ttl == wishes.ttl => None,
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

/// The length of a lease for people.
fn length(span: Duration) -> String {
    humantime::format_duration(span).to_string()
}

/// A short span for people.
fn spoken(span: Duration) -> String {
    milliseconds(CheckReport::fine_ms(span))
}

#[cfg(test)]
mod tests {
    use elect_api::{Cadence, Severity};

    use super::*;

    const ZOOKEEPER: Lease = Lease::Timed(Cadence { anchor_lag_48ths: 15, renew_48ths: 3 });

    fn seen(milliseconds: u64, greatest: Option<u64>) -> TtlAdvice {
        let grants = Grants { least: None, greatest: greatest.map(Duration::from_secs) };
        let renewals = [1, milliseconds, milliseconds * 3].map(Duration::from_millis);
        prescribe(ZOOKEEPER, &renewals, grants)
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
    fn what_the_default_cannot_do_is_found() {
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
        let found = prescribe(Lease::Unlimited, &[Duration::from_millis(1)], Grants::default());
        assert!(found.ttl.is_none() && found.renewal.is_some() && found.findings.is_empty());
        assert!(prescribe(ZOOKEEPER, &[], Grants::default()).renewal.is_none());
    }
}
