//! This file guesses the meaning of words that elect does not accept, or that it passes on to the command.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, CommandFactory};

use super::grammar::try_value;
use super::{Cli, RunArgs, parse_duration};

/// Removes suggestions of hidden subcommands.
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
        // The tip on how to pass the word as a value does not help here. If it is empty, it leaves an empty line.
        error.remove(ContextKind::Suggested);
    } else {
        error.insert(TIPS, ContextValue::Strings(tips));
    }
    error
}

/// Adds a tip to an error: that flags come after the subcommand, or the name that elect has for the words of other
/// programs.
pub(super) fn advise(words: &[OsString], mut error: clap::Error) -> clap::Error {
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand
            if let Some(tip) = words.get(1).and_then(|it| elsewhere(it)) =>
        {
            error.remove(ContextKind::SuggestedSubcommand);
            Some(tip)
        }
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            words.get(1).and_then(|word| reordered(word))
        }
        ErrorKind::MissingRequiredArgument => unnamed(words, &error),
        ErrorKind::UnknownArgument if let Some(missing) = valueless(words, &error) => {
            return missing;
        }
        ErrorKind::UnknownArgument => {
            // A person who writes an unknown flag does not mean it as a value.
            error.remove(ContextKind::Suggested);
            let given = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(given)) => given.clone(),
                _ => return error,
            };
            early_flag(words)
                .or_else(|| single_dash(words, &given))
                .or_else(|| of_another(words, &given))
                .or_else(|| misplaced(words, &given))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        // A flag that is merely spelt alike would not do what the person wants.
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the error that a flag has no value, if the unknown word stands in its place: `-e -x`.
fn valueless(words: &[OsString], error: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    // Only a built grammar names the value of a flag.
    let mut root = Cli::command();
    root.build();
    let subcommand = root.find_subcommand(words.get(1)?)?;
    let words: Vec<&str> = words.iter().map_while(|word| word.to_str()).collect();
    let at = words.iter().position(|word| word.starts_with(given.as_str()))?;
    let before = *words.get(at.checked_sub(1)?)?;
    let is_whole = |arg: &&Arg| match before.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| before == format!("-{short}")),
    };
    let mut flags = subcommand.get_arguments().filter(|arg| arg.get_action().takes_values());
    let flag = flags.find(is_whole)?;
    let mut missing = clap::Error::new(ErrorKind::InvalidValue).with_cmd(&root);
    missing.insert(ContextKind::InvalidArg, ContextValue::String(flag.to_string()));
    missing.insert(ContextKind::InvalidValue, ContextValue::String(String::new()));
    Some(missing)
}

/// Returns a tip about the name of an election that is missing.
fn unnamed(words: &[OsString], error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let name = words.get(1)?.to_str()?;
    missing.iter().any(|it| it == "<ELECTION>").then(|| {
        format!("elect status shows the names of all elections; then elect {name} ELECTION")
    })
}

/// Returns the words that print help for the subcommand in these words.
pub fn help_words(words: &[OsString]) -> String {
    let root = Cli::command();
    let (mut command, mut path) = (&root, root.get_name().to_owned());
    for word in words.iter().skip(1) {
        let Some(nested) = command.find_subcommand(word) else { break };
        (command, path) = (nested, format!("{path} {}", nested.get_name()));
    }
    path + " --help"
}

/// Returns a tip with the subcommand that has the letters of this word in another order.
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

/// Returns a tip about a flag before the subcommand, with or without a value. The tip does not repeat the value, which
/// may be a password.
fn early_flag(words: &[OsString]) -> Option<String> {
    let flag = words.get(1)?.to_str().filter(|word| word.starts_with('-'))?;
    let root = Cli::command();
    let named =
        |at: usize| words.get(at)?.to_str().filter(|name| root.find_subcommand(name).is_some());
    let flag = flag.split_once('=').map_or(flag, |(flag, _)| flag);
    let (name, value) = named(2)
        .map(|it| (it, ""))
        .or_else(|| Some((named(3)?, " ...")))
        .or_else(|| is_of_run(flag).then_some(("run", " ...")))?;
    Some(format!("flags come after the subcommand: elect {name} {flag}{value}"))
}

/// Returns a tip about a word that the subcommand does not accept.
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

