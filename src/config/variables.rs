//! The environment variables of elect. Decides which of them count for an `elect` inside the command of another one,
//! and finds misspelt ones.

use std::env;
use std::ffi::OsStr;

use crate::cli::{self, Origins, VARIABLES};
use crate::guard::{self, HANDOFF};

/// Tells a command the fencing token of its leadership. The guardian sets it, because the token is known only after the
/// win.
pub const TOKEN: &str = guard::TOKEN.name;
/// The slot of the leadership, if the election has slots.
pub const SLOT: &str = guard::SLOT.name;
/// The shard of the leadership, if the election has shards.
pub const SHARD: &str = "ELECT_SHARD";
/// Tells a command the path that `elect check` reads.
pub const LEASE: &str = guard::LEASE.name;
/// The id of the leader.
pub const LEADER_ID: &str = "ELECT_LEADER_ID";
/// The address on which `--http` listens.
pub const HTTP_ADDRESS: &str = "ELECT_HTTP_ADDRESS";

/// The variable of `--backend`.
pub const BACKEND: &str = "ELECT_BACKEND";
/// The variable of `--election`.
pub const ELECTION: &str = "ELECT_ELECTION";
/// Tells `elect redeem` which entry to give up.
pub const TICKET: &str = "ELECT_TICKET";

/// Tells a hook of `--on-lost` how the command ended, as a shell shows it.
pub const EXIT_CODE: &str = "ELECT_EXIT_CODE";

/// Tells a command the election in which its `elect run` leads.
pub const LEADER_ELECTION: &str = guard::PART.name;

/// Tells a command the store of that election: see [`crate::cli::BackendUrl::for_other_users`].
pub const LEADER_BACKEND: &str = "ELECT_LEADER_BACKEND";

/// The flags that belong to one run. An `elect` inside its command inherits neither their variables nor their keys.
/// Otherwise it would take part in its parent's election, overwrite its parent's outcome or lease, or take its parent's
/// work for its own. It would also run its parent's hooks and health checks, restart for ever like its parent, take its
/// parent's port, or label its parent's pod.
pub const OF_ONE_RUN: [&str; 17] = [
    "election",
    "health-cmd",
    "health-http",
    "http",
    "id",
    "lease-file",
    "on-change",
    "on-elected",
    "on-lost",
    "once",
    "once-per",
    "once-attempts",
    "outcome",
    "pod-label",
    "restart",
    "shards",
    "slots",
];

/// The variable of the flag with this long name.
pub fn variable(flag: &str) -> String {
    format!("{VARIABLES}{}", flag.replace('-', "_").to_uppercase())
}

/// Whether this is the variable of one of the flags that [belong to one run](OF_ONE_RUN).
pub fn is_of_one_run(name: &OsStr) -> bool {
    let letter = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_uppercase() };
    name.as_encoded_bytes().strip_prefix(VARIABLES.as_bytes()).is_some_and(|tail| {
        OF_ONE_RUN.iter().any(|flag| flag.bytes().map(letter).eq(tail.iter().copied()))
    })
}

/// Whether this process runs inside the command of an `elect run`.
pub(super) fn is_nested() -> bool {
    env::var_os(LEADER_ELECTION).is_some_and(|election| !election.is_empty())
}

/// The likeness from which one name may be meant by another; 1 is equal.
const ALIKE: f64 = 0.7;

/// The likeness for variables. It is greater, because other programs may choose any names.
const VERY_ALIKE: f64 = 0.85;

/// Variables without a flag: those that a command finds in its environment, and those that complete a URL.
const WITHOUT_FLAG: [&str; 13] = [
    TOKEN,
    EXIT_CODE,
    SLOT,
    SHARD,
    LEADER_ID,
    LEASE,
    HTTP_ADDRESS,
    "ELECT_USER",
    "ELECT_PASSWORD",
    "ELECT_PASSWORD_FILE",
    LEADER_ELECTION,
    LEADER_BACKEND,
    HANDOFF,
];

