//! This module has the grammar of the command line, and its help texts. It does no I/O.
//!
//! Every flag has an `ELECT_*` variable. If its subcommand reads a configuration file, the flag also has a key in it. A
//! flag beats its variable, a variable beats the file, and the file beats the default. An empty variable counts as
//! unset, but an empty variable of a limit is refused. The file only changes defaults: its reader passes the
//! [`Settings`] to [`Given::over`].

pub(crate) mod addresses;
mod data;
mod doctor;
mod given;
mod grammar;
mod groups;
mod help;
mod hints;
mod inspecting;
mod period;
mod run;
mod settings;
mod steering;
mod tools;
mod undecodable;
pub(crate) mod values;

use clap::{Parser, Subcommand};

#[cfg(feature = "selftest")]
use crate::selftest::args::{SelftestArgs, StampArgs};
#[cfg(feature = "simulate")]
use crate::simulate::args::SimulateArgs;
pub(crate) use crate::stores::BackendUrl;

pub use addresses::ListenAddress;
pub use data::{DataArgs, FenceArgs, GetArgs, PutArgs};
pub use doctor::DoctorArgs;
pub use given::{Choice, FileChoice, Given, Misfit, Origins, log_format, parse, parse_part};
pub use grammar::{grammar, keys, manual, try_value, variables};
pub use groups::{
    CampaignArgs, FileArgs, HealthArgs, HealthUrl, HookArgs, LogArgs, RestartArgs, TargetArgs,
};
pub use hints::{Strays, help_words, split_duration, strays};
pub use inspecting::{CheckArgs, DoneArgs, Goal, HistoryArgs, ObserveArgs, StatusArgs, WaitArgs};
pub use period::Period;
pub use run::{RunArgs, RunFlags, SidecarArgs};
pub use settings::{Origin, Rivals};
pub use settings::{Position, Setting, Settings, Value};
pub use steering::{AskArgs, ForgetArgs, PauseArgs, PauseEnd, Preference};
pub use steering::{PriorityArgs, ResignArgs, ResumeArgs};
pub use tools::{
    CompletionsArgs, ConfigArgs, ConfigCommand, Dashboard, DashboardArgs, HelpArgs, ManArgs,
    SetArgs, Shell, ShowArgs,
};
pub use tools::{Named, NamesArgs, RedeemArgs};
pub use values::CommandLine;
pub use values::{
    AfterLoss, Containment, ContainmentChoice, LeftoverChoice, LogFormat, OutputFormat, Restart,
    parse_duration, parse_signal,
};

/// The prefix of elect's variables.
pub const VARIABLES: &str = "ELECT_";

