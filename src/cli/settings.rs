//! This file has the values of flags, and their places in a configuration file.

use std::cmp::Ordering;
use std::fmt;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{BackendUrl, HealthUrl};

/// A place in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// The line, from 1 on; 0 means the file as a whole.
    pub line: u64,
    /// The column in the line, in characters from 1 on.
    pub column: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 { write!(f, ":{}:{}", self.line, self.column) } else { Ok(()) }
    }
}

/// One value of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The long name of a flag.
    pub key: String,
    /// The value, as it is written.
    pub value: String,
    /// The place of the value.
    pub place: Position,
    /// The profile of the value; `None` if all profiles share it.
    pub profile: Option<String>,
}

/// The settings of a configuration file for one profile, or for none. Each key occurs once.
///
/// The settings are a layer of defaults. Flags and variables beat them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Returns the settings that count. If a key occurs twice, the setting of the profile wins.
    pub fn merge(all: impl IntoIterator<Item = Setting>) -> Self {
        let mut merged: Vec<Setting> = Vec::new();
        for setting in all {
            match merged.iter_mut().find(|other| other.key == setting.key) {
                Some(other) if setting.profile.is_some() => *other = setting,
                Some(_) => {}
                None => merged.push(setting),
            }
        }
        Self(merged)
    }

    /// Returns the setting for the flag of this long name.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.key == key)
    }
}

/// The value of one flag in a form for people, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The long name of the flag.
    pub key: String,
    /// The value, or the description of its default; `None` if there is neither.
    pub value: Option<String>,
    /// The origin of the value.
    pub origin: Origin,
    /// The flag from a nearer layer that makes this one meaningless.
    pub overruled_by: Option<&'static str>,
}

impl Value {
    pub(super) fn new(arg: &Arg, layers: Layers<'_>, overruled: &[Overruled]) -> Self {
        let origin = layers.origin_of(arg);
        let raw = layers.matches.get_raw(arg.get_id().as_str());
        let said = raw.and_then(|mut values| values.next()).map(|value| value.to_string_lossy());
        let value = match (&origin, arg.get_action()) {
            // A flag that is a switch has no value on the command line.
            (Origin::Flag, ArgAction::SetTrue) => Some("true".to_owned()),
            (Origin::Default, _) => said.map(Into::into).or_else(|| stated_default(arg)),
            _ => said.map(Into::into),
        };
        let url = layers.matches.try_get_one::<BackendUrl>(arg.get_id().as_str()).ok().flatten();
        let health = layers.matches.try_get_one::<HealthUrl>(arg.get_id().as_str()).ok().flatten();
        let shown = url.map(ToString::to_string).or_else(|| health.map(ToString::to_string));
        let value = match shown {
            Some(shown) => Some(shown),
            None => value.map(|value| without_secrets(&value)),
        };
        let key = arg.get_long().unwrap_or_default().to_owned();
        let overruled = overruled.iter().find(|overruled| overruled.flag == key);
        Self { key, value, origin, overruled_by: overruled.map(|overruled| overruled.by) }
    }
}

impl Setting {
    /// Returns whether the value holds a secret, which is not shown.
    pub fn is_secret(&self) -> bool {
        without_secrets(&self.value) != self.value
    }
}

fn without_secrets(value: &str) -> String {
    // A command may have a URL among its words, so a text with spaces does not count as a URL.
    let is_url = value.contains("://") && !value.contains(char::is_whitespace);
    let Ok(url) = value.parse::<BackendUrl>();
    if is_url { url.to_string() } else { value.to_owned() }
}

/// Returns the default that the help text states, for a default that only the engine knows.
fn stated_default(arg: &Arg) -> Option<String> {
    let help = arg.get_help()?.to_string();
    let (_, rest) = help.split_once("[default: ")?;
    rest.split_once(']').map(|(stated, _)| stated.to_owned())
}

/// The origin of a flag's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// The variable with this name.
    Variable(String),
    /// A configuration file.
    File {
        /// The place of the value.
        place: Position,
        /// The profile of the value, if it belongs to one.
        profile: Option<String>,
    },
    /// The default, because the value was given nowhere.
    Default,
}

impl Origin {
    /// Returns the distance of the layer. The least distance wins: a flag beats a variable, and a variable beats the
    /// file.
    const fn distance(&self) -> u8 {
        match self {
            Self::Flag => 0,
            Self::Variable(_) => 1,
            Self::File { profile: Some(_), .. } => 2,
            Self::File { profile: None, .. } => 3,
            Self::Default => 4,
        }
    }
}

/// The layers that the flags of one subcommand come from.
#[derive(Clone, Copy)]
pub(super) struct Layers<'a> {
    pub(super) command: &'a Command,
    pub(super) matches: &'a ArgMatches,
    pub(super) settings: &'a Settings,
}

/// A flag that does not count, because a rival comes from a nearer layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overruled {
    pub(super) flag: &'static str,
    pub(super) by: &'static str,
}

impl Layers<'_> {
    /// Returns the origin of the value of the flag with this long name.
    pub(super) fn origin(&self, flag: &str) -> Origin {
        let found = self.command.get_arguments().find(|arg| arg.get_long() == Some(flag));
        found.map_or(Origin::Default, |arg| self.origin_of(arg))
    }

    pub(super) fn origin_of(&self, arg: &Arg) -> Origin {
        match self.matches.value_source(arg.get_id().as_str()) {
            Some(ValueSource::CommandLine) => Origin::Flag,
            Some(ValueSource::EnvVariable) => {
                let name = arg.get_env().unwrap_or_default();
                Origin::Variable(name.to_string_lossy().into_owned())
            }
            _ => match arg.get_long().and_then(|long| self.settings.get(long)) {
                Some(setting) => {
                    Origin::File { place: setting.place.clone(), profile: setting.profile.clone() }
                }
                None => Origin::Default,
            },
        }
    }

    /// Decides between two flags that are both set: the one from the nearer layer wins. The other one is dropped by the
    /// function beside its name.
    ///
    /// # Errors
    /// If both come from the same layer.
    pub(super) fn overrule(
        &self,
        (first, drop_first): (&'static str, impl FnOnce()),
        (second, drop_second): (&'static str, impl FnOnce()),
    ) -> Result<Overruled, Box<Rivals>> {
        let (one, two) = (self.origin(first), self.origin(second));
        let (flag, by) = match one.distance().cmp(&two.distance()) {
            Ordering::Less => {
                drop_second();
                (second, first)
            }
            Ordering::Greater => {
                drop_first();
                (first, second)
            }
            Ordering::Equal => {
                return Err(Box::new(Rivals { first: (first, one), second: (second, two) }));
            }
        };
        Ok(Overruled { flag, by })
    }
}

/// Two flags from the same layer that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rivals {
    first: (&'static str, Origin),
    second: (&'static str, Origin),
}

impl Rivals {
    /// Returns the place of the later one, if they are in a configuration file.
    pub fn place(&self) -> Option<&Position> {
        let places =
            [&self.first.1, &self.second.1].into_iter().filter_map(|origin| match origin {
                Origin::File { place, .. } => Some(place),
                _ => None,
            });
        places.max_by_key(|place| place.line)
    }
}

impl fmt::Display for Rivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |(flag, origin): &(&str, Origin)| match origin {
            Origin::Variable(name) => name.clone(),
            Origin::File { place, .. } => format!("`{flag}` (line {})", place.line),
            Origin::Flag | Origin::Default => format!("--{flag}"),
        };
        write!(f, "{} and {} exclude each other", said(&self.first), said(&self.second))
    }
}
