//! Units as systemd reads them, as far as those that elect shows need it.

use super::manager::KillMode;
use crate::prelude::*;

/// The `[Service]` of a unit.
pub(super) struct UnitFile {
    settings: Vec<(String, String)>,
}

impl UnitFile {
    /// Reads a unit; `instance` is what stands behind the `@` in its name.
    #[track_caller]
    pub(super) fn read(text: &str, instance: &str) -> Self {
        let mut section = "";
        let mut settings = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                section = line;
            } else if section == "[Service]" {
                let (name, value) = line.split_once('=').expect("a setting");
                let value = value.replace("%i", instance).replace("%%", "%");
                settings.push((name.to_owned(), value));
            }
        }
        Self { settings }
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.settings.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(super) fn get(&self, name: &str) -> &str {
        self.all(name).last().unwrap_or_else(|| panic!("no {name}"))
    }

    pub(super) fn kill_mode(&self) -> KillMode {
        match self.all("KillMode").last() {
            None | Some("control-group") => KillMode::ControlGroup,
            Some("mixed") => KillMode::Mixed,
            Some("process") => KillMode::Process,
            Some(other) => panic!("KillMode={other}"),
        }
    }

    /// Returns true if an exit of the main process with this code is a success.
    pub(super) fn is_success(&self, code: i32) -> bool {
        let known = self.all("SuccessExitStatus").any(|codes| codes == code.to_string());
        code == 0 || known
    }

    /// Returns the unit's command, with the unit's environment.
    #[track_caller]
    pub(super) fn exec_start(&self) -> Elect {
        let files = self.all("EnvironmentFile").map(|path| fs::read_to_string(path).expect(path));
        let mut environment: Vec<(String, String)> = Vec::new();
        let pairs = |text: &str| -> Vec<(String, String)> {
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        environment.extend(self.all("Environment").flat_map(pairs));
        environment.extend(files.flat_map(|text| pairs(&text)));
        let value = |name: &str| {
            let found = environment.iter().rfind(|(n, _)| n == name);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        let mut words = Vec::new();
        for word in words_of(self.get("ExecStart")) {
            match word.strip_prefix('$') {
                Some(name) => words.extend(value(name).split_whitespace().map(str::to_owned)),
                None => words.push(word),
            }
        }
        let elect = Elect::new(words.remove(0)).args(words);
        environment.iter().fold(elect, |elect, (name, value)| elect.env(name, value))
    }
}

/// Words, of which those in single quotes are one.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// The folder with the units that elect shows.
pub(super) fn shown() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/systemd")
}

/// The text with the places of the example turned into those of this test.
pub(super) fn at_home(ground: &Ground, text: &str) -> String {
    let here = |path: &str| ground.path().join(path).display().to_string();
    text.replace("/usr/bin/elect", ELECT)
        .replace("/usr/bin/server", &here("server"))
        .replace("/usr/bin/nightly", &here("nightly"))
        .replace("/etc/elect", &here("etc"))
        .replace("etcd://10.0.0.1,10.0.0.2,10.0.0.3", &format!("file://{}", here("state")))
}
