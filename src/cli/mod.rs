//! The command line: what may be said, and how it reads in `--help`. No I/O happens here.
//!
//! Every flag has an `ELECT_*` variable. A flag beats its variable, a variable beats the default,
//! and an empty variable counts as unset.

mod backend_url;
mod campaign;
mod check;
mod dashboard;
mod health;
mod listen_address;
mod log;
mod redeem;
mod run;
mod sidecar;
mod status;
mod values;

use std::env;
use std::ffi::{OsStr, OsString};

use clap::{
    Arg, ArgMatches, Command as ClapCommand, CommandFactory, FromArgMatches, Parser, Subcommand,
};

pub use backend_url::BackendUrl;
pub use campaign::CampaignArgs;
pub use check::CheckArgs;
pub use dashboard::{Dashboard, DashboardArgs};
pub use health::{HealthArgs, HealthCommand, HealthUrl};
pub use listen_address::ListenAddress;
pub use log::LogArgs;
pub use redeem::RedeemArgs;
pub use run::RunArgs;
pub use sidecar::SidecarArgs;
pub use status::StatusArgs;
pub use values::{AfterLoss, Leftover, LogFormat, OutputFormat, parse_duration, parse_signal};

/// Run a command on exactly one machine at a time.
#[derive(Debug, Parser)]
#[command(name = "elect", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command while leading an election
    Run(Box<RunArgs>),
    /// Lead, and say so, on behalf of an application that runs beside it
    Sidecar(Box<SidecarArgs>),
    /// Show who leads and who waits
    Status(StatusArgs),
    /// Say whether the leadership that this command runs under still holds
    Check(CheckArgs),
    /// Print alerting rules or a dashboard for the metrics of `run --http`
    Dashboard(DashboardArgs),
    /// Give up the entry of an `elect run` that crashed
    #[command(hide = true)]
    Redeem(RedeemArgs),
}

/// Reads the arguments, the program's own name first, and the variables that stand in for flags.
///
/// # Errors
/// An error that knows how to print itself: wrong usage, but also `--help` and `--version`.
pub fn parse<I, T>(args: I) -> Result<Cli, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let mut grammar = grammar();
    let matches =
        grammar.try_get_matches_from_mut(args).map_err(|error| blame_variable(&grammar, error))?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let Some((name, given)) = matches.subcommand() {
        let settled = match &mut cli.command {
            Command::Run(run) => run.settle(given),
            Command::Sidecar(sidecar) => sidecar.log.settle(given),
            _ => Ok(()),
        };
        settled.map_err(|text| usage_error(&mut grammar, name, text))?;
    }
    Ok(cli)
}

/// The whole grammar, as it is parsed and as help shows it.
pub fn grammar() -> ClapCommand {
    Cli::command().mut_subcommands(|command| command.mut_args(heed_variable))
}