/// Words that other programs use for the work of a subcommand.
const SUBCOMMANDS: [(&[&str], &str); 5] = [
    (&["version"], "the version is a flag: elect --version"),
    (&["list", "ls", "ps", "show", "leader", "who"], "elect status shows who leads and who waits"),
    (
        &["stop", "kill", "unlock", "release", "stepdown", "step-down"],
        "elect resign ELECTION makes the leader hand over, elect pause ELECTION lets nobody lead",
    ),
    (&["start", "exec", "lock", "campaign"], "elect run COMMAND runs a command while it leads"),
    (&["log", "logs", "past"], "elect history ELECTION shows who has led"),
];

/// Flags of flock and timeout, and what `elect run` has for each.
const FLAGS: [(&[&str], &str); 11] = [
    (
        &["--timeout"],
        "--max-run DUR limits how long the command runs, -w DUR how long elect waits to lead",
    ),
    (&["-c", "--command"], "name the shell: elect run -e NAME -- sh -c 'COMMAND'"),
    (&["-x", "-X", "--exclusive"], "leave it out: at most one candidate leads in any case"),
    (&["--shared"], "--slots N lets N candidates lead at a time"),
    (&["--nb", "--nonblock", "--nonblocking"], "write -n, or --no-wait"),
    (
        &["-o", "--close"],
        "leave it out: elect keeps the lease, and the command inherits nothing of it",
    ),
    (
        &["-F", "--no-fork"],
        "leave it out: elect stays beside the command, which it kills if need be",
    ),
    (
        &["--lock", "--lockfile", "--lock-file"],
        "-e NAME names the election: elect needs no lock file",
    ),
    (&["--nice"], "put nice behind elect: elect run -e NAME -- nice COMMAND"),
    (&["-u", "--unlock"], "elect resign ELECTION makes the leader hand over"),
    (&["--kill-after"], "--stop-timeout DUR is the time from TERM to KILL, also after --max-run"),
];

fn known(table: &[(&[&str], &str)], word: &str) -> Option<String> {
    let found = table.iter().find(|(words, _)| words.contains(&word));
    found.map(|(_, tip)| (*tip).to_owned())
}

/// Returns a tip about a word in place of a subcommand: another name for a subcommand, or a command to run.
fn elsewhere(word: &OsStr) -> Option<String> {
    let word = word.to_str()?;
    let is_command = word.contains('/') || word.contains('.');
    known(&SUBCOMMANDS, word)
        .or_else(|| is_command.then(|| format!("to run a command: elect run {word} ...")))
}

/// Returns what `elect run` has for a flag of another program.
fn of_another(words: &[OsString], given: &str) -> Option<String> {
    let given = given.split_once('=').map_or(given, |(flag, _)| flag);
    known(&FLAGS, given).filter(|_| words.get(1).is_some_and(|word| word == "run"))
}

/// Returns a tip about a long flag after a single dash. The parser reads only its first letter, if it knows that.
fn single_dash(words: &[OsString], given: &str) -> Option<String> {
    let root = Cli::command();
    let subcommand = root.find_subcommand(words.get(1)?)?;
    let is_long = |name: &str| subcommand.get_arguments().any(|arg| arg.get_long() == Some(name));
    let words = words.iter().filter_map(|word| word.to_str()).filter(|word| word.len() > 3);
    let mut names = words.filter(|word| word.starts_with(given)).filter_map(|word| {
        let name = word.strip_prefix('-').filter(|name| !name.starts_with('-'))?;
        Some(name.split_once('=').map_or(name, |(name, _)| name))
    });
    names.find(|name| is_long(name)).map(|name| format!("write two dashes: --{name}"))
}

fn run() -> Command {
    RunArgs::augment_args(Command::new("run"))
}

fn is_of_run(flag: &str) -> bool {
    run().get_arguments().any(|arg| is_flag(arg, flag))
}

fn is_flag(arg: &Arg, flag: &str) -> bool {
    match flag.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| {
            flag.strip_prefix('-').is_some_and(|rest| rest.starts_with(short))
        }),
    }
}

/// Long names that many programs have. elect warns of these after the command only where people watch.
const COMMON: [&str; 9] =
    ["config", "http", "id", "log-format", "profile", "quiet", "restart", "signal", "verbose"];

/// The flags of `elect run` among the arguments of a command. The command gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// The flags that hardly any other program has.
    pub of_elect: Vec<String>,
    /// The flags that many programs have.
    pub common: Vec<String>,
}

