//! The variables of elect: which of them count for an `elect` inside another one's command, and which are misspelt.

use std::env;
use std::ffi::OsStr;

use crate::cli::{self, Origins, VARIABLES};
use crate::guard::HANDOFF;

/// What tells a command the fencing token of its leadership. The guardian sets it, as it is known when the lease is won.
pub const TOKEN: &str = "ELECT_TOKEN";
/// In which slot it leads, if the election has any.
pub const SLOT: &str = "ELECT_SLOT";
/// In which shard.
pub const SHARD: &str = "ELECT_SHARD";
/// Who leads, by id.
pub const LEADER_ID: &str = "ELECT_LEADER_ID";
/// Where `--http` listens.
pub const HTTP_ADDRESS: &str = "ELECT_HTTP_ADDRESS";

/// What tells a hook of `--on-lost` how the command ended, as a shell shows it.
pub const EXIT_CODE: &str = "ELECT_EXIT_CODE";

/// What tells a command who leads.
pub const LEADER_ELECTION: &str = "ELECT_LEADER_ELECTION";

/// What tells a command where that is: see [`crate::cli::BackendUrl::for_others`].
pub const LEADER_BACKEND: &str = "ELECT_LEADER_BACKEND";

/// The flags that belong to one run. An `elect` in its command has neither their variables nor their
/// keys: it would take part in its parent's election, overwrite its parent's outcome or lease, take its
/// parent's work for its own, run its parent's hooks, look whether its parent's
/// command is well, never end as its parent does not, want its parent's port, or label its parent's pod.
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

/// The variable of the flag of this long name.
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

/// Whether we run inside the command of an `elect run`.
pub(super) fn is_nested() -> bool {
    env::var_os(LEADER_ELECTION).is_some_and(|election| !election.is_empty())
}

/// How alike two names must be for one to be meant by the other: 1 is equal.
const ALIKE: f64 = 0.7;

/// The same for variables, which others may call as they like.
const VERY_ALIKE: f64 = 0.85;

/// What a command finds in its environment, and what stands in for parts of a URL.
const WITHOUT_FLAG: [&str; 13] = [
    TOKEN,
    EXIT_CODE,
    SLOT,
    SHARD,
    LEADER_ID,
    "ELECT_LEASE",
    HTTP_ADDRESS,
    "ELECT_USER",
    "ELECT_PASSWORD",
    "ELECT_PASSWORD_FILE",
    LEADER_ELECTION,
    LEADER_BACKEND,
    HANDOFF,
];

/// What somebody may have meant by a name that there is not.
///
/// The name that is most like this one, if one is like it.
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

/// Those of the names of elections that may have been meant by this one, the nearest first, and so many at most.
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

/// A warning for each variable that is nearly one of elect's: whoever means another store, and gets the
/// one that is used if nothing is said, leads beside the others.
pub fn misspelt_variables(origins: &Origins) -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown: Vec<String> = names
        .filter(|name| name.starts_with(VARIABLES))
        .filter(|name| !WITHOUT_FLAG.contains(&name.as_str()) && !origins.heeds(name))
        .collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    // Other subcommands have more of them.
    let known = cli::variables();
    let strangers = unknown.iter().filter(|name| !known.contains(name));
    strangers.filter_map(|name| complaint(name, &known)).collect()
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
    fn what_belongs_to_one_run_is_known_by_its_variable() {
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
    fn only_what_is_nearly_right_is_complained_of() {
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
            // Of a Kubernetes service that is called elect.
            "ELECT_PORT",
            "ELECT_PORT_8080_TCP_ADDR",
            "ELECT_SERVICE_HOST",
            "ELECT_SERVICE_PORT_HTTP",
        ] {
            assert_eq!(complaint(name, &known), None, "{name}");
        }
    }
}
