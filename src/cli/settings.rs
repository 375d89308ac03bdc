use std::fmt;
use std::path::PathBuf;

/// Where in a configuration file something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: PathBuf,
    /// Its line, from 1 on; 0 is the file as a whole.
    pub line: u64,
    /// The column in it, in characters from 1 on.
    pub column: u64,
}

impl fmt::Display for Place {
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
    pub place: Place,
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
