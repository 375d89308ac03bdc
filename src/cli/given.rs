use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command as ClapCommand, FromArgMatches};

use super::grammar::{
    bare, blame_variable, empty_limit, grammar, grammar_over, innermost, refusal, refused_flag,
};
use super::help::is_settable;
use super::hints::{advise, without_hidden_tips};
use super::settings::Value;
use super::settings::{Layers, Overruled, Rivals};
use super::undecodable::undecodable;
use super::{BackendUrl, Cli, Command, LogFormat, Origin, Settings, VARIABLES};

/// The task of elect, and the origin of each of its values.
#[derive(Debug)]
pub struct Given {
    /// The subcommand with its arguments.
    pub command: Command,
    /// The origin of the arguments.
    pub origins: Origins,
}

/// The origin of the arguments of a subcommand.
#[derive(Clone, Debug)]
pub struct Origins {
    words: Vec<OsString>,
    extent: Extent,
    matches: &'static ArgMatches,
    settings: Settings,
    overruled: Vec<Overruled>,
}

/// The part of a command line that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    /// Required arguments may be missing, because the command is not executed.
    Part,
}

/// A choice about the configuration file, and whether a flag made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<T> {
    /// The chosen value.
    pub value: T,
    /// True if a flag says so, and not a variable that may have been set long ago.
    pub by_flag: bool,
}

/// The choice of a configuration file and of its profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChoice {
    /// The file; the first one that exists if `None`.
    pub config: Option<Choice<PathBuf>>,
    /// The profile, if one was chosen.
    pub profile: Option<Choice<String>>,
}

impl FileChoice {
    /// Returns this choice as far as flags made it, and the other choice for the rest.
    pub fn or(self, other: Self) -> Self {
        let by_flag = |choice: &Option<Choice<PathBuf>>| choice.as_ref().is_some_and(|c| c.by_flag);
        let config = if by_flag(&self.config) { self.config } else { other.config };
        let is_nearer = self.profile.as_ref().is_some_and(|profile| profile.by_flag);
        let profile = if is_nearer { self.profile } else { other.profile };
        Self { config, profile }
    }

    /// Returns the path of the file, if it was named.
    pub fn named(&self) -> Option<&Path> {
        self.config.as_ref().map(|config| config.value.as_path())
    }
}

/// A value of a configuration file that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The subcommand does not accept a value of a flag that other subcommands accept.
    Value {
        /// The flag, if it is known.
        flag: Option<String>,
        /// The reason.
        why: String,
    },
    /// Two of the values exclude each other.
    Rivals(Box<Rivals>),
}

/// Reads the arguments, with the program's name first, and the variables that replace flags.
///
/// # Errors
/// Returns an error that can print itself: for wrong usage, but also for `--help` and `--version`.
pub fn parse<I, T>(args: I) -> Result<Given, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString>,
{
    read(args.into_iter().map(Into::into).collect(), Extent::Whole)
}

/// Reads arguments that are not executed, so required ones may be missing.
///
/// # Errors
/// As for [`parse`].
pub fn parse_part<I, T>(args: I) -> Result<Given, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString>,
{
    read(args.into_iter().map(Into::into).collect(), Extent::Part)
}

fn read(words: Vec<OsString>, extent: Extent) -> Result<Given, clap::Error> {
    let mut grammar = kept(extent.of(bare(&words)));
    let matches = if let Ok(matches) = grammar.try_get_matches_from_mut(&words) {
        matches
    } else {
        grammar = kept(extent.of(self::grammar()));
        let again = grammar.try_get_matches_from_mut(&words);
        again.map_err(|error| explained(&words, grammar, error))?
    };
    let matches = kept(matches);
    let mut command = Cli::from_arg_matches_mut(kept(matches.clone()))?.command;
    let own = words.len() - command_of(&command).map_or(0, <[_]>::len);
    let (leaf, given) = innermost(grammar, matches);
    let slip = short_for_long(&words[..own], leaf).map(|slip| (ErrorKind::UnknownArgument, slip));
    let empty = || empty_limit(leaf, given).map(|why| (ErrorKind::InvalidValue, why));
    if let Some((kind, why)) = slip.or_else(empty) {
        return Err(usage_error(matches.subcommand_name(), kind, why));
    }
    let settings = Settings::default();
    let overruled = overrule(&mut command, grammar, matches, &settings).map_err(|rivals| {
        usage_error(matches.subcommand_name(), ErrorKind::ArgumentConflict, rivals)
    })?;
    Ok(Given { command, origins: Origins { words, extent, matches, settings, overruled } })
}