/// Run a command on exactly one machine at a time.
#[derive(Debug, Parser)]
#[command(name = "elect", version, about, after_long_help = include_str!("help/elect.txt"), disable_help_subcommand = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command while leading an election
    Run(Box<RunArgs>),
    /// Hold leadership for a separate application
    Sidecar(Box<SidecarArgs>),
    /// Show who leads and who waits
    Status(StatusArgs),
    /// Print a line for each change of an election
    Observe(ObserveArgs),
    /// Show past leaders and how each ended
    History(HistoryArgs),
    /// Show which keys of --once are done
    Done(DoneArgs),
    /// Wait until an election has a leader, or none
    Wait(WaitArgs),
    /// Ask the leader to hand over
    Resign(ResignArgs),
    /// Stop all candidates from leading for now
    Pause(PauseArgs),
    /// End a pause
    Resume(ResumeArgs),
    /// Set the priority of a candidate
    Priority(PriorityArgs),
    /// Remove what is kept of an election
    Forget(ForgetArgs),
    /// Tell whether this command still leads
    Check(CheckArgs),
    /// Run a command unless the leader was replaced
    Fence(FenceArgs),
    /// Store a value, as the leader
    Put(PutArgs),
    /// Print a value that a leader stored
    Get(GetArgs),
    /// Find problems with this machine and store
    Doctor(DoctorArgs),
    /// Test what elect promises on this machine and store
    #[cfg(feature = "selftest")]
    Selftest(SelftestArgs),
    /// Simulate elections, before anything is deployed
    #[cfg(feature = "simulate")]
    Simulate(Box<SimulateArgs>),
    /// Print alerts or a dashboard for the metrics
    Dashboard(DashboardArgs),
    /// Show or write the configuration
    Config(ConfigArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a page of the manual
    Man(ManArgs),
    /// Explain a subcommand or a topic, or find a word
    Help(HelpArgs),
    /// List names for a shell to complete
    #[command(hide = true)]
    Names(NamesArgs),
    /// Tell when it ran: a command of `elect selftest`
    #[cfg(feature = "selftest")]
    #[command(hide = true)]
    Stamp(StampArgs),
    /// Give up the entry of an `elect run` that crashed
    #[command(hide = true)]
    Redeem(RedeemArgs),
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;
    use std::time::Duration;

    use clap::error::ErrorKind;

    use super::{CampaignArgs, Command, RunArgs, grammar, parse};

    fn run(args: &[&str]) -> Result<RunArgs, clap::Error> {
        match parse(["elect", "run"].iter().chain(args))?.command {
            Command::Run(run) => Ok(*run),
            other => panic!("read as {other:?}"),
        }
    }

    /// Returns whether this process should run the test. If not, the test has already run in a child process with the
    /// variables set.
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
        assert!(!run(&["job", "-n"]).unwrap().flags.no_wait);
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
        assert_eq!(run(&["-E", "9", "job"]).unwrap().flags.conflict_exit_code, 9);
        assert_eq!(run(&["job"]).unwrap().flags.conflict_exit_code, 75);
        assert!(run(&["-E", "256", "job"]).is_err());
    }

    #[test]
    fn two_flags_that_exclude_each_other() {
        assert_eq!(run(&["-n", "-w", "5", "job"]).unwrap_err().kind(), ErrorKind::ArgumentConflict);
        assert_eq!(run(&["-q", "-v", "job"]).unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    /// Returns every flag of every subcommand, with the subcommand's name.
    fn flags(command: &clap::Command) -> Vec<(String, clap::Arg)> {
        let own = command
            .get_arguments()
            .filter(|arg| arg.get_long().is_some_and(|long| !["help", "version"].contains(&long)));
        let own = own.map(|arg| (command.get_name().to_owned(), arg.clone()));
        own.chain(command.get_subcommands().flat_map(flags)).collect()
    }

    #[test]
    fn every_flag_has_the_variable_of_its_name() {
        let all = flags(&grammar());
        assert!(all.len() > 20, "{}", all.len());
        for (command, arg) in all {
            let long = arg.get_long().unwrap();
            let variable = arg.get_env().and_then(std::ffi::OsStr::to_str);
            let expected = crate::config::variables::variable(long);
            assert_eq!(variable, Some(expected.as_str()), "elect {command} --{long}");
        }
    }

    #[test]
    fn every_flag_of_a_command_that_reads_the_file_is_a_key_of_it() {
        let grammar = grammar();
        let keys: Vec<_> = super::keys(&grammar).iter().filter_map(|arg| arg.get_long()).collect();
        for command in [
            "run", "doctor", "selftest", "sidecar", "status", "observe", "history", "done", "wait",
            "resign", "pause", "resume", "priority", "forget", "fence", "put", "get",
        ] {
            let command = grammar.find_subcommand(command).unwrap();
            for (_, arg) in flags(command) {
                let long = arg.get_long().unwrap();
                let is_key = !["config", "profile", "token", "until", "yes"].contains(&long);
                assert_eq!(keys.contains(&long), is_key, "{long}");
            }
        }
        assert!(!keys.contains(&"remaining") && !keys.contains(&"ticket"), "{keys:?}");
    }

    #[test]
    fn variables_stand_in_for_flags() {
        let variables =
            [("ELECT_WAIT", "5s"), ("ELECT_BACKEND", "file:///x"), ("ELECT_VERBOSE", "yes")];
        if with_variables("variables_stand_in_for_flags", &variables) {
            let given = run(&["job"]).unwrap();
            assert_eq!(given.flags.wait, Some(Duration::from_secs(5)));
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
            assert!(given.flags.no_wait && given.log.verbose && !given.log.quiet);
            assert_eq!(given.flags.wait, None);
        }
    }

    #[test]
    fn a_variable_that_says_no_is_no_rival() {
        let variables = [("ELECT_WAIT", "5s"), ("ELECT_NO_WAIT", "0")];
        if with_variables("a_variable_that_says_no_is_no_rival", &variables) {
            assert_eq!(run(&["job"]).unwrap().flags.wait, Some(Duration::from_secs(5)));
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
        let variables = [("ELECT_TTL", ""), ("ELECT_NO_WAIT", ""), ("ELECT_ID", "")];
        if with_variables("an_empty_variable_counts_as_unset", &variables) {
            let given = run(&["job"]).unwrap();
            let CampaignArgs { ttl, id, .. } = given.campaign;
            assert_eq!((ttl, given.flags.no_wait, id), (None, false, None));
        }
    }

    #[test]
    fn an_empty_variable_of_a_limit_is_refused_unless_its_flag_is_given() {
        let name = "an_empty_variable_of_a_limit_is_refused_unless_its_flag_is_given";
        if with_variables(name, &[("ELECT_ONCE", ""), ("ELECT_BACKEND", "")]) {
            let text = |args: &[&str]| run(args).unwrap_err().to_string();
            assert!(text(&["job"]).contains("ELECT_BACKEND is empty"));
            assert!(text(&["-b", "file:", "job"]).contains("ELECT_ONCE is empty"));
            assert!(run(&["-b", "file:", "--once", "x", "job"]).is_ok());
        }
    }
}
