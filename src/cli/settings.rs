//! What a flag is set to, and where a configuration file says so.

use std::fmt;
use std::path::PathBuf;

use clap::{Arg, ArgAction};

use super::origin::{Layers, Origin, Overruled};
use super::{BackendUrl, HealthUrl};

/// Where in a configuration file something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, as it was named.
    pub file: PathBuf,
    /// Its line, from 1 on; 0 is the file as a whole.
    pub line: u64,
    /// The column in it, in characters from 1 on.
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
    /// The value as written.
    pub value: String,
    /// Where the value stands.
    pub place: Position,
    /// The profile that it belongs to; `None` for what all profiles share.
    pub profile: Option<String>,
}

/// What a configuration file says to whoever reads it with one profile, or with none: each key once.
///
/// It is a layer of defaults. Whatever is said by a flag or a variable beats it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Those settings that count: where a key stands twice, that of the profile.
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

    /// The value for the flag of this long name.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.key == key)
    }
}

/// The value of one flag, as it is shown to people: without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The long name of the flag.
    pub key: String,
    /// What it is set to, or what stands for nothing; `None` where nothing is known to stand for it.
    pub value: Option<String>,
    /// Where that came from.
    pub origin: Origin,
    /// The flag from a nearer layer that makes this one mean nothing.
    pub overruled_by: Option<&'static str>,
}

impl Value {
    pub(super) fn new(arg: &Arg, layers: Layers<'_>, overruled: &[Overruled]) -> Self {
        let origin = layers.origin_of(arg);
        let raw = layers.matches.get_raw(arg.get_id().as_str());
        let said = raw.and_then(|mut values| values.next()).map(|value| value.to_string_lossy());
        let value = match (&origin, arg.get_action()) {
            // The flag itself has no value.
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
    /// Whether the value holds a secret, which is not shown.
    pub fn is_secret(&self) -> bool {
        without_secrets(&self.value) != self.value
    }
}

fn without_secrets(value: &str) -> String {
    // A command may have a URL among its words.
    let is_url = value.contains("://") && !value.contains(char::is_whitespace);
    let Ok(url) = value.parse::<BackendUrl>();
    if is_url { url.to_string() } else { value.to_owned() }
}

/// What help says about a default that only the engine knows.
fn stated_default(arg: &Arg) -> Option<String> {
    let help = arg.get_help()?.to_string();
    let (_, rest) = help.split_once("[default: ")?;
    rest.split_once(']').map(|(stated, _)| stated.to_owned())
}
