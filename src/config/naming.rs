//! The names of elections: after a command, and in a self-test.

use std::ffi::OsStr;
use std::path::Path;

use elect_api::ElectionName;

use super::ConfigError;

/// Programs whose name does not describe the work: shells, interpreters, wrappers and remotes. A version
/// number at the end (`python3.12`) is cut off before the lookup. No such list is complete. For programs
/// that it misses, [`Candidate::is_of_another_job`](elect_api::Candidate::is_of_another_job) reports
/// different jobs in one election.
const RUNNERS: &str = include_str!("runners.txt");

/// The election of a command that was given without `-e`: the command's file name.
///
/// # Errors
/// If the file name does not describe the work, or cannot name an election.
pub(super) fn name_after(command: &OsStr) -> Result<ElectionName, ConfigError> {
    let shown = || command.to_string_lossy().into_owned();
    let name = Path::new(command)
        .file_name()
        .ok_or_else(|| ConfigError::Nameless(shown()))?
        .to_string_lossy();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if RUNNERS.lines().any(|runner| runner == name || runner == stem) {
        return Err(ConfigError::NamedAfterRunner(name.into_owned()));
    }
    name.parse().map_err(|source| ConfigError::CommandName { command: shown(), source })
}

/// The prefix of the names of all elections of a self-test.
pub const SCRATCH_PREFIX: &str = "elect-selftest-";

/// Returns whether a self-test made the election and will remove it. Such an election keeps no history.
pub(crate) fn is_scratch(election: &ElectionName) -> bool {
    election.as_str().starts_with(SCRATCH_PREFIX)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::{ConfigError, name_after};

    fn name(command: &str) -> Result<String, ConfigError> {
        name_after(OsStr::new(command)).map(String::from)
    }

    #[test]
    fn a_command_names_its_election() {
        for (command, election) in [
            ("date", "date"),
            ("./cron-job", "cron-job"),
            ("/usr/local/bin/backup.sh", "backup.sh"),
            ("7z", "7z"),
            ("bin/", "bin"),
            ("pythonista", "pythonista"),
        ] {
            assert_eq!(name(command).as_deref(), Ok(election));
        }
    }

    #[test]
    fn a_name_that_says_nothing_is_refused_with_a_hint() {
        for command in [
            "sh",
            "/bin/bash",
            "env",
            "sudo",
            "nice",
            "timeout",
            "xargs",
            "ssh",
            "docker",
            "kubectl",
            "python",
            "python3",
            "python3.12",
            "perl5.36.0",
            "ruby3.1",
            "node",
            "nodejs",
            "node-18",
            "php8",
            "java",
            "lua5.4",
            "Rscript",
            "make",
            "cronic",
            "tini",
            "s6-setuidgid",
            "systemd-cat",
            "bwrap",
            "ts-node",
            "pipenv",
            "artisan",
            "srun",
            "/usr/bin/sops",
            "elect",
            "./target/release/elect",
        ] {
            let error = name(command).unwrap_err();
            assert!(matches!(error, ConfigError::NamedAfterRunner(_)), "{command}: {error}");
            assert_eq!(error.hint().as_deref(), Some("use -e NAME"));
        }
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_a_hint() {
        let odd = OsStr::from_bytes(b"a\xff");
        for command in ["a b", "-odd", "42", "é", "", "/", "..", &"x".repeat(200)]
            .map(OsStr::new)
            .into_iter()
            .chain([odd])
        {
            let error = name_after(command).unwrap_err();
            assert!(
                matches!(error, ConfigError::CommandName { .. } | ConfigError::Nameless(_)),
                "{error}"
            );
            assert_eq!(error.hint().as_deref(), Some("use -e NAME"));
        }
    }
}