/// Returns the format in which elect should report an error in these words. The words decide; if they do not, the
/// variable does. This does not use the grammar, because the grammar stops at the error.
pub fn log_format(words: &[OsString]) -> LogFormat {
    let has_forms = words.get(1).is_some_and(|word| word == "run" || word == "sidecar");
    let own = words.iter().skip(2).map(|word| word.to_string_lossy());
    let own: Vec<_> = own.take_while(|word| word != "--").collect();
    let joined = own.iter().find_map(|word| word.strip_prefix("--log-format="));
    let apart = || own.windows(2).find(|pair| pair[0] == "--log-format").map(|pair| &*pair[1]);
    let said = joined.or_else(apart).map(ToOwned::to_owned);
    match said.or_else(|| std::env::var("ELECT_LOG_FORMAT").ok()).as_deref() {
        Some("json") if has_forms => LogFormat::Json,
        _ => LogFormat::Text,
    }
}

/// Leaks the grammar, which reads its words only once, or what it has read. To free it part by part would take a
/// twentieth of the time of a start.
fn kept<T>(parts: T) -> &'static mut T {
    Box::leak(Box::new(parts))
}

/// Returns the words of the command that `run` or `fence` starts.
fn command_of(command: &Command) -> Option<&[OsString]> {
    match command {
        Command::Run(run) => Some(&run.command),
        Command::Fence(fence) => Some(&fence.command),
        _ => None,
    }
}

/// Returns a hint about a long flag after a single dash. Such a flag reads as several short flags, of which the last
/// has a value.
fn short_for_long(words: &[OsString], command: &ClapCommand) -> Option<String> {
    let words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let mut slips = words.filter(|word| word.len() > 3 && !word.starts_with("--"));
    slips.find_map(|word| {
        let name = word.strip_prefix('-')?;
        let name = name.split_once('=').map_or(name, |(name, _)| name);
        let is_long = command.get_arguments().any(|arg| arg.get_long() == Some(name));
        is_long.then(|| {
            format!("-{name} is read as single letters, from -{} on: write --{name}", &name[..1])
        })
    })
}

impl Extent {
    fn of(self, grammar: ClapCommand) -> ClapCommand {
        match self {
            Self::Whole => grammar,
            Self::Part => without_requirements(grammar),
        }
    }
}

fn without_requirements(grammar: ClapCommand) -> ClapCommand {
    grammar.mut_args(|arg| arg.required(false)).mut_subcommands(without_requirements)
}

impl Given {
    /// Reads the same words with the values of a configuration file as defaults.
    ///
    /// # Errors
    /// If the subcommand does not accept a value, or if two values exclude each other.
    pub fn over(&self, settings: Settings) -> Result<Self, Misfit> {
        let Origins { words, extent, .. } = &self.origins;
        let (words, extent) = (words.clone(), *extent);
        let mut grammar = extent.of(grammar_over(&words, &settings));
        let misfit = |error: &clap::Error| Misfit::Value {
            flag: refused_flag(error).map(ToOwned::to_owned),
            why: refusal(error),
        };
        let matches = grammar.try_get_matches_from_mut(&words).map_err(|error| misfit(&error))?;
        let matches = kept(matches);
        let mut command = Cli::from_arg_matches(matches).map_err(|error| misfit(&error))?.command;
        let overruled =
            overrule(&mut command, &grammar, matches, &settings).map_err(Misfit::Rivals)?;
        Ok(Self { command, origins: Origins { words, extent, matches, settings, overruled } })
    }
}

impl Origins {
    /// Returns the choice of the configuration file; `None` if the subcommand reads none.
    pub fn file(&self) -> Option<FileChoice> {
        let matches = deepest(self.matches);
        let by_flag = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
        let config = matches.try_get_one::<PathBuf>("config").ok()?.cloned();
        let profile = matches.try_get_one::<String>("profile").ok()?.cloned();
        Some(FileChoice {
            config: config.map(|value| Choice { value, by_flag: by_flag("config") }),
            profile: profile.map(|value| Choice { value, by_flag: by_flag("profile") }),
        })
    }

    /// Returns the name of the subcommand as users type it.
    pub fn subcommand(&self) -> String {
        let mut names = Vec::new();
        let mut here = self.matches;
        while let Some((name, inner)) = here.subcommand() {
            names.push(name);
            here = inner;
        }
        names.join(" ")
    }

