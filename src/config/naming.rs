//! The names of candidates: ids, labels, and the host's name.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::hash::BuildHasher;
use std::path::Path;

use elect_api::{ElectionName, text};
use nix::unistd::gethostname;

use super::ConfigError;

/// Programs whose name does not describe the work: shells, interpreters, wrappers and remotes. A version
/// number at the end (`python3.12`) is cut off before the lookup. No such list is complete. For programs
/// that it misses, [`Candidate::is_of_another_job`](elect_api::Candidate::is_of_another_job) reports
/// different jobs in one election.
const SPEECHLESS: &[&str] = &[
    "abduco",
    "ansible",
    "ant",
    "apptainer",
    "artisan",
    "asdf",
    "ash",
    "awk",
    "aws-vault",
    "bash",
    "bun",
    "bundle",
    "bunx",
    "busybox",
    "bwrap",
    "cabal",
    "capsh",
    "cargo",
    "catatonit",
    "cgexec",
    "chpst",
    "chronic",
    "chroot",
    "chrt",
    "clj",
    "clojure",
    "composer",
    "conda",
    "consul-template",
    "corepack",
    "cpulimit",
    "crictl",
    "cronic",
    "cronitor",
    "cronlock",
    "csh",
    "ctr",
    "dash",
    "dbus-launch",
    "dbus-run-session",
    "deno",
    "direnv",
    "django-admin",
    "doas",
    "docker",
    "docker-compose",
    "doppler",
    "dotenv",
    "dotenvx",
    "dotnet",
    "drush",
    "dtach",
    "dumb-init",
    "eatmydata",
    "elect",
    "elixir",
    "elvish",
    "entr",
    "env",
    "envconsul",
    "envdir",
    "envuidgid",
    "erl",
    "escript",
    "execlineb",
    "expect",
    "fakechroot",
    "fakeroot",
    "faketime",
    "firejail",
    "fish",
    "flatpak",
    "flock",
    "fnm",
    "gawk",
    "gdb",
    "gdbserver",
    "go",
    "gosu",
    "gradle",
    "gradlew",
    "groovy",
    "gsudo",
    "guile",
    "guix",
    "ionice",
    "ipython",
    "java",
    "julia",
    "jupyter",
    "just",
    "kotlin",
    "ksh",
    "kubectl",
    "lckdo",
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "ld.so",
    "linux32",
    "linux64",
    "ltrace",
    "lua",
    "luajit",
    "lxc",
    "lxc-attach",
    "machinectl",
    "make",
    "mamba",
    "manage.py",
    "mawk",
    "micromamba",
    "minijail0",
    "mise",
    "mksh",
    "mono",
    "mosh",
    "mvn",
    "mvnw",
    "nerdctl",
    "newgrp",
    "nice",
    "nix",
    "nix-shell",
    "node",
    "nodejs",
    "nodemon",
    "nohup",
    "nox",
    "npm",
    "npx",
    "nsenter",
    "nsjail",
    "numactl",
    "octave",
    "octave-cli",
    "papermill",
    "parallel",
    "pdm",
    "pdsh",
    "perf",
    "perl",
    "pgrphack",
    "php",
    "pipenv",
    "pipexec",
    "pipx",
    "pkexec",
    "pm2",
    "pnpm",
    "podman",
    "poetry",
    "powershell",
    "prlimit",
    "proxychains",
    "proxychains4",
    "pwsh",
    "pyenv",
    "pypy",
    "python",
    "R",
    "racket",
    "rails",
    "rake",
    "rbenv",
    "Rscript",
    "rsh",
    "rtx",
    "ruby",
    "run-one",
    "run-parts",
    "run-this-one",
    "run0",
    "runghc",
    "runhaskell",
    "runitor",
    "runsv",
    "runuser",
    "rvm",
    "rye",
    "s6-envdir",
    "s6-envuidgid",
    "s6-setuidgid",
    "s6-softlimit",
    "sbatch",
    "sbcl",
    "sbt",
    "scala",
    "schedtool",
    "screen",
    "script",
    "setarch",
    "setlock",
    "setpriv",
    "setsid",
    "setuidgid",
    "sg",
    "sh",
    "singularity",
    "snap",
    "softlimit",
    "sops",
    "srun",
    "ssh",
    "sshpass",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "su-exec",
    "sudo",
    "sudo-rs",
    "supervise",
    "symfony",
    "systemd-cat",
    "systemd-inhibit",
    "systemd-nspawn",
    "systemd-run",
    "taskset",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "tini",
    "tmux",
    "torsocks",
    "tox",
    "toybox",
    "trickle",
    "ts-node",
    "tsocks",
    "tsx",
    "unbuffer",
    "unshare",
    "uv",
    "uvx",
    "valgrind",
    "volta",
    "watchexec",
    "wish",
    "with-contenv",
    "wp",
    "xargs",
    "xjobs",
    "xonsh",
    "xvfb-run",
    "yarn",
    "yash",
    "zsh",
];

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
    if SPEECHLESS.contains(&name.as_ref()) || SPEECHLESS.contains(&stem) {
        return Err(ConfigError::Speechless(name.into_owned()));
    }
    name.parse().map_err(|source| ConfigError::CommandName { command: shown(), source })
}

