//! This file has groups of flags that several subcommands share.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};
use elect_api::Candidate;
use hyper::Uri;

use super::addresses::BACKEND_HELP;
use super::help::GENERAL;
use super::settings::{Layers, Overruled, Rivals};
use super::values::{
    LogFormat, MAX_PRIORITY, Restart, parse_duration, parse_period, parse_share, parse_ttl, whole,
};
use super::{BackendUrl, CommandLine, ListenAddress};

/// The headings for the flags of subcommands that lead.
pub(super) const ELECTION: &str = "Election";
pub(super) const COMMAND: &str = "Command";
pub(super) const LEASE: &str = "Lease";
const STANDING: &str = "Standing";

/// Which election, and where it is kept: the arguments of all that asks, or looks at, one.
#[derive(Args, Clone, Debug)]
pub struct TargetArgs {
    /// Store that keeps the election
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Name of the election
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

/// The arguments of all subcommands that lead: the candidate and its election.
#[derive(Args, Clone, Debug)]
pub struct CampaignArgs {
    /// Store that keeps the election
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP, help_heading = ELECTION)]
    pub backend: BackendUrl,

    /// Election's name [default: command's file name]
    ///
    /// 1 to 128 letters, digits and . _ - @ : + =. It begins with a letter, a digit or _, and is not digits only.
    #[arg(short, long, env = "ELECT_ELECTION", value_name = "ELECTION", value_hint = ValueHint::Other, help_heading = ELECTION)]
    pub election: Option<String>,

    /// Label of this candidate [default: host name]
    ///
    /// 1 to 64 printable ASCII characters without spaces and /. elect adds a random suffix.
    #[arg(long, env = "ELECT_ID", value_name = "LABEL", value_hint = ValueHint::Other, help_heading = ELECTION)]
    pub id: Option<String>,

    /// Priority; the highest leads next
    ///
    /// From 0, which never leads, to 1000000. Candidates of equal priority lead in the order in which they joined.
    /// `elect priority` changes it later.
    #[arg(long, env = "ELECT_PRIORITY", value_name = "N", default_value_t = Candidate::USUAL_PRIORITY, value_parser = whole::<u32>(0..=MAX_PRIORITY.into()), help_heading = ELECTION)]
    pub priority: u32,

    /// Ask a leader of lower priority to hand over
    ///
    /// This candidate asks once it has waited for --preempt-after. All candidates of the election must be elect's own.
    #[arg(long, env = "ELECT_PREEMPT", value_parser = BoolishValueParser::new(), help_heading = ELECTION)]
    pub preempt: bool,

    /// Time to wait before preempting [default: 30s]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. This flag implies --preempt.
    #[arg(long, env = "ELECT_PREEMPT_AFTER", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = ELECTION, hide_short_help = true)]
    pub preempt_after: Option<Duration>,

    /// Refuse a store whose promise is weak
    ///
    /// Two candidates may lead at a time in such a store, as in Redis after a fail-over. See `elect help guarantee`.
    #[arg(long, env = "ELECT_REQUIRE_STRONG", value_parser = BoolishValueParser::new(), help_heading = ELECTION, hide_short_help = true)]
    pub require_strong: bool,

    /// Length of the lease [default: 15s, 60s in clouds]
    ///
    /// Another candidate replaces a leader that is cut off after this time. At least 3.6 s with the default
    /// --kill-grace and --max-clock-drift, or 3.7 s where candidates judge leases; at most 24 h. The local disk refuses
    /// it: its leases have no time limit.
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true, help_heading = LEASE)]
    pub ttl: Option<Duration>,

    /// Largest difference in clock speed [default: 10%]
    ///
    /// The clock of this machine may run faster or slower than the store's clock by this share: 0.1 or 10%. On
    /// all stores but etcd and ZooKeeper the share applies to the clocks of any two candidates.
    #[arg(long, env = "ELECT_MAX_CLOCK_DRIFT", value_name = "SHARE", value_parser = parse_share, allow_hyphen_values = true, help_heading = LEASE, hide_short_help = true)]
    pub max_clock_drift: Option<f64>,

    /// Delay before leading after a crash [default: 0]
    ///
    /// The delay counts from the win. There is none if the last leader recorded a clean end. Give it to all candidates.
    #[arg(long, env = "ELECT_LOCK_DELAY", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE, hide_short_help = true)]
    pub lock_delay: Option<Duration>,

    /// Serve status, probes and metrics over HTTP
    ///
    /// ADDR is PORT or :PORT, for this machine only, or HOST:PORT. `elect dashboard` prints alerts for the metrics.
    #[arg(long, env = "ELECT_HTTP", value_name = "ADDR", value_hint = ValueHint::Other, help_heading = STANDING)]
    pub http: Option<ListenAddress>,

    /// File that tells others whether we lead
    ///
    /// `elect check --lease-file` reads it, for example in another container that shares the folder.
    #[arg(long, env = "ELECT_LEASE_FILE", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = STANDING, hide_short_help = true)]
    pub lease_file: Option<PathBuf>,

    /// Label this pod while we lead
    ///
    /// The label is `elect/leader=true`. It needs a store on Kubernetes. `POD_NAME` names the pod; without it the host
    /// name does.
    #[arg(long, env = "ELECT_POD_LABEL", value_parser = BoolishValueParser::new(), help_heading = STANDING, hide_short_help = true)]
    pub pod_label: bool,

    /// The hooks.
    #[command(flatten)]
    pub hooks: HookArgs,
}

