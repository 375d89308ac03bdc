use std::env;
use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory};

use super::help::{self, is_settable, reads_file};
use super::{Cli, RunArgs, Settings, VARIABLES, parse_duration};

/// The whole grammar as `--help` and errors show it.
pub fn grammar() -> Command {
    help::brief(whole())
}

/// What reads these words if they are in order, the program's own name first: without all that only helps people,
/// and of `elect run` nothing but that, as every start of a job pays for it.
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

/// The whole grammar with all that there is to say about it, for `elect help` and the manual.
///
/// What people do not call is not in it.
pub fn manual() -> Command {
    without_hidden(&help::full(Cli::command()))
}

fn without_hidden(command: &Command) -> Command {
    // There is no way to take a subcommand out of a command.
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

/// The grammar with a configuration file as the defaults of each subcommand that reads one.
pub(super) fn grammar_over(words: &[OsString], settings: &Settings) -> Command {
    bare(words).mut_subcommands(|command| over(command, settings))
}

fn over(command: Command, settings: &Settings) -> Command {
    let command = command.mut_subcommands(|nested| over(nested, settings));
    if !reads_file(&command) {
        return command;
    }
    command.mut_args(|arg| match settable(&arg).and_then(|long| settings.get(long)) {
        // A process reads one file: this is as good as a constant.
        Some(setting) => arg.default_value(&*setting.value.clone().leak()),
        None => arg,
    })
}

/// Every flag that can be set in a configuration file, of every subcommand that reads one: some names
/// come more than once.
pub fn keys(grammar: &Command) -> Vec<&Arg> {
    let own = grammar.get_arguments().filter(|arg| reads_file(grammar) && is_settable(arg));
    own.chain(grammar.get_subcommands().flat_map(keys)).collect()
}

/// The variables that stand in for flags, of every subcommand: some come more than once.
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

/// Reads a value of a configuration file as its flag would.
///
/// # Errors
/// What is wrong with it, for people.
pub fn try_value(flag: &Arg, value: &str) -> Result<(), String> {
    // Only what reads the value: in a grammar of its own, relations to other flags mean nothing.
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

/// Why the parser refuses a value, without the words about the command line around it.
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

/// The subcommand that was given, however deep, and what it was given.
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

/// The ids of the flags without which more is run, elsewhere, for longer or less surely contained; or, of `check` and
/// `wait`, without which a script goes on that should not.
const LIMITS: [&str; 21] = [
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
    "stop_timeout",
    "wait",
];

/// What is wrong with an empty variable of a [limit](LIMITS) that no flag overrules: what was to fill it has failed, as
/// in `ELECT_ONCE=$(date +%F)` without `date`, and the limit would be gone without a word.
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

/// Whether somebody has set a variable of elect's to nothing.
fn has_empty_variable() -> bool {
    env::vars_os().any(|(name, value)| {
        value.is_empty() && name.as_encoded_bytes().starts_with(VARIABLES.as_bytes())
    })
}

/// An empty variable counts as unset, unless that is [refused](empty_limit); a value never shows in help, as a URL may carry a password.
fn heed_variable(arg: Arg) -> Arg {
    let arg = arg.hide_env_values(true);
    let is_empty = arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    if is_empty { arg.env(None::<&'static str>) } else { arg }
}

/// Names the variable that a refused value came from: nobody looks for it behind a flag that they
/// did not write.
pub(super) fn blame_variable(grammar: &Command, mut error: clap::Error) -> clap::Error {
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(text)) => Some(OsStr::new(text)),
        _ => None,
    };
    let flag = refused_flag(&error);
    let is_blamed = |arg: &&Arg| flag.is_some() && arg.get_long() == flag;
    let variable = all_arguments(grammar)
        .into_iter()
        .filter(is_blamed)
        .filter_map(Arg::get_env)
        .find(|name| value.is_some() && env::var_os(name).as_deref() == value);
    if let Some(name) = variable {
        let tip = format!("{} is set to this value", name.to_string_lossy());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Without suggestions of what people do not call.
pub(super) fn without_hidden_tips(mut error: clap::Error) -> clap::Error {
    const TIPS: ContextKind = ContextKind::SuggestedSubcommand;
    let tips = match error.get(TIPS) {
        Some(ContextValue::Strings(tips)) => tips.clone(),
        Some(ContextValue::String(tip)) => vec![tip.clone()],
        _ => return error,
    };
    let root = Cli::command();
    let is_hidden = |tip: &String| root.find_subcommand(tip).is_some_and(Command::is_hide_set);
    let tips: Vec<String> = tips.into_iter().filter(|tip| !is_hidden(tip)).collect();
    if tips.is_empty() {
        error.remove(TIPS);
        // How to write the same as a value says nothing here, and leaves an empty line where it is empty.
        error.remove(ContextKind::Suggested);
    } else {
        error.insert(TIPS, ContextValue::Strings(tips));
    }
    error
}

/// Says where flags go to those who write them before the subcommand, and that the version is a flag.
pub(super) fn advise(words: &[OsString], mut error: clap::Error) -> clap::Error {
    let is_version = words.get(1).is_some_and(|word| word == "version");
    if is_version && error.kind() == ErrorKind::InvalidSubcommand {
        error.remove(ContextKind::SuggestedSubcommand);
        let tip = "the version is a flag: elect --version".to_owned();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            words.get(1).and_then(|word| reordered(word))
        }
        ErrorKind::UnknownArgument => {
            // To have a flag that there is not as a value is what nobody means.
            error.remove(ContextKind::Suggested);
            let given = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(given)) => given.clone(),
                _ => return error,
            };
            early_flag(words).or_else(|| misplaced(words, &given))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The subcommand that has the letters of this word in another order.
fn reordered(word: &OsStr) -> Option<String> {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let word = sorted(word.to_str()?);
    let root = Cli::command();
    let meant =
        root.get_subcommands().find(|it| !it.is_hide_set() && sorted(it.get_name()) == word)?;
    Some(format!("a similar subcommand exists: '{}'", meant.get_name()))
}

/// A flag stands before the subcommand, with its value or without one, which is not repeated as it may hold a password.
fn early_flag(words: &[OsString]) -> Option<String> {
    let flag = words.get(1)?.to_str().filter(|word| word.starts_with('-'))?;
    let root = Cli::command();
    let named =
        |at: usize| words.get(at)?.to_str().filter(|name| root.find_subcommand(name).is_some());
    let flag = flag.split_once('=').map_or(flag, |(flag, _)| flag);
    let (name, value) = named(2).map(|it| (it, "")).or_else(|| Some((named(3)?, " ...")))?;
    Some(format!("flags come after the subcommand: elect {name} {flag}{value}"))
}

/// What a word may have meant that the subcommand does not take.
fn misplaced(words: &[OsString], given: &str) -> Option<String> {
    let root = Cli::command();
    let name = words.get(1)?.to_str()?;
    let subcommand = root.find_subcommand(name)?;
    let has = |id: &str| subcommand.get_arguments().any(|arg| arg.get_id() == id);
    let mut positionals = subcommand.get_positionals();
    let election =
        positionals.next().filter(|it| it.get_id() == "election" || it.get_id() == "elections")?;
    match given {
        "-e" | "--election" => {
            Some(format!("{name} takes the name without a flag: elect {name} NAME"))
        }
        "-n" if has("last") => Some("write --last N".to_owned()),
        _ if name == "pause" && parse_duration(given).is_ok() => {
            Some(format!("write --for {given}"))
        }
        "--all" => {
            Some(format!("{name} takes one election at a time")).filter(|_| !is_many(election))
        }
        _ if given.starts_with('-') || is_many(election) || positionals.next().is_some() => None,
        _ => Some(format!("{name} takes one election at a time")),
    }
}

fn is_many(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// The long name of the flag whose value was refused.
pub(super) fn refused_flag(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        // It reads `--wait <DUR>`.
        Some(ContextValue::String(usage)) => usage.split(' ').next()?.strip_prefix("--"),
        _ => None,
    }
}

fn all_arguments(command: &Command) -> Vec<&Arg> {
    command.get_arguments().chain(command.get_subcommands().flat_map(all_arguments)).collect()
}
