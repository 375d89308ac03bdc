//! Checks whether programs exist and can be executed. Also suggests what the user meant if the command
//! cannot be executed.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};

use super::{ConfigError, HealthPlan, HookPlan, RunPlan};
use crate::cli::{parse_duration, split_duration};

/// The search path if `PATH` is not set, as in the C library.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Checks that the program of each given flag exists.
///
/// # Errors
/// [`ConfigError::NoProgram`].
pub(super) fn find_programs(
    health: Option<&HealthPlan>,
    hooks: &HookPlan,
) -> Result<(), ConfigError> {
    let given = [
        ("--health-cmd", health.and_then(|health| health.command.as_ref())),
        ("--on-elected", hooks.elected.as_ref()),
        ("--on-lost", hooks.lost.as_ref()),
        ("--on-change", hooks.change.as_ref()),
    ];
    for (flag, command) in given {
        let program = command.and_then(|command| command.words().first());
        if let Some(program) = program.filter(|program| !is_program(program)) {
            let program = program.to_string_lossy().into_owned();
            return Err(ConfigError::NoProgram { flag, program });
        }
    }
    Ok(())
}

/// Whether a file of this name exists, by its path or in a folder of `PATH`.
fn is_program(name: &OsStr) -> bool {
    let has_path = has_path(name);
    program_paths(name).iter().any(|path| if has_path { path.exists() } else { path.is_file() })
}

fn has_path(name: &OsStr) -> bool {
    name.as_encoded_bytes().contains(&b'/')
}

/// The paths of a program, in the order in which an execution tries them.
fn program_paths(name: &OsStr) -> Vec<PathBuf> {
    if has_path(name) {
        return vec![name.into()];
    }
    if name.is_empty() {
        return Vec::new();
    }
    let search = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    env::split_paths(&search).map(|folder| folder.join(name)).collect()
}

/// The reason why the execution of this program would fail, as far as it shows before the attempt.
fn obstacle(name: &OsStr) -> Option<Errno> {
    let mut why = Errno::ENOENT;
    for path in program_paths(name) {
        match faccessat(AT_FDCWD, &path, AccessFlags::X_OK, AtFlags::AT_EACCESS) {
            Ok(()) if !path.is_dir() => return None,
            Ok(()) | Err(Errno::EACCES) => why = Errno::EACCES,
            Err(Errno::ENOENT | Errno::ENOTDIR) => {}
            // The execution itself reports a more exact error.
            Err(_) => return None,
        }
    }
    Some(why)
}

impl RunPlan {
    /// Checks that the programs of its hooks and health checks exist.
    ///
    /// # Errors
    /// [`ConfigError::NoProgram`].
    pub fn find_programs(&self) -> Result<(), ConfigError> {
        find_programs(self.health.as_ref(), &self.campaign.hooks)
    }

    /// The errno with which the execution of the command would fail: it does not exist, or is not
    /// executable. `None` if no obstacle shows.
    pub fn obstacle(&self) -> Option<i32> {
        obstacle(self.command.first()?).map(|errno| errno as i32)
    }

    /// The program of the command, for messages. A word like `PASSWORD=secret` in its place is shown
    /// without the value.
    pub fn shown_program(&self) -> String {
        let program = self.campaign.candidate.command.as_str();
        match self.command.first().and_then(|word| variable(word)) {
            Some(name) => format!("{name}=..."),
            None => program.to_owned(),
        }
    }

    /// A hint about what the user may have meant, if the command cannot be executed.
    pub fn meant(&self) -> Option<String> {
        let (program, next) = (self.command.first()?, self.command.get(1));
        if let Some(name) = variable(program) {
            return Some(format!("write a variable before elect: {name}=... elect run COMMAND"));
        }
        if let Some(whole) = split_duration(&self.before, program) {
            return Some(format!("write the duration as one word: {whole}"));
        }
        if program.is_empty() {
            return Some(
                "the command is an empty word: is it a variable that is not set?".to_owned(),
            );
        }
        let Some(next) = next else { return quoted(program) };
        let is_shell = next == "-c" || next == "--command";
        let is_command = is_shell || has_path(next) || is_program(next);
        match program.to_string_lossy() {
            limit if is_command && (parse_duration(&limit).is_ok()) => Some(format!(
                "to limit how long the command runs: --max-run {limit}; how long elect waits: -w {limit}"
            )),
            path if is_command && self.named_after_command && is_lock_file(&path) => {
                let command = if is_shell { "sh -c ...".into() } else { next.to_string_lossy() };
                let name = &self.campaign.election;
                Some(format!(
                    "elect needs no lock file, as flock does: elect run -e {name} -- {command}"
                ))
            }
            name if is_command && self.named_after_command && !has_path(program) => {
                let next = next.to_string_lossy();
                Some(format!("to name the election: elect run -e {name} {next} ..."))
            }
            _ => None,
        }
    }
}

/// A hint for a shell line in quotes in the place of a command.
fn quoted(program: &OsStr) -> Option<String> {
    let line = program.to_str()?;
    let first = line.split_ascii_whitespace().next().filter(|first| *first != line)?;
    is_program(OsStr::new(first)).then(|| {
        "this is one word with spaces: leave out the quotes, or write sh -c before it".to_owned()
    })
}

/// Whether this may be the lock file of a `flock` call.
fn is_lock_file(path: &str) -> bool {
    path.starts_with('/') || [".lock", ".lck", ".pid"].iter().any(|end| path.ends_with(end))
}

/// The variable that a shell would set by this word.
fn variable(word: &OsStr) -> Option<&str> {
    let (name, _) = word.to_str()?.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_variable = name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit());
    (is_variable && !name.is_empty()).then_some(name)
}
