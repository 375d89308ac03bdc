use std::fmt::Write as _;

use elect_api::{Endpoint, Finding, Promise, Supply, Unit, text};
use serde::Serialize;

use super::{Table, chain, escape, fine_ms, milliseconds};

/// The report of `elect doctor`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DoctorReport {
    /// The store's location, as a URL without secrets.
    pub backend: String,
    /// The id that elect gives the store, as `store-id=` in its URL names it. `None` if stores of this kind have no
    /// ids, or if the id could not be read.
    pub store_id: Option<String>,
    /// The promise of the store: `strong` or `weak`.
    pub promise: Promise,
    /// True if no finding is worse than a note.
    pub well: bool,
    /// The store's endpoints, in the order of its URL.
    pub endpoints: Vec<EndpointReport>,
    /// The rights that elect needs on the store, in the order in which they were tried.
    pub rights: Vec<RightReport>,
    /// The time that renewals take; `None` if no renewal succeeded.
    pub renewal: Option<RenewalReport>,
    /// The advised TTL; `None` if leases do not end by time, or if no renewal succeeded.
    pub ttl: Option<TtlReport>,
    /// This machine's clock.
    pub clock: ClockReport,
    /// The kinds of containment for a command's descendants, the best first.
    pub containment: Vec<ContainmentReport>,
    /// The limited resources.
    pub limits: Vec<Supply>,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
}

/// One endpoint of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointReport {
    /// The address of the endpoint.
    pub endpoint: String,
    /// True if the endpoint answers.
    pub answers: bool,
    /// The median round trip, in milliseconds with fractions.
    pub round_trip_ms: Option<f64>,
    /// The server's version.
    pub version: Option<String>,
    /// The role of the endpoint among the members, or the kind of its file system.
    pub role: Option<String>,
    /// The id that elect gives the store behind this endpoint.
    pub store_id: Option<String>,
    /// The reason why the endpoint does not answer.
    pub error: Option<String>,
}

/// A right that elect needs on the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RightReport {
    /// The name of the right.
    pub right: &'static str,
    /// True if the trial succeeded.
    pub granted: bool,
    /// The reason why the trial failed.
    pub error: Option<String>,
}

/// The time that renewals take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RenewalReport {
    /// The median, in milliseconds with fractions.
    pub usual_ms: f64,
    /// The slowest renewal, in milliseconds with fractions.
    pub slowest_ms: f64,
    /// The number of renewals.
    pub tries: usize,
}

/// The advised TTL. All lengths are in milliseconds, and `None` if they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TtlReport {
    /// The advised TTL; `None` if no TTL would do.
    pub advised_ms: Option<u64>,
    /// The shortest TTL that would do, even if the store does not grant it.
    pub shortest_ms: Option<u64>,
    /// The shortest TTL that the store grants.
    pub least_ms: Option<u64>,
    /// The longest TTL that the store grants.
    pub greatest_ms: Option<u64>,
    /// The reasons for the advice.
    pub reasons: Vec<String>,
}

/// This machine's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockReport {
    /// The rate to which the kernel has adjusted the clock, as a share of the clock's own rate.
    pub rate: f64,
}

/// One kind of containment for a command's descendants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContainmentReport {
    /// The name of the containment.
    pub containment: &'static str,
    /// True if this machine offers it.
    pub at_hand: bool,
    /// The reason why this machine does not offer it.
    pub why_not: Option<String>,
}

impl From<&Endpoint> for EndpointReport {
    fn from(endpoint: &Endpoint) -> Self {
        let answer = endpoint.answer.as_ref().ok();
        let clean = |said: &String| text::clean(said.clone(), text::NAME);
        Self {
            endpoint: endpoint.address.clone(),
            answers: answer.is_some(),
            round_trip_ms: answer.map(|answer| fine_ms(answer.round_trip)),
            version: answer.and_then(|answer| answer.version.as_ref()).map(clean),
            role: answer.and_then(|answer| answer.role.as_ref()).map(clean),
            store_id: answer.and_then(|answer| answer.store.id()).map(ToString::to_string),
            error: endpoint.answer.as_ref().err().map(|error| chain(error)),
        }
    }
}

impl DoctorReport {
    /// Returns the report for people without the store's location and promise, fitted to a terminal of this width. The
    /// findings come last.
    pub fn table(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if let Some(id) = &self.store_id {
            let _ = writeln!(text, "store id: {id}");
        }
        let shown = |table: Table| format!("\n{}\n", table.render(width).trim_end());
        text.extend([self.endpoints(), self.rights()].into_iter().flatten().map(shown));
        text.extend(["\n", &self.pace(), &shown(self.containment()), &shown(self.limits()), "\n"]);
        for Finding { severity, what, way_out } in &self.findings {
            let _ = writeln!(text, "{severity}: {what}\n  way out: {way_out}");
        }
        if self.well {
            text += if self.findings.is_empty() { "" } else { "\n" };
            text += "nothing is wrong\n";
        }
        text
    }

    fn endpoints(&self) -> Option<Table> {
        let mut table = Table::uncut(&["ENDPOINT", "ROUND TRIP", "VERSION", "ROLE"]);
        table = table.without(&["VERSION", "ROLE", "ROUND TRIP"]);
        for endpoint in &self.endpoints {
            let time = endpoint.round_trip_ms.map_or_else(|| "no answer".to_owned(), milliseconds);
            let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
            let (version, role) = (or_none(&endpoint.version), or_none(&endpoint.role));
            table.row([endpoint.endpoint.clone(), time, version, role]);
        }
        (!self.endpoints.is_empty()).then_some(table)
    }

