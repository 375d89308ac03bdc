use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;

use elect_api::{Candidate, ElectionName};

use crate::config::BackendUrl;
use crate::config::nesting::{LEADER_ELECTION, OF_ONE_RUN, variable};
use crate::guard::HEIRLOOM;
use crate::report::ServiceManager;

/// It is elect that speaks with the service manager, which would take a sign of life of the command,
/// say, for one of ours.
const NOTIFYING: [&str; 3] =
    [ServiceManager::SOCKET, ServiceManager::WATCHDOG, ServiceManager::WATCHDOG_PID];

/// Whom sockets from the service manager are for: by number, and by a number that is never used again.
const LISTENER: [&str; 2] = ["LISTEN_PID", "LISTEN_PIDFDID"];

/// What tells the command who leads. An enclosing `elect run` has set them for itself.
pub(super) const LEADER_ID: &str = "ELECT_LEADER_ID";
/// Where `--http` listens.
const HTTP_ADDRESS: &str = "ELECT_HTTP_ADDRESS";

/// Our own environment as `elect redeem` gets it, credentials included.
pub(super) fn for_redeemer(
    backend: &BackendUrl,
    election: &ElectionName,
) -> Vec<(OsString, OsString)> {
    let replaced = ["ELECT_BACKEND", "ELECT_ELECTION", "ELECT_TICKET", HEIRLOOM];
    let ours = env::vars_os().filter(|(name, _)| replaced.iter().all(|other| name != other));
    ours.chain([
        ("ELECT_BACKEND".into(), backend.with_secrets().into()),
        ("ELECT_ELECTION".into(), election.as_str().into()),
    ])
    .collect()
}

/// Whether the service manager has handed sockets over to us. They are the command's.
pub(super) fn has_sockets() -> bool {
    env::var(LISTENER[0]).is_ok_and(|pid| pid.parse() == Ok(std::process::id()))
}

/// Our own environment as the command gets it; the guardian adds the token and the lease.
pub(super) fn for_command(
    election: &ElectionName,
    candidate: &Candidate,
    http: Option<SocketAddr>,
) -> Vec<(OsString, OsString)> {
    let withheld = OF_ONE_RUN.map(variable);
    let replaced = [LEADER_ELECTION, LEADER_ID, HTTP_ADDRESS, HEIRLOOM];
    let listener: &[&str] = if has_sockets() { &LISTENER } else { &[] };
    let ours = env::vars_os().filter(|(name, _)| {
        withheld
            .iter()
            .map(String::as_str)
            .chain(NOTIFYING)
            .chain(replaced)
            .chain(listener.iter().copied())
            .all(|other| name != other)
    });
    ours.chain([
        (LEADER_ELECTION.into(), election.as_str().into()),
        (LEADER_ID.into(), candidate.id.as_str().into()),
    ])
    .chain(http.map(|address| (HTTP_ADDRESS.into(), address.to_string().into())))
    .collect()
}
