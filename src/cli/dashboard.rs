use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::parse_duration;

const AFTER_HELP: &str = "\
Example:
  elect dashboard alerts >/etc/prometheus/rules.d/elect.yaml
  elect dashboard grafana >elect.json

They are made for the metrics that this version shows with `elect run --http`.";

/// The arguments of `elect dashboard`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct DashboardArgs {
    /// What to print.
    #[command(subcommand)]
    pub what: Dashboard,
}

/// What `elect dashboard` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Dashboard {
    /// Alerting rules for Prometheus
    Alerts {
        /// How long something has to be so before anybody is told
        #[arg(long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, default_value = "1m")]
        lasting: Duration,
    },
    /// A dashboard for Grafana
    Grafana,
}
