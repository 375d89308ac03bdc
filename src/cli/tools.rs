//! The arguments of `completions`, `config`, `dashboard`, `help` and `man`. Also those of `names` and `redeem`, which
//! shells and elect itself call, but not users.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use elect_api::Ticket;

use super::values::{OutputFormat, parse_duration};
use super::{BackendUrl, FileArgs};

pub use clap_complete::Shell;

/// The arguments of `elect completions`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/completions.txt"))]
pub struct CompletionsArgs {
    /// Shell to print the script for
    #[arg(value_name = "SHELL", required_unless_present = "dir")]
    pub shell: Option<Shell>,

    /// Write the scripts of all shells to this folder
    #[arg(long, env = "ELECT_DIR", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// The arguments of `elect config`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/config.txt"), disable_help_subcommand = true)]
pub struct ConfigArgs {
    /// The action.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The subcommands of `elect config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show the settings of a subcommand and their origin
    Show(ShowArgs),
    /// Write settings to a configuration file
    Set(SetArgs),
}

/// The arguments of `elect config set`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect config set [FLAGS] KEY=VALUE...",
    after_long_help = include_str!("help/config-set.txt")
)]
pub struct SetArgs {
    /// File to write [default: that of all users]
    ///
    /// Without it, root writes /etc/elect/config.yaml, and another user the file of its own that `elect help run`
    /// lists.
    #[arg(long, env = "ELECT_FILE", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Settings: the long name of a flag, =, and its value
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = parse_setting, value_hint = clap::ValueHint::Other)]
    pub settings: Vec<(String, String)>,
}

/// Reads a key and its value.
///
/// # Errors
/// Returns a text for the user, without the value, which may hold a password.
fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as ttl=60s")?;
    let key = key.trim_start_matches("--");
    match (key, value) {
        ("", _) => Err("the key is missing".to_owned()),
        (_, "") => Err(format!("the value of {key} is missing")),
        _ => Ok((key.to_owned(), value.to_owned())),
    }
}

/// The arguments of `elect config show`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect config show [FLAGS] [SUBCOMMAND [FLAG...]]",
    after_long_help = include_str!("help/config-show.txt")
)]
pub struct ShowArgs {
    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// Subcommand and its flags [default: run]
    #[arg(value_name = "SUBCOMMAND", trailing_var_arg = true)]
    pub words: Vec<OsString>,
}

/// The arguments of `elect dashboard`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/dashboard.txt"))]
pub struct DashboardArgs {
    /// The document to print.
    #[command(subcommand)]
    pub what: Dashboard,
}

/// A document that `elect dashboard` prints.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Dashboard {
    /// Print alerting rules for Prometheus
    #[command(after_long_help = include_str!("help/dashboard-alerts.txt"))]
    Alerts {
        /// Time that a condition holds before an alert
        #[arg(long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, default_value = "1m")]
        lasting: Duration,

        /// Labels that tell elections of one name apart.
        #[command(flatten)]
        by: GroupingArgs,
    },
    /// Print a dashboard for Grafana
    #[command(after_long_help = include_str!("help/dashboard-grafana.txt"))]
    Grafana {
        /// Labels that tell elections of one name apart.
        #[command(flatten)]
        by: GroupingArgs,
    },
}

/// What elections are told apart by, besides their name and their store.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct GroupingArgs {
    /// Labels that also tell elections apart
    ///
    /// Elections of one name are told apart by their store. Name the labels of Prometheus that do so too, such as
    /// cluster,namespace. All candidates of an election must have the same values.
    #[arg(long = "by", env = "ELECT_BY", value_name = "LABEL,...", value_delimiter = ',', value_parser = parse_label)]
    pub labels: Vec<String>,
}

/// Reads the name of a label.
fn parse_label(text: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match text {
        "election" | "store_id" => Err("elections are told apart by it in any case".to_owned()),
        "instance" | "pod" => {
            Err("each candidate has its own, so all but the leader's would have no leader"
                .to_owned())
        }
        name if is_name && name.chars().all(is_inner) => Ok(name.to_owned()),
        _ => Err("a label has letters, digits and _, and does not begin with a digit".to_owned()),
    }
}

/// The arguments of `elect man`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/man.txt"))]
pub struct ManArgs {
    /// Write all pages to man1 and man7 in this folder
    #[arg(long, env = "ELECT_DIR", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The subcommand or topic of the page; elect as a whole if none
    #[arg(value_name = "SUBCOMMAND|TOPIC")]
    pub words: Vec<String>,
}

/// The arguments of `elect help`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/help.txt"))]
pub struct HelpArgs {
    /// A subcommand, a topic of the manual, or words to look for
    #[arg(value_name = "WORD", allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// The arguments of `elect names`, which shells call to complete a word, and people do not.
#[derive(Args, Debug)]
pub struct NamesArgs {
    /// What has names
    #[arg(value_name = "WHAT")]
    pub what: Named,

    /// The words after `elect` that stand before the one to complete
    #[arg(value_name = "WORD", last = true)]
    pub words: Vec<OsString>,
}

/// What has names that a shell can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Named {
    /// The profiles of the configuration file.
    Profiles,
    /// The elections in the store.
    Elections,
}

/// The arguments of `elect redeem`, which a guardian calls and people do not. All of them come as
/// variables: a URL may carry a password, which a command line would show to everybody.
#[derive(Args, Debug)]
pub struct RedeemArgs {
    /// The store that keeps the election
    #[arg(long, env = "ELECT_BACKEND", value_name = "URL")]
    pub backend: BackendUrl,

    /// The election that the ticket is for
    #[arg(long, env = "ELECT_ELECTION", value_name = "NAME")]
    pub election: String,

    /// The ticket
    #[arg(long, env = "ELECT_TICKET", value_name = "TICKET")]
    pub ticket: Ticket,
}