/// Finds such flags. `before` has the words before the command; after a `--` everything is as the user meant it. Single
/// letters count only `with_letters`: most commands have one, and each start would pay for the search.
pub fn strays(before: &[OsString], command: &[OsString], with_letters: bool) -> Strays {
    let mut found = Strays::default();
    let is_marked = before.last().is_some_and(|word| word == "--");
    let arguments = || command.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    let may_be = |word: &str| word.starts_with(if with_letters { "-" } else { "--" });
    if is_marked || !arguments().any(may_be) {
        return found;
    }
    let is_theirs = |word: &&str| *word != "--" && *word != "elect" && !word.ends_with("/elect");
    let words: Vec<&str> = arguments().take_while(is_theirs).collect();
    let run = run();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| may_be(word)) {
        let (flag, value) = word.split_once('=').map_or((*word, None), |(it, is)| (it, Some(is)));
        let value = value.or_else(|| words.get(at + 1).copied());
        let arg = run.get_arguments().find(|arg| is_whole_flag(arg, flag));
        let Some(arg) = arg.filter(|arg| is_taken(arg, value)) else { continue };
        let is_rare = arg.get_long().is_some_and(|long| !COMMON.contains(&long));
        let list =
            if is_rare && flag.starts_with("--") { &mut found.of_elect } else { &mut found.common };
        if !list.iter().any(|other| other == flag) {
            list.push(flag.to_owned());
        }
    }
    found
}

fn is_whole_flag(arg: &Arg, flag: &str) -> bool {
    is_flag(arg, flag) && (flag.starts_with("--") || flag.len() == 2)
}

/// Returns whether the flag would accept this value. If not, the flag belongs to another program.
fn is_taken(arg: &Arg, value: Option<&str>) -> bool {
    let is_value = |value: &str| !value.starts_with('-') && try_value(arg, value).is_ok();
    !arg.get_action().takes_values() || value.is_some_and(is_value)
}

/// Returns the flag and the duration that `-w 6 h` means, where `h` was taken for the command.
pub fn split_duration(before: &[OsString], command: &OsStr) -> Option<String> {
    let (last, rest) = before.split_last()?;
    let (last, unit) = (last.to_str()?, command.to_str()?);
    let (flag, number) = match last.split_once('=') {
        Some((flag, number)) => (flag, number),
        None if last.starts_with('-') => last.split_at_checked(2)?,
        None => (rest.last()?.to_str()?, last),
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_unit = unit.bytes().all(|byte| byte.is_ascii_alphabetic());
    let whole = format!("{number}{unit}");
    let is_meant = is_number && is_unit && flag.starts_with('-') && parse_duration(&whole).is_ok();
    is_meant.then(|| format!("{flag} {whole}"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Strays, split_duration, strays};

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect()
    }

    fn found(before: &str, command: &str) -> (String, String) {
        let Strays { of_elect, common } = strays(&words(before), &words(command), true);
        (of_elect.join(" "), common.join(" "))
    }

    #[test]
    fn flags_behind_the_command() {
        for (command, of_elect, common) in [
            ("./backup.sh 0 --max-run 2h", "--max-run", ""),
            ("./job --max-run=2h --max-run 3h -n", "--max-run", "-n"),
            ("./job --once today --wait 6h -E 0", "--once --wait", "-E"),
            ("./job --no-wait", "--no-wait", ""),
            ("aws s3 sync a b --profile backup", "", "--profile"),
            // A flag whose value elect would not take belongs to another program.
            ("helm upgrade web --wait --timeout 5m", "", ""),
            ("./job --max-run", "", ""),
            ("./job --max-run soon", "", ""),
            ("rsync -av a b", "", ""),
            ("ssh host -- ./job --max-run 2h", "", ""),
            ("sudo elect run --max-run 2h ./job", "", ""),
            ("./job", "", ""),
        ] {
            let expected = (of_elect.to_owned(), common.to_owned());
            assert_eq!(found("elect run", command), expected, "{command}");
        }
        assert_eq!(found("elect run --", "./job --max-run 2h"), (String::new(), String::new()));
    }

    #[test]
    fn durations_of_two_words() {
        let meant = |before: &str, command: &str| {
            split_duration(&words(before), OsString::from(command).as_os_str())
        };
        for (before, command, whole) in [
            ("elect run -w 6", "h", "-w 6h"),
            ("elect run --max-run 120", "min", "--max-run 120min"),
            ("elect run --wait=1.5", "hours", "--wait 1.5hours"),
            ("elect run -w6", "h", "-w 6h"),
        ] {
            assert_eq!(meant(before, command).as_deref(), Some(whole), "{before} {command}");
        }
        for (before, command) in
            [("elect run", "h"), ("elect run -w 6", "ls"), ("elect run -e x", "h"), ("", "h")]
        {
            assert_eq!(meant(before, command), None, "{before} {command}");
        }
    }
}
