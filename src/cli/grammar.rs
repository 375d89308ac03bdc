use std::env;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory};

use super::help::{self, is_settable, reads_file};
use super::{Cli, RunArgs, Settings, VARIABLES};

/// Returns the whole grammar, in the form that `--help` and errors show.
pub fn grammar() -> Command {
    help::brief(whole())
}

/// Returns a grammar that is just enough to read these words, with the program's name first. It has no help texts, and
/// for `elect run` no other subcommand, because every start of a job pays for it.
pub(super) fn bare(words: &[OsString]) -> Command {
    match words {
        [_, subcommand, ..] if subcommand == "run" => {
            let run = RunArgs::augment_args(Command::new("run"));
            let run = if has_empty_variable() { heed_variables(run) } else { run };
            Command::new("elect").subcommand(run)
        }
        _ => whole(),
    }
}

fn whole() -> Command {
    heed_variables(Cli::command())
}

/// Returns the whole grammar with all of its texts, for `elect help` and the manual.
///
/// It leaves out subcommands that users do not call.
pub fn manual() -> Command {
    without_hidden(&help::full(Cli::command()))
}

fn without_hidden(command: &Command) -> Command {
    // clap cannot remove a subcommand from a command, so this builds a new command.
    let name: &str = command.get_name().to_owned().leak();
    let nested = command.get_subcommands().filter(|nested| !nested.is_hide_set());
    let version = command.get_version().map(|version| &*version.to_owned().leak());
    let mut bare = Command::new(name)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .args(command.get_arguments())
        .groups(command.get_groups())
        .subcommands(nested.map(without_hidden));
    for (text, set) in [
        (command.get_about(), Command::about as fn(Command, StyledStr) -> Command),
        (command.get_long_about(), Command::long_about),
        (command.get_overridden_usage(), Command::override_usage),
        (command.get_after_long_help(), Command::after_long_help),
    ] {
        if let Some(text) = text {
            bare = set(bare, text.clone());
        }
    }
    match version {
        Some(version) => bare.version(version),
        None => bare,
    }
}

/// Returns the grammar with the values of a configuration file as the defaults of each subcommand that reads one.
pub(super) fn grammar_over(words: &[OsString], settings: &Settings) -> Command {
    bare(words).mut_subcommands(|command| over(command, settings))
}

fn over(command: Command, settings: &Settings) -> Command {
    let command = command.mut_subcommands(|nested| over(nested, settings));
    if !reads_file(&command) {
        return command;
    }
    command.mut_args(|arg| match settable(&arg).and_then(|long| settings.get(long)) {
        // A process reads only one file, so the leaked text is as good as a constant.
        Some(setting) => arg.default_value(&*setting.value.clone().leak()),
        None => arg,
    })
}

/// Returns every flag that a configuration file can set, for all subcommands that read one. Some names occur more than
/// once.
pub fn keys(grammar: &Command) -> Vec<&Arg> {
    let own = grammar.get_arguments().filter(|arg| reads_file(grammar) && is_settable(arg));
    own.chain(grammar.get_subcommands().flat_map(keys)).collect()
}

/// Returns the variables that replace flags, for all subcommands. Some names occur more than once.
pub fn variables() -> Vec<String> {
    fn of(command: &Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(Arg::get_env);
        let own = own.map(|name| name.to_string_lossy().into_owned());
        own.chain(command.get_subcommands().flat_map(of)).collect()
    }
    of(&Cli::command())
}

fn settable(arg: &Arg) -> Option<&str> {
    arg.get_long().filter(|_| is_settable(arg))
}

/// Checks a value of a configuration file as its flag would.
///
/// # Errors
/// Returns the reason for a refusal, for people.
pub fn try_value(flag: &Arg, value: &str) -> Result<(), String> {
    // Only the parser of the value is copied. Alone in a grammar, relations to other flags mean nothing.
    let alone = Arg::new("value")
        .long("value")
        .action(flag.get_action().clone())
        .value_parser(flag.get_value_parser().clone())
        .default_value(&*value.to_owned().leak());
    let read = Command::new("elect").no_binary_name(true).arg(alone).try_get_matches_from([""; 0]);
    read.map(|_| ()).map_err(|error| match flag.get_action() {
        ArgAction::SetTrue => "write true or false".to_owned(),
        _ => refusal(&error),
    })
}

/// Returns the reason why the parser refuses a value, without the words about the command line around it.
pub(super) fn refusal(error: &clap::Error) -> String {
    if let Some(cause) = std::error::Error::source(error) {
        return cause.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) if !known.is_empty() => {
            format!("write {}", known.join(" or "))
        }
        _ => error.kind().as_str().unwrap_or("not a value that the flag takes").to_owned(),
    }
}

