//! This file makes the help texts of the grammar: `-h` and `--help` on one screen, `elect help` and the manual in full.

use clap::{Arg, ArgAction, Command};

/// The heading for the flags about elect itself, in subcommands with groups of flags.
pub(super) const GENERAL: &str = "General";

/// The flag that no configuration file can set.
pub(super) const TOKEN: &str = "token";

/// The id of the flag for the length of a pause: `--for`.
pub(super) const PAUSE_FOR: &str = "pause_for";

/// The flags that no configuration file can set. The choice of the file cannot be in the file. A token differs with
/// each leader, a pause ends at another time each time, and a yes must be given each time.
const NEVER_IN_THE_FILE: [&str; 6] = ["config", "profile", TOKEN, PAUSE_FOR, "until", "yes"];

/// The subcommands that brief help only names, so that it fits a screen.
const SELDOM: [&str; 13] = [
    "done",
    "check",
    "fence",
    "put",
    "get",
    "priority",
    "forget",
    "simulate",
    "dashboard",
    "config",
    "completions",
    "man",
    "help",
];

/// The longest line of help, in columns.
const WIDTH: usize = 80;

/// Gives every subcommand help that fits a screen: a line for each flag, and an example.
pub(super) fn brief(root: Command) -> Command {
    let name = root.get_name().to_owned();
    explain(root.max_term_width(WIDTH), &name, &|command, path| {
        let has_groups = has_groups(&command);
        let more = further(&command, path);
        let more = if has_groups { seldom_flags(&command) + &more } else { more };
        let examples = Text::of(&command).examples;
        let help = if examples.is_empty() { more } else { format!("{examples}\n\n{more}") };
        let command = command.mut_args(|arg| {
            let has_value = arg.get_action().takes_values();
            arg.hide_env(true).hide_possible_values(has_value)
        });
        let command = if path == name { frequent_alone(command) } else { command };
        let command = with_whole_usage(command, path);
        command.after_help(help)
    })
}

fn has_groups(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_help_heading() == Some(GENERAL))
}

/// Returns whether brief help only names this flag, as its definition says.
fn is_seldom(arg: &Arg) -> bool {
    arg.get_long().is_some() && arg.is_hide_short_help_set()
}

/// Gives a subcommand the same usage line for help and for errors. In errors, clap's own usage line shows all given
/// flags as if they were required, even those from variables.
fn with_whole_usage(command: Command, path: &str) -> Command {
    if command.get_overridden_usage().is_some() || command.has_subcommands() {
        return command;
    }
    let usage = command.clone().bin_name(path).render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    command.override_usage(usage)
}

/// Returns the lines that name the seldom flags.
fn seldom_flags(command: &Command) -> String {
    let longs: Vec<&str> =
        command.get_arguments().filter(|arg| is_seldom(arg)).filter_map(Arg::get_long).collect();
    if longs.is_empty() {
        return String::new();
    }
    let mut lines = vec!["Also:".to_owned()];
    for long in longs {
        let word = format!(" --{long},");
        match lines.last_mut() {
            Some(line) if line.len() + word.len() <= WIDTH => line.push_str(&word),
            _ => lines.push(format!("     {word}")),
        }
    }
    format!("{}.\n", lines.join("\n").trim_end_matches(','))
}

/// Hides seldom subcommands and all flags, to leave room for everyday work. Users know `-h` and `-V`, and the usage
/// line names them.
fn frequent_alone(root: Command) -> Command {
    let root = SELDOM.iter().fold(root, |root, name| root.mut_subcommand(name, |it| it.hide(true)));
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let root = root.disable_version_flag(true).arg(version.help("Print version"));
    root.mut_args(|arg| arg.hide(true)).override_usage("elect <COMMAND> | --help | --version")
}

/// Gives every subcommand its full help.
pub(super) fn full(root: Command) -> Command {
    let name = root.get_name().to_owned();
    explain(root, &name, &|command, _| {
        // The value of an environment variable may be a password.
        let command = command.mut_args(|arg| arg.hide_env_values(true));
        let Text { examples, rest } = Text::of(&command);
        let parts: Vec<_> = [rest, examples].into_iter().filter(|it| !it.is_empty()).collect();
        if parts.is_empty() { command } else { command.after_long_help(parts.join("\n\n")) }
    })
}

/// The text in a file of `help/`. Its first paragraph has the examples, which brief help shows as well.
struct Text {
    examples: String,
    rest: String,
}

impl Text {
    fn of(command: &Command) -> Self {
        let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let (examples, rest) = text.trim_end().split_once("\n\n").unwrap_or((text.trim_end(), ""));
        Self { examples: examples.to_owned(), rest: rest.to_owned() }
    }
}

/// Gives each command a help flag, and the changes that `add` makes. `add` gets the command and its name as users type
/// it.
fn explain(command: Command, path: &str, add: &impl Fn(Command, &str) -> Command) -> Command {
    let has_groups = has_groups(&command);
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let help = help.help("Print this help").help_heading(has_groups.then_some(GENERAL));
    let command = command.disable_help_flag(true).disable_help_subcommand(true).arg(help);
    let command = add(command, path);
    command.mut_subcommands(|nested| {
        let path = format!("{path} {}", nested.get_name());
        explain(nested, &path, add)
    })
}

/// Returns the last lines of brief help, which say where the rest is.
fn further(command: &Command, path: &str) -> String {
    let words = path.split_once(' ').map_or("", |(_, words)| words);
    let page = path.replace(' ', "-");
    let rest = format!("`elect help {words}`").replace(" `", "`");
    let rest = format!("{rest}, or `man {page}`, tells the rest.");
    let has_variables = command.get_arguments().any(|arg| arg.get_env().is_some());
    if words.is_empty() {
        // The text in `rest` already names these two.
        let others = SELDOM.into_iter().filter(|name| !["man", "help"].contains(name));
        let others: Vec<&str> = others.collect();
        return format!("Also: {}.\n{rest}", others.join(", "));
    }
    if !has_variables {
        return rest;
    }
    let own = command.get_arguments().filter(|arg| arg.get_env().is_some() && !is_settable(arg));
    let own = own.filter_map(Arg::get_long).filter(|long| !["config", "profile"].contains(long));
    let own: Vec<String> = own.map(|long| format!("--{long}")).collect();
    let file = match (reads_file(command), own.join(" and ")) {
        (false, _) => String::new(),
        (true, none) if none.is_empty() => {
            return format!(
                "--some-flag is also the variable ELECT_SOME_FLAG and the file's key some-flag.\n{rest}"
            );
        }
        (true, own) => format!("\nand, but for {own}, the key some-flag of the configuration file"),
    };
    format!("Each flag --some-flag is also the variable ELECT_SOME_FLAG{file}.\n{rest}")
}

/// Returns whether a subcommand takes flags from a configuration file.
pub(super) fn reads_file(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some("config"))
}

/// Returns whether a configuration file can set a flag.
pub(super) fn is_settable(arg: &Arg) -> bool {
    // The file takes `--for` of `elect wait`, but not `--for` of `elect pause`. So the id is checked as well.
    let id = arg.get_id().as_str();
    arg.get_long().is_some_and(|long| {
        !NEVER_IN_THE_FILE.contains(&long) && !NEVER_IN_THE_FILE.contains(&id) && long != "help"
    })
}
