use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::parse_duration;

const EXAMPLES: &str = "\
Examples:
  elect dashboard alerts >elect-alerts.yaml
  elect dashboard grafana >elect-dashboard.json";

const ALERTS: &str = "\
Examples:
  elect dashboard alerts --for 5m >elect-alerts.yaml";

const GRAFANA: &str = "\
Examples:
  elect dashboard grafana >elect-dashboard.json";

/// The arguments of `elect dashboard`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DashboardArgs {
    /// What to print.
    #[command(subcommand)]
    pub what: Dashboard,
}

/// What `elect dashboard` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Dashboard {
    /// Print alerting rules for Prometheus
    #[command(after_help = ALERTS)]
    Alerts {
        /// How long it has to be so
        ///
        /// Before anybody is told: 30s, 5m; a bare number is seconds.
        #[arg(long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, default_value = "1m", allow_hyphen_values = true)]
        lasting: Duration,
    },
    /// Print a dashboard for Grafana
    #[command(after_help = GRAFANA)]
    Grafana,
}