/// Which configuration file counts, and what of it. A subcommand that has these flags takes its other
/// flags from the file as well.
#[derive(Args, Clone, Debug, Default)]
pub struct FileArgs {
    /// Configuration file to read instead of the usual ones
    ///
    /// Without it, elect reads the first file that exists of those that `elect help run` lists. With /dev/null it reads
    /// none.
    #[arg(long, env = "ELECT_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Profile of the configuration file to use
    #[arg(long, env = "ELECT_PROFILE", value_name = "PROFILE", value_hint = ValueHint::Other)]
    pub profile: Option<String>,
}

/// The health checks of a command, or of an application beside elect.
#[derive(Args, Clone, Debug)]
pub struct HealthArgs {
    /// Lead only while this URL answers with success
    ///
    /// Success is a status from 200 to 299. Only http:// URLs are taken.
    #[arg(long, env = "ELECT_HEALTH_HTTP", value_name = "URL", value_hint = ValueHint::Url, help_heading = HEALTH)]
    pub health_http: Option<HealthUrl>,

    /// Lead only while this command exits with 0
    ///
    /// elect splits CMD into words as a shell does, and executes it without a shell.
    #[arg(long, env = "ELECT_HEALTH_CMD", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HEALTH)]
    pub health_cmd: Option<CommandLine>,

    /// Time between health checks
    ///
    /// The time counts from the start of a check to the start of the next one; 10 ms at least.
    #[arg(long, env = "ELECT_HEALTH_INTERVAL", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "2s", help_heading = HEALTH, hide_short_help = true)]
    pub health_interval: Duration,

    /// Longest time for a health check
    ///
    /// A check that takes longer has failed, and its command is killed; 10 ms at least.
    #[arg(long, env = "ELECT_HEALTH_TIMEOUT", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "2s", help_heading = HEALTH, hide_short_help = true)]
    pub health_timeout: Duration,

    /// Failed checks in a row before giving up
    ///
    /// After this many failures elect stops the command and gives leadership up.
    #[arg(long, env = "ELECT_HEALTH_THRESHOLD", value_name = "N", value_parser = whole::<u32>(1..=u32::MAX.into()), default_value_t = 3, help_heading = HEALTH, hide_short_help = true)]
    pub health_threshold: u32,
}

const HEALTH: &str = "Health";

/// The URL of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthUrl(Uri);

impl HealthUrl {
    /// Returns the URL, which has the scheme `http` and a host.
    pub const fn uri(&self) -> &Uri {
        &self.0
    }
}

impl HealthArgs {
    /// Returns whether there is any health check.
    pub const fn has_any(&self) -> bool {
        self.health_http.is_some() || self.health_cmd.is_some()
    }
}

impl HookArgs {
    /// Returns whether there is any hook.
    pub const fn has_any(&self) -> bool {
        self.on_elected.is_some() || self.on_lost.is_some() || self.on_change.is_some()
    }
}

impl fmt::Display for HealthUrl {
    /// Leaves out the part after `?`, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.authority().map_or("", |authority| authority.as_str());
        write!(f, "http://{host}{}", self.0.path())
    }
}

impl FromStr for HealthUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("{why}; write http://127.0.0.1:8080/healthz"));
        let Ok(uri) = text.parse::<Uri>() else { return refuse("not a URL") };
        match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) if authority.as_str().contains('@') => {
                refuse("a name or a password is not sent")
            }
            (Some("http"), Some(_)) => Ok(Self(uri)),
            (Some("https"), _) => refuse("TLS is not spoken with an application of this machine"),
            _ => refuse("not an http:// URL"),
        }
    }
}

const HOOKS: &str = "Hooks";

