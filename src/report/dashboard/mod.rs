//! What monitoring systems are to be told about the metrics of [`super::http`].

use std::time::Duration;

const ALERTS: &str = include_str!("alerts.yaml");
/// What stands in [`ALERTS`] for how long something has to be so.
const FOR: &str = "@FOR@";

/// Alerting rules for Prometheus, as YAML. Most go off once something has been so for this long, counted in
/// milliseconds.
pub fn alerts(lasting: Duration) -> String {
    let lasting = match lasting.subsec_millis() {
        0 => format!("{}s", lasting.as_secs()),
        _ => format!("{}ms", lasting.as_millis()),
    };
    ALERTS.replace(FOR, &lasting)
}

/// A dashboard for Grafana, as JSON.
pub const fn grafana() -> &'static str {
    include_str!("grafana.json")
}