/// The greatest length of a label, in characters.
const LABEL_MAX: usize = 64;

/// The length of a nonce. There are 32^10 nonces. Among a million candidates at once, two equal ones have
/// a probability of one in two thousand. Two equal ones with the same label are far less likely.
const NONCE_LEN: usize = 10;

/// The letters of Crockford's base 32, none of which looks like another.
const NONCE_LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of this machine, as the kernel knows it; `localhost` if it has none.
pub fn host_name() -> String {
    let name = gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.is_empty() { "localhost".to_owned() } else { text::clean(name, text::NAME) }
}

/// An id for one run: the label and a nonce, so that no two runs share an identity.
pub fn candidate_id(label: &str) -> String {
    // The standard library seeds this hash from the system's randomness. fastrand would be seeded from
    // the time since boot, which two clones of a machine can share.
    let random = RandomState::new().hash_one(label);
    let letter =
        |i| char::from(NONCE_LETTERS[usize::try_from((random >> (5 * i)) & 31).unwrap_or(0)]);
    let nonce: String = (0..NONCE_LEN).map(letter).collect();
    format!("{label}-{nonce}")
}

/// Whether people may mean the candidate with this id when they write `text`: its id, or its label.
pub fn is_known_as(id: &str, text: &str) -> bool {
    let rest = id.strip_prefix(text).map(|rest| rest.strip_prefix('-'));
    id == text || rest.flatten().is_some_and(is_nonce)
}

fn is_nonce(text: &str) -> bool {
    text.len() == NONCE_LEN && text.bytes().all(|letter| NONCE_LETTERS.contains(&letter))
}

/// The label in an id of elect's form. Any other id is its own label.
pub(crate) fn label_of(id: &str) -> &str {
    id.rsplit_once('-').filter(|(_, nonce)| is_nonce(nonce)).map_or(id, |(label, _)| label)
}

/// Checks a label that the user chose.
pub(crate) fn label(text: String) -> Result<String, ConfigError> {
    let fits = (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(is_label_char);
    if fits { Ok(text) } else { Err(ConfigError::Label(text)) }
}

/// The default label of this machine.
pub(crate) fn label_of_host(host: &str) -> String {
    host.chars().map(|c| if is_label_char(c) { c } else { '-' }).take(LABEL_MAX).collect()
}

fn is_label_char(c: char) -> bool {
    c.is_ascii_graphic() && c != '/'
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

#[cfg(test)]
mod identity_tests {
    use std::collections::HashSet;

    use super::{
        ConfigError, candidate_id, host_name, is_known_as, label, label_of, label_of_host,
    };

    #[test]
    fn labels_that_stay_one_word_everywhere() {
        for good in ["a", "web-1", "a:b@c!", &"x".repeat(64)] {
            assert_eq!(label(good.to_owned()).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", "\u{1b}[31m", &"x".repeat(65)] {
            assert_eq!(label(bad.to_owned()), Err(ConfigError::Label(bad.to_owned())));
        }
    }

    #[test]
    fn any_host_makes_a_label() {
        assert_eq!(label_of_host("web 1/ä"), "web-1--");
        assert_eq!(label_of(&candidate_id("web-1")), "web-1");
        assert_eq!(label_of("web-1"), "web-1");
        assert_eq!(label_of_host(&"x".repeat(80)).len(), 64);
        assert!(label(label_of_host(&host_name())).is_ok());
    }

    #[test]
    fn ids_differ() {
        let ids: HashSet<String> = (0..1000).map(|_| candidate_id("web")).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 14 && id.starts_with("web-")));
    }

    #[test]
    fn a_candidate_is_known_by_its_id_and_by_its_label() {
        let id = candidate_id("web-1");
        for text in [id.as_str(), "web-1"] {
            assert!(is_known_as(&id, text), "{text}");
        }
        for text in ["", "web", "web-", "web-1-", &id[..id.len() - 1]] {
            assert!(!is_known_as(&id, text), "{text}");
        }
        assert!(is_known_as("7c", "7c") && !is_known_as("web-1-me", "web-1"));
    }
}