/// Returns the innermost subcommand that was given, and its matches.
pub(super) fn innermost<'a>(
    grammar: &'a Command,
    matches: &'a ArgMatches,
) -> (&'a Command, &'a ArgMatches) {
    let given = matches.subcommand();
    match given.and_then(|(name, inner)| Some((grammar.find_subcommand(name)?, inner))) {
        Some((command, inner)) => innermost(command, inner),
        None => (grammar, matches),
    }
}

fn heed_variables(command: Command) -> Command {
    command.mut_args(heed_variable).mut_subcommands(heed_variables)
}

/// The ids of the limiting flags. Without one of them, elect runs more, elsewhere, for longer, or with weaker
/// containment. In `check` and `wait`, a script goes on that should not.
const LIMITS: [&str; 22] = [
    "backend",
    "config",
    "containment",
    "election",
    "for",
    "grace",
    "health_cmd",
    "health_http",
    "hold",
    "lock_delay",
    "max_clock_drift",
    "max_run",
    "once",
    "once_attempts",
    "once_per",
    "priority",
    "profile",
    "remaining",
    "require_containment",
    "require_strong",
    "stop_timeout",
    "wait",
];

/// Returns the error for an empty variable of a [limit](LIMITS) that no flag overrules. The code that should fill the
/// variable has failed, as in `ELECT_ONCE=$(date +%F)` without `date`. If elect ignored the variable, the limit would
/// silently be gone.
pub(super) fn empty_limit(command: &Command, matches: &ArgMatches) -> Option<String> {
    if !has_empty_variable() {
        return None;
    }
    let ids = command.get_arguments().map(|arg| arg.get_id().as_str());
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut limits = ids.filter(|id| LIMITS.contains(id) && !given(id));
    limits.find_map(|id| {
        let name = format!("{VARIABLES}{}", id.to_uppercase());
        let is_empty = env::var_os(&name).is_some_and(|value| value.is_empty());
        let flag = id.replace('_', "-");
        is_empty.then(|| {
            format!("the variable {name} is empty: give it a value, unset it, or write --{flag}")
        })
    })
}

/// Returns whether a variable of elect is set to the empty text. Each start of a job asks twice, and pays for one look.
fn has_empty_variable() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        env::vars_os().any(|(name, value)| {
            value.is_empty() && name.as_encoded_bytes().starts_with(VARIABLES.as_bytes())
        })
    })
}

/// Makes an empty variable count as unset, unless it is [refused](empty_limit). Hides values of variables in help,
/// because a URL may carry a password. A negative number after a flag is its value, so that the flag says what it
/// takes.
fn heed_variable(arg: Arg) -> Arg {
    let has_value = arg.get_long().is_some() && arg.get_action().takes_values();
    let arg = if has_value { arg.allow_negative_numbers(true) } else { arg };
    let arg = arg.hide_env_values(true);
    let is_empty = arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    if is_empty { arg.env(None::<&'static str>) } else { arg }
}

/// Adds to the error the variable that the refused value comes from. Users would not look for it behind a flag that
/// they did not write.
pub(super) fn blame_variable(grammar: &Command, mut error: clap::Error) -> clap::Error {
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(text)) => Some(OsStr::new(text)),
        _ => None,
    };
    let flag = refused_flag(&error);
    let is_blamed = |arg: &&Arg| flag.is_some() && arg.get_long() == flag;
    let variable = all_arguments(grammar).into_iter().filter(is_blamed).find_map(|arg| {
        let name = arg.get_env().filter(|name| env::var_os(name).as_deref() == value)?;
        value.map(|_| (name, matches!(arg.get_action(), ArgAction::SetTrue)))
    });
    if let Some((name, is_switch)) = variable {
        let instead = if is_switch { ": write true or false" } else { "" };
        let tip = format!("{} is set to this value{instead}", name.to_string_lossy());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the long name of the flag whose value was refused.
pub(super) fn refused_flag(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        // The text has the form `--wait <DUR>`.
        Some(ContextValue::String(usage)) => usage.split(' ').next()?.strip_prefix("--"),
        _ => None,
    }
}

/// Returns the arguments of a command and of all its subcommands. Some names occur more than once.
pub(super) fn all_arguments(command: &Command) -> Vec<&Arg> {
    command.get_arguments().chain(command.get_subcommands().flat_map(all_arguments)).collect()
}