/// An empty variable counts as unset; a value never shows in help, as a URL may carry a password.
fn heed_variable(arg: Arg) -> Arg {
    let arg = arg.hide_env_values(true);
    let is_empty = arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    if is_empty { arg.env(None::<&'static str>) } else { arg }
}

/// Names the variable that a refused value came from: nobody looks for it behind a flag that they
/// did not write.
fn blame_variable(grammar: &ClapCommand, mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let text_of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    // It reads `--wait <DUR>`.
    let flag = text_of(ContextKind::InvalidArg).and_then(|usage| usage.split(' ').next());
    let value = text_of(ContextKind::InvalidValue).map(OsStr::new);
    let is_blamed =
        |arg: &&Arg| flag.is_some() && arg.get_long() == flag.and_then(|f| f.strip_prefix("--"));
    let all = grammar.get_subcommands().flat_map(ClapCommand::get_arguments);
    let variable = all
        .filter(is_blamed)
        .filter_map(Arg::get_env)
        .find(|name| value.is_some() && env::var_os(name).as_deref() == value);
    if let Some(name) = variable {
        let tip = format!("{} is set to this value", name.to_string_lossy());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn usage_error(grammar: &mut ClapCommand, subcommand: &str, text: String) -> clap::Error {
    let kind = clap::error::ErrorKind::ArgumentConflict;
    match grammar.find_subcommand_mut(subcommand) {
        Some(command) => command.error(kind, text),
        None => grammar.error(kind, text),
    }
}

/// Which of two flags that exclude each other counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Winner {
    First,
    Second,
}

/// Settles two flags that are both set: the command line beats the environment.
///
/// # Errors
/// The text for the user, where both come from the same place.
fn settle(given: &ArgMatches, first: &str, second: &str) -> Result<Winner, String> {
    use clap::parser::ValueSource::CommandLine;
    let on_command_line = |id| given.value_source(id) == Some(CommandLine);
    let flag = |id: &str| format!("--{}", id.replace('_', "-"));
    let variable = |id: &str| format!("ELECT_{}", id.to_uppercase());
    match (on_command_line(first), on_command_line(second)) {
        (true, false) => Ok(Winner::First),
        (false, true) => Ok(Winner::Second),
        (true, true) => Err(format!("{} and {} exclude each other", flag(first), flag(second))),
        (false, false) => {
            Err(format!("{} and {} exclude each other", variable(first), variable(second)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;
    use std::time::Duration;

    use clap::error::ErrorKind;

    use super::{Cli, Command, RunArgs, grammar, parse};

    fn run(args: &[&str]) -> Result<RunArgs, clap::Error> {
        let Cli { command } = parse(["elect", "run"].iter().chain(args))?;
        match command {
            Command::Run(run) => Ok(*run),
            other => panic!("read as {other:?}"),
        }
    }

    /// Whether this test is to do its work; if not, it has run itself again with the variables set.
    fn with_variables(test: &str, variables: &[(&str, &str)]) -> bool {
        if std::env::var_os("IN_CHANGED_ENVIRONMENT").is_some() {
            return true;
        }
        let output = Process::new(std::env::current_exe().unwrap())
            .args([&format!("cli::tests::{test}"), "--exact", "--nocapture"])
            .envs(variables.iter().copied())
            .env("IN_CHANGED_ENVIRONMENT", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("1 passed"), "no test of the name {test}: {said}");
        false
    }

    #[test]
    fn the_grammar_holds_together() {
        grammar().debug_assert();
    }

    #[test]
    fn a_command_needs_no_dashes() {
        assert_eq!(
            run(&["job", "-n", "--wait", "x"]).unwrap().command,
            ["job", "-n", "--wait", "x"]
        );
        assert!(!run(&["job", "-n"]).unwrap().no_wait);
        assert_eq!(run(&["-n", "--", "-odd", "--", "x"]).unwrap().command, ["-odd", "--", "x"]);
        assert_eq!(run(&["job", "--", "x"]).unwrap().command, ["job", "--", "x"]);
    }

    #[test]
    fn a_command_is_required_and_an_unknown_flag_is_none() {
        assert_eq!(run(&[]).unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
        assert_eq!(run(&["--bogus", "job"]).unwrap_err().kind(), ErrorKind::UnknownArgument);
        assert_eq!(run(&["-x", "job"]).unwrap_err().kind(), ErrorKind::UnknownArgument);
    }

    #[test]
    fn durations_are_explained() {
        for bad in ["-5s", "-1", "soon", "NaN", "20000000000", ""] {
            let text = run(&["--wait", bad, "job"]).unwrap_err().to_string();
            assert!(text.contains("1h30m"), "{bad}: {text}");
        }
    }

    #[test]
    fn exit_codes_fit_a_byte() {
        assert_eq!(run(&["-E", "9", "job"]).unwrap().conflict_exit_code, 9);
        assert_eq!(run(&["job"]).unwrap().conflict_exit_code, 75);
        assert!(run(&["-E", "256", "job"]).is_err());
    }

    #[test]
    fn two_flags_that_exclude_each_other() {
        assert_eq!(run(&["-n", "-w", "5", "job"]).unwrap_err().kind(), ErrorKind::ArgumentConflict);
        assert_eq!(run(&["-q", "-v", "job"]).unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn help_of_each_subcommand_names_every_variable() {
        for command in grammar().get_subcommands() {
            for arg in
                command.get_arguments().filter(|arg| arg.get_long().is_some_and(|l| l != "help"))
            {
                assert!(arg.get_env().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
        }
    }

    #[test]
    fn variables_stand_in_for_flags() {
        let variables =
            [("ELECT_WAIT", "5s"), ("ELECT_BACKEND", "file:///x"), ("ELECT_VERBOSE", "yes")];
        if with_variables("variables_stand_in_for_flags", &variables) {
            let given = run(&["job"]).unwrap();
            assert_eq!(given.wait, Some(Duration::from_secs(5)));
            assert_eq!(given.campaign.backend.with_secrets(), "file:///x");
            assert!(given.log.verbose);
            assert_eq!(
                run(&["-b", "file:", "job"]).unwrap().campaign.backend.with_secrets(),
                "file:"
            );
        }
    }

    #[test]
    fn a_flag_beats_the_variable_of_its_rival() {
        let variables = [("ELECT_WAIT", "5s"), ("ELECT_QUIET", "1")];
        if with_variables("a_flag_beats_the_variable_of_its_rival", &variables) {
            let given = run(&["-n", "-v", "job"]).unwrap();
            assert!(given.no_wait && given.log.verbose && !given.log.quiet);
            assert_eq!(given.wait, None);
        }
    }

    #[test]
    fn a_variable_that_says_no_is_no_rival() {
        let variables = [("ELECT_WAIT", "5s"), ("ELECT_NO_WAIT", "0")];
        if with_variables("a_variable_that_says_no_is_no_rival", &variables) {
            assert_eq!(run(&["job"]).unwrap().wait, Some(Duration::from_secs(5)));
        }
    }

    #[test]
    fn rival_variables_are_refused() {
        let variables = [("ELECT_WAIT", "5s"), ("ELECT_NO_WAIT", "1")];
        if with_variables("rival_variables_are_refused", &variables) {
            assert!(
                run(&["job"]).unwrap_err().to_string().contains("ELECT_NO_WAIT and ELECT_WAIT")
            );
        }
    }

    #[test]
    fn a_refused_value_is_traced_to_its_variable() {
        let variables = [("ELECT_WAIT", "soon"), ("ELECT_LEFTOVER", "eat")];
        if with_variables("a_refused_value_is_traced_to_its_variable", &variables) {
            let text = |args: &[&str]| run(args).unwrap_err().to_string();
            assert!(text(&["--leftover", "kill", "job"]).contains("ELECT_WAIT is set"));
            assert!(text(&["-w", "5", "job"]).contains("ELECT_LEFTOVER is set"));
            assert!(!text(&["-w", "never", "--leftover", "kill", "job"]).contains("ELECT_"));
        }
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let variables =
            [("ELECT_WAIT", ""), ("ELECT_BACKEND", ""), ("ELECT_NO_WAIT", ""), ("ELECT_ID", "")];
        if with_variables("an_empty_variable_counts_as_unset", &variables) {
            let given = run(&["job"]).unwrap();
            assert_eq!((given.wait, given.no_wait, given.campaign.id), (None, false, None));
            assert_eq!(given.campaign.backend.with_secrets(), "file:");
        }
    }
}
