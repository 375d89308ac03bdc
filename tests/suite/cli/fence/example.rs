//! An example of the manual: a script, and the commands that are typed beside it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use elect_testkit::program::Elect;

use crate::cli::manual;

/// A section's script, as it is written, in a folder.
pub(super) struct Example {
    section: &'static str,
    script: PathBuf,
    environment: Vec<(&'static str, OsString)>,
}

impl Example {
    /// Puts the section's first block of this language there, with a folder of programs.
    pub(super) fn new(section: &'static str, language: &str, script: PathBuf) -> Self {
        fs::write(&script, manual::block("fencing", section, language)).expect("a file");
        fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("our own");
        let bin = script.with_file_name("bin");
        fs::create_dir(&bin).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_elect"), bin.join("elect")).expect("a link");
        let mut example = Self { section, script, environment: Vec::new() };
        example.set("PATH", std::env::var_os("PATH").unwrap_or_default());
        example.search(&bin);
        example
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.environment.retain(|(other, _)| *other != name);
        self.environment.push((name, value.into()));
    }

    /// Has programs be looked for in this folder first.
    pub(super) fn search(&mut self, folder: &Path) {
        let path = self.environment.iter().find(|(name, _)| *name == "PATH");
        let folders = std::env::split_paths(path.map_or("".as_ref(), |(_, path)| path.as_os_str()));
        let folders: Vec<PathBuf> = [folder.to_owned()].into_iter().chain(folders).collect();
        self.set("PATH", std::env::join_paths(folders).expect("a path"));
    }

    /// Returns the path of the script.
    pub(super) fn script(&self) -> &Path {
        &self.script
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        self.script.parent().expect("a folder")
    }

    /// In the environment of all this.
    pub(super) fn around(&self, program: Elect) -> Elect {
        let variables = self.environment.iter();
        variables.fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The script, called with a token.
    pub(super) fn call(&self, token: usize) -> Elect {
        self.around(Elect::new(&self.script)).env("ELECT_TOKEN", token.to_string())
    }

    /// Types what the section has people type: they see what it shows.
    pub(super) fn does_as_shown(&self) {
        let block = manual::block("fencing", self.section, "console");
        let script = format!("cd \"$D\"; exec 2>&1; {}", manual::commands(&block));
        let state = format!("file://{}", self.folder().join("state").display());
        let bash = self.around(Elect::new("bash")).args(["-c", &script]);
        let seen = bash.env("ELECT_BACKEND", state).env("D", self.folder()).run().stdout;
        let shown = block.lines().filter(|line| !line.starts_with("$ "));
        let shown: String = shown.flat_map(|line| [line, "\n"]).collect();
        assert_eq!(without_tokens(&seen), without_tokens(&shown));
    }
}

/// With the same in the place of each token that an election has given.
fn without_tokens(text: &str) -> String {
    let is_token = |word: &str| word.len() > 9 && word.bytes().all(|byte| byte.is_ascii_digit());
    let words = text.split_inclusive([' ', '\n']);
    words.map(|word| if is_token(word.trim_end()) { "TOKEN " } else { word }).collect()
}