    fn rights(&self) -> Option<Table> {
        let mut table = Table::uncut(&["RIGHT", "GRANTED"]);
        for right in &self.rights {
            let granted = if right.granted { "yes" } else { "NO" };
            table.row([right.right.to_owned(), granted.to_owned()]);
        }
        (!self.rights.is_empty()).then_some(table)
    }

    /// Returns the lines about times: renewals, the TTL and the clock.
    fn pace(&self) -> String {
        let mut text = String::new();
        if let Some(RenewalReport { usual_ms, slowest_ms, tries }) = self.renewal {
            let (usual, slowest) = (milliseconds(usual_ms), milliseconds(slowest_ms));
            let _ = writeln!(text, "renewal: {usual}, the slowest of {tries}: {slowest}");
        }
        if let Some(TtlReport { advised_ms, reasons, .. }) = &self.ttl {
            let advised = advised_ms.map_or_else(
                || "none would do".to_owned(),
                |ms| humantime::format_duration(std::time::Duration::from_millis(ms)).to_string(),
            );
            let _ = writeln!(text, "advised TTL: {advised}");
            for reason in reasons {
                let _ = writeln!(text, "  {}", escape(reason));
            }
        }
        let off = (self.clock.rate - 1.0) * 100.0;
        let _ = writeln!(text, "clock: told to run {off:+.4} % off its own rate");
        text
    }

    fn containment(&self) -> Table {
        let mut table = Table::uncut(&["CONTAINMENT", "AT HAND"]);
        for ContainmentReport { containment, why_not, .. } in &self.containment {
            let at_hand = why_not.as_ref().map_or("yes".to_owned(), |why| format!("no: {why}"));
            table.row([(*containment).to_owned(), at_hand]);
        }
        table
    }

    fn limits(&self) -> Table {
        let mut table = Table::uncut(&["LIMIT", "USED", "MOST"]);
        for Supply { what, unit, most, used } in &self.limits {
            let number = |number: &Option<u64>| {
                number.map_or_else(String::new, |number| {
                    if *unit == Unit::Bytes { bytes(number) } else { number.to_string() }
                })
            };
            table.row([what.clone(), number(used), number(most)]);
        }
        table
    }
}

/// Returns a count of bytes in words for people.
fn bytes(count: u64) -> String {
    const STEPS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let mut amount = count as f64;
    let mut steps = STEPS.into_iter();
    let mut unit = steps.next().unwrap_or_default();
    while amount >= 1024.0 {
        let Some(next) = steps.next() else { break };
        (amount, unit) = (amount / 1024.0, next);
    }
    if unit == "B" { format!("{count} B") } else { format!("{amount:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> DoctorReport {
        DoctorReport {
            backend: "etcd://a:2379,b:2379".into(),
            store_id: Some("00000000000000a1".into()),
            promise: Promise::Strong,
            well: false,
            endpoints: vec![
                EndpointReport {
                    endpoint: "a:2379".into(),
                    answers: true,
                    round_trip_ms: Some(0.4),
                    version: Some("3.5.16".into()),
                    role: Some("leader".into()),
                    store_id: Some("00000000000000a1".into()),
                    error: None,
                },
                EndpointReport {
                    endpoint: "b:2379".into(),
                    answers: false,
                    round_trip_ms: None,
                    version: None,
                    role: None,
                    store_id: None,
                    error: Some("nothing listens there".into()),
                },
            ],
            rights: vec![RightReport { right: "look", granted: true, error: None }],
            renewal: Some(RenewalReport { usual_ms: 1.25, slowest_ms: 40.0, tries: 10 }),
            ttl: Some(TtlReport {
                advised_ms: Some(15_000),
                shortest_ms: Some(3600),
                least_ms: Some(2000),
                greatest_ms: None,
                reasons: vec!["it is the default".into()],
            }),
            clock: ClockReport { rate: 1.0005 },
            containment: vec![
                ContainmentReport {
                    containment: "pidns",
                    at_hand: false,
                    why_not: Some("not allowed".into()),
                },
                ContainmentReport { containment: "scan", at_hand: true, why_not: None },
            ],
            limits: vec![Supply {
                what: "database of a:2379".into(),
                unit: Unit::Bytes,
                most: None,
                used: Some(1_572_864),
            }],
            findings: vec![Finding::warning("b:2379\ndoes not answer", "start it")],
        }
    }

    #[test]
    fn problems_come_last_in_the_table() {
        assert_eq!(
            report().table(None),
            "store id: 00000000000000a1\n\
             \n\
             ENDPOINT  ROUND TRIP  VERSION  ROLE\n\
             a:2379    0.4ms       3.5.16   leader\n\
             b:2379    no answer   -        -\n\
             \n\
             RIGHT  GRANTED\n\
             look   yes\n\
             \n\
             renewal: 1.2ms, the slowest of 10: 40ms\n\
             advised TTL: 15s\n  \
               it is the default\n\
             clock: told to run +0.0500 % off its own rate\n\
             \n\
             CONTAINMENT  AT HAND\n\
             pidns        no: not allowed\n\
             scan         yes\n\
             \n\
             LIMIT               USED     MOST\n\
             database of a:2379  1.5 MiB  -\n\
             \n\
             warning: b:2379\\ndoes not answer\n  \
               way out: start it\n"
        );
        let well = DoctorReport { well: true, findings: Vec::new(), ..report() };
        assert!(well.table(None).ends_with("-\n\nnothing is wrong\n"), "{}", well.table(None));
        let noted = vec![Finding::note("slow", "none")];
        let noted = DoctorReport { well: true, findings: noted, ..report() };
        assert!(noted.table(None).ends_with("way out: none\n\nnothing is wrong\n"));
    }

    #[test]
    fn bytes_are_rounded() {
        for (count, said) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (u64::MAX, "16777216.0 TiB")]
        {
            assert_eq!(bytes(count), said);
        }
    }
}