/// The known name that is most like this unknown one, if any is like it.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(ALIKE, name, known)
}

fn nearest_of<'a>(alike: f64, name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|other| (strsim::jaro(name, other), other))
        .filter(|(likeness, _)| *likeness >= alike)
        .max_by(|one, two| one.0.total_cmp(&two.0))
        .map(|(_, near)| near)
}

/// The names of elections that may be meant by this one, the nearest first, and at most `most`.
pub(crate) fn nearest_names<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    let alike = known.map(|other| (strsim::jaro(name, other), other));
    let mut alike: Vec<_> = alike.filter(|(likeness, _)| *likeness >= ALIKE).collect();
    alike.sort_by(|one, other| other.0.total_cmp(&one.0));
    alike.into_iter().take(most).map(|(_, name)| name.to_owned()).collect()
}

/// A warning for each variable that is nearly one of elect's. A misspelt variable may leave the user with the default
/// store, where a second candidate would lead.
pub fn misspelt_variables(origins: &Origins) -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown: Vec<String> = names
        .filter(|name| name.starts_with(VARIABLES))
        .filter(|name| !WITHOUT_FLAG.contains(&name.as_str()) && !origins.heeds(name))
        .collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    // Other subcommands have more variables.
    let known = cli::variables();
    let unknown_names = unknown.iter().filter(|name| !known.contains(name));
    unknown_names.filter_map(|name| complaint(name, &known)).collect()
}

fn complaint(name: &str, known: &[String]) -> Option<String> {
    let tail = |name: &'_ str| name.strip_prefix(VARIABLES).unwrap_or(name).to_owned();
    let tails: Vec<String> =
        known.iter().map(String::as_str).chain(WITHOUT_FLAG).map(tail).collect();
    let near = nearest_of(VERY_ALIKE, &tail(name), tails.iter().map(String::as_str))?;
    Some(format!("the variable {name} means nothing to elect: did you mean {VARIABLES}{near}?"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{OF_ONE_RUN, complaint, is_of_one_run, nearest_names, variable};

    #[test]
    fn flags_of_one_run_are_known_by_their_variables() {
        for flag in OF_ONE_RUN {
            let name = variable(flag);
            assert!(is_of_one_run(OsStr::new(&name)), "{name}");
        }
        for name in ["", "ELECT_", "ELECT_BACKEND", "ELECT_ONCE_", "ELECT_lease-file", "ONCE"] {
            assert!(!is_of_one_run(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn names_that_are_alike_are_told_the_nearest_first() {
        let known = ["nightly", "web", "nightly2", "night"];
        let nearest = |name, most| nearest_names(name, known.into_iter(), most);
        assert_eq!(nearest("nigthly", 2), ["nightly", "nightly2"]);
        assert!(nearest("backup", 3).is_empty());
    }

    #[test]
    fn only_near_misses_are_complained_of() {
        let known = ["ELECT_BACKEND", "ELECT_ELECTION", "ELECT_TTL"].map(String::from);
        for (name, meant) in [
            ("ELECT_BACKND", "ELECT_BACKEND"),
            ("ELECT_ELECTIONS", "ELECT_ELECTION"),
            ("ELECT_PASWORD", "ELECT_PASSWORD"),
        ] {
            let said = complaint(name, &known).expect("a complaint");
            assert!(said.ends_with(&format!("{meant}?")), "{said}");
        }
        for name in [
            "ELECT_",
            "ELECT_TEST_ETCD",
            "ELECT_DEEP_RUNS",
            // Variables that Kubernetes sets for a service with the name elect.
            "ELECT_PORT",
            "ELECT_PORT_8080_TCP_ADDR",
            "ELECT_SERVICE_HOST",
            "ELECT_SERVICE_PORT_HTTP",
        ] {
            assert_eq!(complaint(name, &known), None, "{name}");
        }
    }
}
