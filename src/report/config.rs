use serde::Serialize;

use super::{Table, escape};
use crate::cli::{Origin, Origins, Value};
use crate::config::{ConfigFile, Places};

/// What `elect config show` reports: the same keys in JSON and YAML. They are stable; more may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigReport {
    /// The subcommand that would use it.
    pub subcommand: String,
    /// The configuration file that counts; `null` if there is none.
    pub file: Option<String>,
    /// The profile that was chosen; `null` if none was.
    pub profile: Option<String>,
    /// The names of all profiles of the file.
    pub profiles: Vec<String>,
    /// Every flag of the subcommand.
    pub settings: Vec<SettingReport>,
    #[serde(skip)]
    places: Option<Places>,
}

/// One flag, and what it is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingReport {
    /// Its long name, which is its key in the file.
    pub key: String,
    /// What it is set to, without secrets; `null` if to nothing.
    pub value: Option<String>,
    /// `flag`, `variable`, `file` or `default`.
    pub from: &'static str,
    /// The variable, where it comes from one.
    pub variable: Option<String>,
    /// The line of the file, where it comes from there.
    pub line: Option<u64>,
    /// The profile, where it comes from one.
    pub profile: Option<String>,
    /// The flag from a nearer place that makes this one mean nothing; `null` if none does.
    pub overruled_by: Option<&'static str>,
}

impl ConfigReport {
    /// What these arguments come to, over this file, which is the first of these places that exists.
    pub fn new(origins: &Origins, file: Option<ConfigFile>, places: Option<Places>) -> Self {
        let (file, profile, profiles) = match file {
            Some(file) => (Some(file.path.display().to_string()), file.profile, file.profiles),
            None => (None, None, Vec::new()),
        };
        let settings = origins.values().into_iter().map(SettingReport::new).collect();
        let subcommand = origins.subcommand();
        Self { subcommand, file, profile, profiles, settings, places }
    }

    /// The report for people.
    pub fn table(&self) -> String {
        let mut table = Table::uncut(&["SETTING", "VALUE", "FROM"]);
        for setting in &self.settings {
            let from = match (&setting.variable, setting.line, &self.file) {
                (Some(variable), ..) => variable.clone(),
                (None, Some(line), Some(file)) => match &setting.profile {
                    Some(profile) => format!("{file}:{line} (profile {profile})"),
                    None => format!("{file}:{line}"),
                },
                _ => setting.from.to_owned(),
            };
            let overruled = setting.overruled_by.map(|by| format!(", overruled by {by}"));
            let from = from + &overruled.unwrap_or_default();
            table.row([setting.key.clone(), setting.value.clone().unwrap_or_default(), from]);
        }
        format!("{}{}", escape_line(&self.about_file()), table.render(None))
    }

    fn about_file(&self) -> String {
        let profile = self.profile.as_ref().map(|name| format!(", profile {name}"));
        match (&self.file, &self.places) {
            (Some(file), Some(places)) => {
                let alone =
                    if places.named.is_some() { "named" } else { "the first that exists, alone" };
                format!("file: {file} ({alone}){}", profile.unwrap_or_default())
            }
            (None, Some(places)) => format!("file: none, {places}"),
            _ => format!("file: none, as elect {} reads none", self.subcommand),
        }
    }
}

impl SettingReport {
    fn new(value: Value) -> Self {
        let Value { key, value, origin, overruled_by } = value;
        let (from, variable, line, profile) = match origin {
            Origin::Flag => ("flag", None, None, None),
            Origin::Variable(name) => ("variable", Some(name), None, None),
            Origin::File { place, profile } => ("file", None, Some(place.line), profile),
            Origin::Default => ("default", None, None, None),
        };
        Self { key, value, from, variable, line, profile, overruled_by }
    }
}

fn escape_line(line: &str) -> String {
    escape(line) + "\n"
}
