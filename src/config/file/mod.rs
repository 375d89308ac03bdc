//! The configuration file: finds the one that counts, checks whether it can be trusted, and reads it.

mod document;
mod edit;
mod open;

use std::path::PathBuf;

use self::document::Document;
pub use self::edit::{own_file, set as set_in_file};
pub use self::open::NO_FILE;
pub use self::open::{SearchPath, search_path};
use super::{ConfigError, variables};
use crate::cli::{FileChoice, Given, Misfit, Position, Setting, Settings};
use crate::stores::{BackendUrl, hide_password};

/// A configuration file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its path.
    pub path: PathBuf,
    /// The chosen profile, if there is one.
    pub profile: Option<String>,
    /// The settings that apply with this profile.
    pub settings: Settings,
    /// The names of its profiles, in the order of the file.
    pub profiles: Vec<String>,
    /// Warnings for the owner of the file.
    pub warnings: Vec<String>,
}

/// The command line combined with the configuration file that counts for it; `None` if there is no
/// such file.
///
/// # Errors
/// If the file is missing although it was named, cannot be trusted, or has content that elect does not
/// understand.
pub fn over_file(given: &Given) -> Result<Option<(Given, ConfigFile)>, ConfigError> {
    given.origins.file().map_or(Ok(None), |choice| over_chosen(given, &choice))
}

/// The same with a file that the caller has chosen.
///
/// # Errors
/// As [`over_file`].
pub fn over_chosen(
    given: &Given,
    choice: &FileChoice,
) -> Result<Option<(Given, ConfigFile)>, ConfigError> {
    let Some(file) = read_file(choice)? else { return Ok(None) };
    let whole = Position { file: file.path.clone(), line: 0, column: 0 };
    let over = given.over(file.settings.clone()).map_err(|misfit| match misfit {
        Misfit::Rivals(rivals) => {
            let why = format!("{rivals}: keep one of them");
            ConfigError::file(rivals.place().unwrap_or(&whole), why)
        }
        Misfit::Value { flag, why } => match flag.and_then(|flag| file.settings.get(&flag)) {
            Some(setting) => document::refused(setting, &why),
            None => ConfigError::file(&whole, why),
        },
    })?;
    Ok(Some((over, file)))
}

/// Parses this text as a configuration file at `path`, and checks it against the grammar.
///
/// # Errors
/// The first mistake, with its place and the way out.
#[cfg(feature = "fuzzing")]
pub fn check_text(path: &std::path::Path, text: &str) -> Result<(), ConfigError> {
    document::check(&Document::parse(path, text)?)
}

/// Reads the configuration file that counts; `None` if there is none.
///
/// # Errors
/// As [`over_file`].
pub fn read_file(choice: &FileChoice) -> Result<Option<ConfigFile>, ConfigError> {
    let profile = choice.profile.as_ref().map(|profile| profile.value.as_str());
    let search_path = search_path(choice.named());
    let Some(source) = open::first(&search_path)? else {
        return match profile {
            Some(name) => Err(ConfigError::NoProfile {
                name: name.to_owned(),
                why: format!(
                    "there is no configuration file, {search_path}; write one, or leave --profile away"
                ),
            }),
            None => Ok(None),
        };
    };
    let document = Document::parse(&source.path, &source.text)?;
    document::check(&document)?;
    let Document { entries, profiles } = document;
    let all: Vec<Setting> = entries.into_iter().map(|entry| entry.setting).collect();
    if let Some(name) = profile
        && !profiles.iter().any(|known| known == name)
    {
        return Err(document::no_profile(&source.path, name, &profiles));
    }
    let mut warnings = Vec::new();
    if source.is_readable_by_all
        && let Some(setting) = all.iter().find(|setting| setting.is_secret())
    {
        let (place, key) = (&setting.place, &setting.key);
        let Ok(url) = setting.value.parse::<BackendUrl>();
        let way_out = hide_password(&url, "chmod o-r it");
        warnings.push(format!(
            "{place}: `{key}` has a secret in it, and everybody can read the file: {way_out}"
        ));
    }
    let is_nested = variables::is_nested();
    let counts = all.into_iter().filter(|setting| {
        let is_chosen = setting.profile.is_none() || setting.profile.as_deref() == profile;
        // A user that names the file or the profile in this very call means all of its settings.
        let is_meant = choice.config.as_ref().is_some_and(|config| config.by_flag)
            || (setting.profile.is_some()
                && choice.profile.as_ref().is_some_and(|profile| profile.by_flag));
        let is_inherited =
            is_nested && !is_meant && variables::OF_ONE_RUN.contains(&setting.key.as_str());
        is_chosen && !is_inherited
    });
    let settings = Settings::merge(counts);
    let profile = profile.map(ToOwned::to_owned);
    Ok(Some(ConfigFile { path: source.path, profile, settings, profiles, warnings }))
}
