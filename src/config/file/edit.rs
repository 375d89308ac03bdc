//! Writes settings to a configuration file, for `elect config set`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use elect_system::path::{self, Site};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::Uid;

use super::document::{self, Document, LocatedSetting, PROFILES};
use super::open::{self, Source};
use super::{ConfigFile, read_file, search_path};
use crate::cli::{BackendUrl, Choice, FileChoice, Position, Setting};
use crate::config::ConfigError;
use crate::stores;

/// The default file to change: the machine's for root, and the own file for other users.
pub fn own_file() -> PathBuf {
    let search_path = search_path(None);
    let user = search_path.user.filter(|_| !Uid::effective().is_root());
    user.unwrap_or(search_path.system)
}

/// Writes these settings to the file, which need not exist, and reads the result as later commands do. All other
/// content of the file stays as it is.
///
/// # Errors
/// If a setting or the file is wrong. Then the file stays as it was.
pub fn set(path: &Path, settings: &[(String, String)]) -> Result<ConfigFile, ConfigError> {
    // The target of a link is replaced, and not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let source = open::open(&path)?;
    let before = source.as_ref().map_or("", |source| source.text.as_str());
    let mut text = before.to_owned();
    for (key, value) in settings {
        text = with_setting(&path, &text, key, value)?;
    }
    let document = Document::parse(&path, &text)?;
    document::check(&document)?;
    for entry in document.entries.iter().filter(|entry| entry.setting.key == "backend") {
        check_store(&entry.setting)?;
    }
    let has_secret = document.entries.iter().any(|entry| entry.setting.is_secret());
    write(&path, &text, source.as_ref(), has_secret)
        .map_err(|error| ConfigError::untrusted(&path, format!("cannot be written: {error}")))?;
    let named = Choice { value: path.clone(), by_flag: true };
    let read = read_file(&FileChoice { config: Some(named), profile: None })?;
    read.ok_or_else(|| ConfigError::untrusted(&path, "is gone again: try again".to_owned()))
}

/// Checks the whole URL of a store. Sends no request.
fn check_store(setting: &Setting) -> Result<(), ConfigError> {
    let Ok(url) = setting.value.parse::<BackendUrl>();
    stores::find(&url)?;
    let refuse = |error: anyhow::Error| ConfigError::file(&setting.place, format!("{error:#}"));
    stores::connect(&url).map(drop).map_err(refuse)
}

/// The text with this setting for all profiles, which replaces an old one.
fn with_setting(path: &Path, text: &str, key: &str, value: &str) -> Result<String, ConfigError> {
    let old = Document::parse(path, text)?;
    let is_it =
        |entry: &&LocatedSetting| entry.setting.key == key && entry.setting.profile.is_none();
    let place = old.entries.iter().find(is_it).map(|entry| entry.key_place.clone());
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    let line = format!("{key}: {}", scalar(value));
    // Lines are counted from 1.
    let index = |place: &Position| usize::try_from(place.line).ok()?.checked_sub(1);
    if let Some(old) = place.as_ref().and_then(index).and_then(|index| lines.get_mut(index)) {
        *old = line;
    } else {
        let profiles = lines.iter().position(|line| line.starts_with(PROFILES));
        lines.insert(profiles.unwrap_or(lines.len()), line);
    }
    let text = lines.join("\n") + "\n";
    // If the old line held more than this setting, such as the start of a value of several lines, the user must edit
    // it.
    let new = Document::parse(path, &text).ok();
    let is_sound = new.is_some_and(|new| says(&new) == expected(&old, key, value));
    if is_sound {
        return Ok(text);
    }
    let whole = Position { file: path.to_owned(), line: 0, column: 0 };
    let why = format!("`{key}` is written in a way that elect does not change: edit the file");
    Err(ConfigError::file(place.as_ref().unwrap_or(&whole), why))
}

type Said<'a> = Vec<(Option<&'a str>, &'a str, &'a str)>;

/// The settings of a file, sorted, so that the order of its lines does not matter.
fn says(document: &Document) -> Said<'_> {
    let settings = document.entries.iter().map(|entry| &entry.setting);
    let mut said: Said =
        settings.map(|it| (it.profile.as_deref(), it.key.as_str(), it.value.as_str())).collect();
    said.sort_unstable();
    said
}

/// The settings that the file must have after the change.
fn expected<'a>(old: &'a Document, key: &'a str, value: &'a str) -> Said<'a> {
    let mut said = says(old);
    said.retain(|(profile, other, _)| profile.is_some() || *other != key);
    said.push((None, key, value));
    said.sort_unstable();
    said
}

/// The value in YAML: in quotes, unless every reader would take it as plain text.
fn scalar(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.,:@+_-".contains(&byte);
    let begins = value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let is_null = value.eq_ignore_ascii_case("null");
    if begins && !is_null && !value.ends_with(':') && value.bytes().all(is_plain) {
        return value.to_owned();
    }
    // A quoted JSON string reads the same in YAML.
    serde_json::Value::from(value).to_string()
}

fn write(path: &Path, text: &str, old: Option<&Source>, has_secret: bool) -> io::Result<()> {
    let is_closed = old.is_some_and(|old| !old.is_readable_by_all) || has_secret;
    if old.is_none() && !is_closed {
        return path::write(path, text.as_bytes());
    }
    if old.is_none() {
        path::write(path, b"")?;
    }
    let site = Site::find(path)?;
    let mut draft = site.draft()?;
    // The mode is set before the secret is written.
    let mode = if is_closed { 0o600 } else { 0o644 };
    fchmod(&draft.file, Mode::from_bits_truncate(mode))?;
    draft.file.write_all(text.as_bytes())?;
    draft.put(site.name()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, key: &str, value: &str) -> Result<String, ConfigError> {
        with_setting(Path::new("/x.yaml"), text, key, value)
    }

    #[test]
    fn a_setting_takes_the_place_of_the_old_one_and_all_else_stays() {
        for (before, key, value, after) in [
            ("", "backend", "etcd://a:1,b", "backend: etcd://a:1,b\n"),
            ("# all\nttl: 5s # short\n", "ttl", "60s", "# all\nttl: 60s\n"),
            ("ttl: 5s", "wait", "6h", "ttl: 5s\nwait: 6h\n"),
            ("\"ttl\": 5s\n", "ttl", "6s", "ttl: 6s\n"),
            (
                "ttl: 5s\nprofiles:\n  a:\n    wait: 1\n",
                "wait",
                "2",
                "ttl: 5s\nwait: 2\nprofiles:\n  a:\n    wait: 1\n",
            ),
            ("", "backend", "file:", "backend: \"file:\"\n"),
            ("", "once", "a #b\"c", "once: \"a #b\\\"c\"\n"),
            ("", "once", "null", "once: \"null\"\n"),
            ("", "once", "-", "once: \"-\"\n"),
        ] {
            assert_eq!(edited(before, key, value).as_deref(), Ok(after), "{before:?}");
        }
    }

    #[test]
    fn a_key_in_an_odd_notation_is_left_to_the_user() {
        for before in ["{ttl: 5s, wait: 3}\n", "ttl: |\n  5s\n", "ttl: >-\n  5s\nwait: 3\n"] {
            let why = edited(before, "ttl", "6s").unwrap_err().to_string();
            assert!(why.contains("edit the file"), "{before:?}: {why}");
        }
    }
}