    /// Returns the words before these last ones. For `elect run`, these are the words before its command.
    pub fn before(&self, last: &[OsString]) -> &[OsString] {
        &self.words[..self.words.len().saturating_sub(last.len())]
    }

    /// Returns the store of the subcommand, if it has one.
    pub fn backend(&self) -> Option<&BackendUrl> {
        deepest(self.matches).try_get_one("backend").ok().flatten()
    }

    /// Returns whether a flag of the subcommand has its value from this variable, or could have.
    pub fn heeds(&self, variable: &str) -> bool {
        let flag = variable.strip_prefix(VARIABLES).map(str::to_lowercase);
        deepest(self.matches).ids().any(|id| flag.as_deref() == Some(id.as_str()))
    }

    /// Returns whether this flag, such as `--wait`, is on the command line. The subcommand must have it.
    pub fn is_on_command_line(&self, flag: &str) -> bool {
        let id = flag.trim_start_matches('-').replace('-', "_");
        deepest(self.matches).value_source(&id) == Some(ValueSource::CommandLine)
    }

    /// Returns the elections that the subcommand names.
    pub fn elections(&self) -> Vec<&str> {
        let matches = deepest(self.matches);
        let of = |id| matches.try_get_many::<String>(id).ok().flatten().into_iter().flatten();
        of("election").chain(of("elections")).map(String::as_str).collect()
    }

    /// Returns whether the subcommand uses a store that the user has not named.
    pub fn is_of_default_store(&self) -> bool {
        let source = deepest(self.matches).try_get_one::<BackendUrl>("backend").ok().flatten();
        source.is_some()
            && deepest(self.matches).value_source("backend") == Some(ValueSource::DefaultValue)
            && self.settings.get("backend").is_none()
    }

    /// Returns whether a URL with a password is on the command line, where the list of processes shows it.
    pub fn shows_password(&self) -> bool {
        let url = deepest(self.matches).try_get_one::<BackendUrl>("backend").ok().flatten();
        url.is_some_and(|url| url.without_password() != *url && self.is_on_command_line("backend"))
    }

    /// Returns the origin of the value of the flag with this long name.
    pub fn of(&self, flag: &str) -> Origin {
        let grammar = grammar();
        self.layers(&grammar).origin(flag)
    }

    /// Returns each flag of the subcommand, with its value and its origin.
    pub fn values(&self) -> Vec<Value> {
        let grammar = grammar();
        let layers = self.layers(&grammar);
        let settable = layers.command.get_arguments().filter(|arg| is_settable(arg));
        settable.map(|arg| Value::new(arg, layers, &self.overruled)).collect()
    }

    fn layers<'a>(&'a self, grammar: &'a ClapCommand) -> Layers<'a> {
        let (command, matches) = innermost(grammar, self.matches);
        Layers { command, matches, settings: &self.settings }
    }
}

fn deepest(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| deepest(inner))
}

/// Drops each flag that loses against a rival from a nearer layer.
fn overrule(
    command: &mut Command,
    grammar: &ClapCommand,
    matches: &ArgMatches,
    settings: &Settings,
) -> Result<Vec<Overruled>, Box<Rivals>> {
    let (leaf, matches) = innermost(grammar, matches);
    let layers = Layers { command: leaf, matches, settings };
    match command {
        Command::Run(run) => run.overrule(layers),
        Command::Status(status) => status.overrule(layers),
        Command::Pause(pause) => pause.overrule(layers),
        Command::Sidecar(sidecar) => Ok(sidecar.log.overrule(layers)?.into_iter().collect()),
        _ => Ok(Vec::new()),
    }
}

/// Adds to clap's error what helps a person.
fn explained(words: &[OsString], grammar: &ClapCommand, error: clap::Error) -> clap::Error {
    let undecodable = (error.kind() == ErrorKind::InvalidUtf8).then(|| undecodable(words));
    match undecodable.flatten() {
        Some(why) => usage_error(words.get(1).and_then(|it| it.to_str()), error.kind(), why),
        None => advise(words, blame_variable(grammar, without_hidden_tips(error))),
    }
}

fn usage_error(subcommand: Option<&str>, kind: ErrorKind, what: impl Display) -> clap::Error {
    let mut grammar = grammar();
    match subcommand.and_then(|name| grammar.find_subcommand_mut(name)) {
        Some(command) => command.error(kind, what),
        None => grammar.error(kind, what),
    }
}
