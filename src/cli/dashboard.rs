use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::parse_duration;

const EXAMPLES: &str = "\
Examples:
  elect dashboard alerts >/etc/prometheus/rules.d/elect.yaml
  elect dashboard grafana >elect.json";

const MORE: &str = "They are made for the metrics that this version shows with `elect run --http`.";

const ALERTS: &str = "\
Examples:
  elect dashboard alerts >/etc/prometheus/rules.d/elect.yaml
  elect dashboard alerts --for 5m";

const GRAFANA: &str = "\
Examples:
  elect dashboard grafana >elect.json";

/// The arguments of `elect dashboard`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct DashboardArgs {
    /// What to print.
    #[command(subcommand)]
    pub what: Dashboard,
}

/// What `elect dashboard` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Dashboard {
    /// Alerting rules for Prometheus
    #[command(after_help = ALERTS)]
    Alerts {
        /// How long something has to be so before anybody is told
        #[arg(long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, default_value = "1m")]
        lasting: Duration,
    },
    /// A dashboard for Grafana
    #[command(after_help = GRAFANA)]
    Grafana,
}
