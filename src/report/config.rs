use serde::Serialize;

use super::{Table, escape};
use crate::cli::{Origin, Origins, Value};
use crate::config::{ConfigFile, SearchPath};

/// The report of `elect config show`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigReport {
    /// The subcommand that the settings are for.
    pub subcommand: String,
    /// The configuration file in use; `null` if there is none.
    pub file: Option<String>,
    /// The chosen profile; `null` if none was chosen.
    pub profile: Option<String>,
    /// The names of all profiles of the file.
    pub profiles: Vec<String>,
    /// Every flag of the subcommand.
    pub settings: Vec<SettingReport>,
    #[serde(skip)]
    search_path: Option<SearchPath>,
}

/// One flag and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingReport {
    /// The long name of the flag, which is also its key in the file.
    pub key: String,
    /// The value of the flag, without secrets; `null` if it has none.
    pub value: Option<String>,
    /// `flag`, `variable`, `file` or `default`.
    pub from: &'static str,
    /// The name of the environment variable, if the value comes from one.
    pub variable: Option<String>,
    /// The line in the file, if the value comes from the file.
    pub line: Option<u64>,
    /// The name of the profile, if the value comes from one.
    pub profile: Option<String>,
    /// The flag from a nearer place that makes this flag meaningless; `null` if none does.
    pub overruled_by: Option<&'static str>,
}

impl ConfigReport {
    /// Returns the report for these arguments and this configuration file. The file is the first of `search_path` that
    /// exists.
    pub fn new(
        origins: &Origins,
        file: Option<ConfigFile>,
        search_path: Option<SearchPath>,
    ) -> Self {
        let (file, profile, profiles) = match file {
            Some(file) => (Some(file.path.display().to_string()), file.profile, file.profiles),
            None => (None, None, Vec::new()),
        };
        let settings = origins.values().into_iter().map(SettingReport::new).collect();
        let subcommand = origins.subcommand();
        Self { subcommand, file, profile, profiles, settings, search_path }
    }

    /// Returns the report as a table for people.
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
        format!("{}\n{}", escape(&self.about_file()), table.render(None))
    }

    fn about_file(&self) -> String {
        let profile = self.profile.as_ref().map(|name| format!(", profile {name}"));
        match (&self.file, &self.search_path) {
            (Some(file), Some(search_path)) => {
                let alone = if search_path.named.is_some() {
                    "named"
                } else {
                    "the first that exists, alone"
                };
                format!("file: {file} ({alone}){}", profile.unwrap_or_default())
            }
            (None, Some(search_path)) => format!("file: none, {search_path}"),
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
