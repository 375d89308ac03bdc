use std::ffi::OsStr;
use std::path::Path;

use elect_api::ElectionName;

use super::ConfigError;

/// Programs whose name says nothing about the work: shells, interpreters, wrappers and remotes.
/// Version numbers at the end (`python3.12`) are cut off before looking here.
const SPEECHLESS: &[&str] = &[
    "ash",
    "bash",
    "busybox",
    "bun",
    "bundle",
    "cargo",
    "chronic",
    "chroot",
    "chrt",
    "csh",
    "dash",
    "deno",
    "doas",
    "docker",
    "docker-compose",
    "elect",
    "env",
    "fish",
    "flock",
    "gdb",
    "go",
    "ionice",
    "java",
    "just",
    "ksh",
    "kubectl",
    "lua",
    "luajit",
    "make",
    "mksh",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "npm",
    "npx",
    "nsenter",
    "parallel",
    "perl",
    "php",
    "pnpm",
    "podman",
    "poetry",
    "pypy",
    "python",
    "rake",
    "Rscript",
    "ruby",
    "runuser",
    "script",
    "setpriv",
    "setsid",
    "sh",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tcsh",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "uv",
    "xargs",
    "yarn",
    "zsh",
];

/// The election of a command that was given without `-e`: the command's file name.
///
/// # Errors
/// The file name says nothing about the work, or is not fit to name an election.
pub(super) fn name_after(command: &OsStr) -> Result<ElectionName, ConfigError> {
    let shown = || command.to_string_lossy().into_owned();
    let name = Path::new(command)
        .file_name()
        .ok_or_else(|| ConfigError::Nameless(shown()))?
        .to_string_lossy();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if SPEECHLESS.contains(&name.as_ref()) || SPEECHLESS.contains(&stem) {
        return Err(ConfigError::Speechless(name.into_owned()));
    }
    name.parse().map_err(|source| ConfigError::CommandName { command: shown(), source })
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
            "elect",
            "./target/release/elect",
        ] {
            let error = name(command).unwrap_err();
            assert!(matches!(error, ConfigError::Speechless(_)), "{command}: {error}");
            assert_eq!(error.hint(), Some("use -e NAME"));
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
            assert_eq!(error.hint(), Some("use -e NAME"));
        }
    }
}