/// The hooks: commands that elect runs when leadership changes.
#[derive(Args, Clone, Debug)]
pub struct HookArgs {
    /// Command to run when leadership begins
    ///
    /// It runs beside the command, and is dead before another candidate can lead. If the command ends first, elect
    /// leads until the hook has ended. elect splits CMD into words as a shell does, and executes it without a shell.
    #[arg(long, env = "ELECT_ON_ELECTED", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HOOKS, hide_short_help = true)]
    pub on_elected: Option<CommandLine>,

    /// Command to run when leadership has ended
    ///
    /// It runs once the command is dead. Another candidate may lead by then.
    #[arg(long, env = "ELECT_ON_LOST", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HOOKS, hide_short_help = true)]
    pub on_lost: Option<CommandLine>,

    /// Command to run when the leader changes
    ///
    /// It also runs once at the start. Its environment has the id and the token of the leader, if there is one.
    #[arg(long, env = "ELECT_ON_CHANGE", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HOOKS, hide_short_help = true)]
    pub on_change: Option<CommandLine>,

    /// Time after which elect kills a hook
    #[arg(long, env = "ELECT_HOOK_TIMEOUT", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "10s", help_heading = HOOKS, hide_short_help = true)]
    pub hook_timeout: Duration,
}

/// The amount and the form of messages.
#[derive(Args, Clone, Copy, Debug)]
pub struct LogArgs {
    /// Print errors only
    #[arg(short, long, env = "ELECT_QUIET", value_parser = BoolishValueParser::new(), help_heading = GENERAL)]
    pub quiet: bool,

    /// Print all messages
    ///
    /// Without it, elect prints progress on a terminal, and elsewhere warnings and errors only.
    #[arg(short, long, env = "ELECT_VERBOSE", value_parser = BoolishValueParser::new(), help_heading = GENERAL)]
    pub verbose: bool,

    /// Format of messages on stderr: text or json
    #[arg(long, env = "ELECT_LOG_FORMAT", value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text, help_heading = GENERAL, hide_short_help = true)]
    pub log_format: LogFormat,
}

impl LogArgs {
    /// Drops the flag whose rival comes from a nearer layer, and returns which one lost.
    pub(super) fn overrule(
        &mut self,
        layers: Layers<'_>,
    ) -> Result<Option<Overruled>, Box<Rivals>> {
        if !(self.quiet && self.verbose) {
            return Ok(None);
        }
        let quiet = ("quiet", || self.quiet = false);
        layers.overrule(quiet, ("verbose", || self.verbose = false)).map(Some)
    }
}

/// When a command that has ended is started again.
#[derive(Args, Clone, Debug)]
pub struct RestartArgs {
    /// When to restart the command
    ///
    /// elect restarts it while it leads, with the same token, once no process of it is left. It does not restart a
    /// command
    /// that was told to end, could not be executed, or has done what --once is for.
    #[arg(long, env = "ELECT_RESTART", value_enum, value_name = "WHEN", default_value_t = Restart::Never, help_heading = COMMAND)]
    pub restart: Restart,

    /// Pause before the first restart
    ///
    /// Each further pause is twice as long; 10 ms at least.
    #[arg(long, env = "ELECT_RESTART_DELAY", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "1s", help_heading = COMMAND, hide_short_help = true)]
    pub restart_delay: Duration,

    /// Longest pause between restarts
    ///
    /// After a command has run for this time, the next pause is --restart-delay again.
    #[arg(long, env = "ELECT_RESTART_MAX_DELAY", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "1m", help_heading = COMMAND, hide_short_help = true)]
    pub restart_max_delay: Duration,
}

#[cfg(test)]
mod tests {
    use super::HealthUrl;

    #[test]
    fn urls_of_an_application() {
        for good in ["http://127.0.0.1:8080/healthz", "http://[::1]/", "http://localhost?full=1"] {
            assert!(good.parse::<HealthUrl>().is_ok(), "{good}");
        }
        for bad in ["", "/healthz", "localhost:80", "https://a/", "ftp://a/", "http://me:pw@a/"] {
            let why = bad.parse::<HealthUrl>().unwrap_err();
            assert!(why.contains("http://127.0.0.1"), "{bad}: {why}");
        }
    }

    #[test]
    fn possible_secrets_in_a_url_are_not_shown() {
        let url: HealthUrl = "http://127.0.0.1:8080/healthz?token=secret".parse().unwrap();
        assert_eq!(url.to_string(), "http://127.0.0.1:8080/healthz");
        assert_eq!(url.uri().query(), Some("token=secret"));
    }
}
