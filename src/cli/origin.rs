use std::cmp::Ordering;
use std::fmt;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::{Position, Settings};

/// Where the value of a flag came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// The variable of this name.
    Variable(String),
    /// A configuration file.
    File {
        /// Where the value stands.
        place: Position,
        /// The profile that it belongs to, if to one.
        profile: Option<String>,
    },
    /// Nobody said anything about it.
    Default,
}

impl Origin {
    /// Whoever is nearer to the user beats who is farther away.
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

/// The layers from which one subcommand has its flags.
#[derive(Clone, Copy)]
pub(super) struct Layers<'a> {
    pub(super) command: &'a Command,
    pub(super) matches: &'a ArgMatches,
    pub(super) settings: &'a Settings,
}

/// A flag that does not count, as a rival of it comes from a nearer layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overruled {
    pub(super) flag: &'static str,
    pub(super) by: &'static str,
}

impl Layers<'_> {
    /// Where the value of the flag of this long name came from.
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

    /// Settles two flags that are both set: the nearer beats the farther one.
    ///
    /// # Errors
    /// Both come from the same place.
    pub(super) fn settle(
        &self,
        first: &'static str,
        second: &'static str,
    ) -> Result<Overruled, Box<Rivals>> {
        let (one, two) = (self.origin(first), self.origin(second));
        match one.distance().cmp(&two.distance()) {
            Ordering::Less => Ok(Overruled { flag: second, by: first }),
            Ordering::Greater => Ok(Overruled { flag: first, by: second }),
            Ordering::Equal => Err(Box::new(Rivals { first: (first, one), second: (second, two) })),
        }
    }
}

/// Two flags that exclude each other, from the same layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rivals {
    first: (&'static str, Origin),
    second: (&'static str, Origin),
}

impl Rivals {
    /// Where in a configuration file the later one stands, if there.
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
