//! The configuration file: its place, whom it is taken from, what it may say, and what counts.

mod broken;
mod layers;
mod nesting;
mod places;
mod spelling;
mod trust;
mod writing;

use std::os::unix::fs::PermissionsExt;

use crate::prelude::*;

impl Ground {
    /// Writes a configuration file, which the words `STATE` lead to this ground's store.
    pub(crate) fn configure(&self, text: &str) -> PathBuf {
        let path = self.path().join("config.yaml");
        write(&path, &text.replace("STATE", &format!("file://{}", self.state().display())));
        path
    }
}

/// Writes a file as its owner alone may.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("below a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("our own");
}

fn elect(subcommand: &str, config: &Path) -> Elect {
    Elect::new(ELECT).arg(subcommand).arg("--config").arg(config)
}

/// Returns the output of `elect config show`, as JSON.
#[track_caller]
fn shown(elect: &Elect, words: &[&str]) -> Value {
    let ended = elect.clone().args(["config", "show", "-o", "json"]).args(words).run().exits(0);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

/// The value of one key, and where it is from.
#[track_caller]
fn value(report: &Value, key: &str) -> (String, String) {
    let all = report["settings"].as_array().expect("a list");
    let found = all.iter().find(|setting| setting["key"] == key).expect("such a key");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&found["value"]), text(&found["from"]))
}
