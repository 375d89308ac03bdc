use std::env;
use std::ffi::OsString;

use elect_api::{Candidate, ElectionName};

use crate::config::BackendUrl;
use crate::config::nesting::{LEADER_ELECTION, OF_ONE_RUN, variable};

/// What tells the command who leads. An enclosing `elect run` has set them for itself.
pub(super) const LEADER_ID: &str = "ELECT_LEADER_ID";

/// Our own environment as `elect redeem` gets it, credentials included.
pub(super) fn for_redeemer(
    backend: &BackendUrl,
    election: &ElectionName,
) -> Vec<(OsString, OsString)> {
    let replaced = ["ELECT_BACKEND", "ELECT_ELECTION", "ELECT_TICKET"];
    let ours = env::vars_os().filter(|(name, _)| replaced.iter().all(|other| name != other));
    ours.chain([
        ("ELECT_BACKEND".into(), backend.with_secrets().into()),
        ("ELECT_ELECTION".into(), election.as_str().into()),
    ])
    .collect()
}

/// Our own environment as the command gets it; the guardian adds the token and the lease.
pub(super) fn for_command(
    election: &ElectionName,
    candidate: &Candidate,
) -> Vec<(OsString, OsString)> {
    let withheld = OF_ONE_RUN.map(variable);
    let replaced = [LEADER_ELECTION, LEADER_ID];
    let ours = env::vars_os().filter(|(name, _)| {
        withheld.iter().all(|other| **name != **other) && replaced.iter().all(|other| name != other)
    });
    ours.chain([
        (LEADER_ELECTION.into(), election.as_str().into()),
        (LEADER_ID.into(), candidate.id.as_str().into()),
    ])
    .collect()
}
