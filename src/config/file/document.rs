//! The content of a configuration file, and its check against the grammar of the command line.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_yaml::{Error, Spanned};

use crate::cli::{self, Position, Setting};
use crate::config::ConfigError;
use crate::config::variables::nearest;

/// The key that holds the profiles. All other keys are settings.
pub(super) const PROFILES: &str = "profiles";

/// The content of a configuration file, in its order.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) entries: Vec<LocatedSetting>,
    /// The names of the profiles.
    pub(super) profiles: Vec<String>,
}

/// A setting, and the place of its key.
#[derive(Debug)]
pub(super) struct LocatedSetting {
    pub(super) key_place: Position,
    pub(super) setting: Setting,
}

impl Document {
    /// Parses the text of the file at `path`.
    ///
    /// # Errors
    /// If it is not YAML, or does not consist of settings and of profiles with settings.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let options = serde_yaml::options! {
            with_snippet: false,
            // Anchors are not needed, because the profiles share the settings above them. Without anchors a small file
            // cannot expand to a huge one.
            budget: serde_yaml::budget! { max_aliases: 0, max_anchors: 0, max_depth: 8 },
        };
        let root: Option<Root> = serde_yaml::from_str_with_options(text, options)
            .map_err(|error| ConfigError::file(&place(path, error.location()), explain(&error)))?;
        let Some(root) = root else { return Ok(Self::default()) };
        let mut document = Self::default();
        document.add(path, None, root.settings)?;
        for (name, settings) in root.profiles.0 {
            document.add(path, Some(&name.value), settings.unwrap_or_default())?;
            document.profiles.push(name.value);
        }
        Ok(document)
    }

    fn add(&mut self, path: &Path, profile: Option<&str>, pairs: Pairs) -> Result<(), ConfigError> {
        for (key, value) in pairs.0 {
            let place_of_value = place(path, Some(value.referenced));
            let Some(text) = value.value else {
                let why = format!("`{}` has no value: give it one, or remove the line", key.value);
                return Err(ConfigError::file(&place_of_value, why));
            };
            let key_place = place(path, Some(key.referenced));
            let profile = profile.map(ToOwned::to_owned);
            let setting = Setting { key: key.value, value: text, place: place_of_value, profile };
            self.entries.push(LocatedSetting { key_place, setting });
        }
        Ok(())
    }
}

fn place(path: &Path, location: Option<serde_yaml::Location>) -> Position {
    let (line, column) = location.map_or((0, 0), |found| (found.line(), found.column()));
    Position { file: path.to_owned(), line, column }
}

/// The message of the parser, with the way out if that is not obvious.
fn explain(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("a key");
            format!("`{key}` stands here twice: keep one of them")
        }
        Error::Unexpected { expected, .. } if expected.contains("string") => {
            "expected a single value, such as 15s or true, not a list or mapping".to_owned()
        }
        Error::Unexpected { .. } => {
            "expected lines like `key: value`, and below `profiles:` such lines for each profile".to_owned()
        }
        Error::MultipleDocuments { .. } => {
            "a second document begins here: remove the `---`".to_owned()
        }
        Error::Budget { .. } => {
            "anchors, aliases (& and *) and deep nesting are not supported: write what profiles share above them"
                .to_owned()
        }
        other => {
            let said = other.to_string();
            // The message names the position, which the error says already.
            let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
            format!("this is not YAML: {said}; write lines like `key: value`, and quote values with odd characters")
        }
    }
}

type Pairs = Listed<Spanned<Option<String>>>;

/// A mapping in its order, with the places of its keys.
struct Listed<T>(Vec<(Spanned<String>, T)>);

struct Root {
    settings: Pairs,
    profiles: Listed<Option<Pairs>>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(List(PhantomData))
    }
}

struct List<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Listed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lines like `key: value`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(pair) = map.next_entry()? {
            list.push(pair);
        }
        Ok(Listed(list))
    }
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Whole)
    }
}

struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Root;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings and profiles")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Root, A::Error> {
        let mut root = Root { settings: Listed::default(), profiles: Listed::default() };
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            if key.value == PROFILES {
                root.profiles = map.next_value::<Option<_>>()?.unwrap_or_default();
            } else {
                root.settings.0.push((key, map.next_value()?));
            }
        }
        Ok(root)
    }
}

/// The greatest number of characters of a key or a value in a message.
const SHOWN_MAX: usize = 64;

/// Checks a configuration file against the grammar of the command line: every key and every value of every profile. So
/// a mistake shows before the profile is used.
///
/// # Errors
/// The first mistake, with its place and the way out.
pub(super) fn check(document: &Document) -> Result<(), ConfigError> {
    if document.entries.is_empty() {
        return Ok(());
    }
    let grammar = cli::grammar();
    let flags = cli::keys(&grammar);
    for LocatedSetting { setting, key_place } in &document.entries {
        let of_this_name =
            flags.iter().filter(|flag| flag.get_long() == Some(setting.key.as_str()));
        // Flags of different subcommands may accept different values. The check for the actual subcommand comes later.
        let tried: Vec<_> = of_this_name.map(|flag| cli::try_value(flag, &setting.value)).collect();
        match tried.iter().find_map(|tried| tried.as_ref().err()) {
            _ if tried.is_empty() => {
                let known = flags.iter().filter_map(|flag| flag.get_long());
                return Err(unknown_key(key_place, &setting.key, known));
            }
            Some(why) if tried.iter().all(Result::is_err) => return Err(refused(setting, why)),
            _ => {}
        }
    }
    Ok(())
}

/// The error for a value that its flag does not accept.
pub(super) fn refused(setting: &Setting, why: &str) -> ConfigError {
    let shown = if setting.is_secret() { "this value" } else { &shown(&setting.value) };
    ConfigError::file(&setting.place, format!("{shown} does not fit `{}`: {why}", setting.key))
}

fn unknown_key<'a>(
    place: &Position,
    key: &str,
    known: impl Iterator<Item = &'a str>,
) -> ConfigError {
    let why = match key {
        "profile" | "config" => format!(
            "`{key}` has no meaning in the file itself: give --{key}, or {}",
            crate::config::variables::variable(key)
        ),
        _ => {
            let plain = key.replace('_', "-").to_lowercase();
            match nearest(&plain, known.chain([PROFILES])) {
                Some(near) => format!("there is no key {}: did you mean `{near}`?", shown(key)),
                None => format!(
                    "there is no key {}: keys are the long names of flags, as `elect run --help` lists them",
                    shown(key)
                ),
            }
        }
    };
    ConfigError::file(place, why)
}

/// The error for a chosen profile that is not in the file.
pub(super) fn no_profile(path: &Path, name: &str, profiles: &[String]) -> ConfigError {
    let file = path.display();
    let why = match nearest(name, profiles.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near:?} in {file}?"),
        None if profiles.is_empty() => {
            format!("{file} has none: write `profiles:` into it, or leave --profile away")
        }
        None => {
            format!("{file} has {}: name one of them, or leave --profile away", profiles.join(", "))
        }
    };
    ConfigError::NoProfile { name: name.to_owned(), why }
}

/// The text in quotes, cut so that the advice after it is still read.
fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return format!("{text:?}");
    }
    format!("{:?}", text.chars().take(SHOWN_MAX).chain(['…']).collect::<String>())
}
