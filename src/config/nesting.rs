//! `elect` inside the command of another `elect run`.

use std::env;

use crate::cli::VARIABLES;

/// What tells a command who leads.
pub const LEADER_ELECTION: &str = "ELECT_LEADER_ELECTION";

/// What tells a command where that is: see [`crate::cli::BackendUrl::for_others`].
pub const LEADER_BACKEND: &str = "ELECT_LEADER_BACKEND";

/// The flags that belong to one run. An `elect` in its command has neither their variables nor their
/// keys: it would take part in its parent's election, overwrite its parent's outcome or lease, take its
/// parent's work for its own, run its parent's hooks, look whether its parent's
/// command is well, never end as its parent does not, or want its parent's port.
pub const OF_ONE_RUN: [&str; 14] = [
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
    "outcome",
    "restart",
    "shards",
    "slots",
];

/// The variable of the flag of this long name.
pub fn variable(flag: &str) -> String {
    format!("{VARIABLES}{}", flag.replace('-', "_").to_uppercase())
}

/// Whether we run inside the command of an `elect run`.
pub(super) fn is_nested() -> bool {
    env::var_os(LEADER_ELECTION).is_some_and(|election| !election.is_empty())
}
