//! What a configuration file says, held against the grammar of the command line.

use std::path::Path;

use super::document::{Document, Entry, PROFILES};
use crate::cli::{self, Position, Setting};
use crate::config::ConfigError;
use crate::config::spelling::nearest;

/// The most characters of a key or a value that are repeated.
const SHOWN_MAX: usize = 64;

/// Checks every key and every value, whatever the profile: a mistake is to show before it counts.
///
/// # Errors
/// The first mistake, with its place and the way out.
pub(super) fn check(document: &Document) -> Result<(), ConfigError> {
    if document.entries.is_empty() {
        return Ok(());
    }
    let grammar = cli::grammar();
    let flags = cli::keys(&grammar);
    for Entry { setting, key_place } in &document.entries {
        let of_this_name =
            flags.iter().filter(|flag| flag.get_long() == Some(setting.key.as_str()));
        // Subcommands may differ in what they take; this one's own say comes later.
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

/// The value of a setting that its flag does not take.
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
            crate::config::nesting::variable(key)
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

/// The profile that was chosen is not in the file.
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

/// In quotes, and so short that the way out after it is read.
fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return format!("{text:?}");
    }
    format!("{:?}", text.chars().take(SHOWN_MAX).chain(['…']).collect::<String>())
}
