use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::{env, fs};

use elect_api::{Candidate, ElectionName};
use elect_system::path::read_kernel;

use crate::config::BackendUrl;
use crate::config::variables::{
    BACKEND, ELECTION, HTTP_ADDRESS, LEADER_BACKEND, LEADER_ELECTION, LEADER_ID, SHARD, SLOT,
    TICKET, is_of_one_run,
};
use crate::guard::HANDOFF;
use crate::report::ServiceManager;

/// The variables of the service manager, which the command does not inherit. elect itself talks to the service manager,
/// which would take the command's sign of life for elect's.
const NOTIFYING: [&str; 3] =
    [ServiceManager::SOCKET, ServiceManager::WATCHDOG, ServiceManager::WATCHDOG_PID];

/// The process that gets the sockets of the service manager: by its number, and by an inode number of its pidfd that is
/// never used again.
const LISTENER: [&str; 2] = ["LISTEN_PID", "LISTEN_PIDFDID"];

/// Returns the environment for `elect redeem`: this process's own, with the store and the election, credentials
/// included.
pub(in crate::command) fn for_redeemer(
    backend: &BackendUrl,
    election: &ElectionName,
) -> Vec<(OsString, OsString)> {
    let replaced = [BACKEND, ELECTION, TICKET, HANDOFF];
    let ours = env::vars_os().filter(|(name, _)| replaced.iter().all(|other| name != other));
    ours.chain([
        (BACKEND.into(), backend.with_secrets().into()),
        (ELECTION.into(), election.as_str().into()),
    ])
    .collect()
}

/// Returns the environment of this process without the variables that are meant for elect alone.
fn without_own() -> impl Iterator<Item = (OsString, OsString)> {
    let others = NOTIFYING.into_iter().chain([HANDOFF]);
    env::vars_os()
        .filter(move |(name, _)| !is_of_one_run(name) && others.clone().all(|other| name != other))
}

/// Returns the environment for a program that helps elect, and has no part in the election.
pub(crate) fn for_helper() -> Vec<(OsString, OsString)> {
    without_own().collect()
}

/// Returns whether the service manager has passed sockets to this process. elect hands them to the command.
pub(in crate::command) fn has_sockets() -> bool {
    env::var(LISTENER[0]).is_ok_and(|pid| pid.parse() == Ok(std::process::id()))
}

/// Returns the environment for the command. The guardian adds the token and the lease. `backend` holds what the command
/// may know of the store.
pub(in crate::command) fn for_command(
    election: &ElectionName,
    candidate: &Candidate,
    backend: &BackendUrl,
    http: Option<SocketAddr>,
) -> Vec<(OsString, OsString)> {
    let listener: &[&str] = if has_sockets() { &LISTENER } else { &[] };
    let replaced = [LEADER_ELECTION, LEADER_BACKEND, LEADER_ID, HTTP_ADDRESS, SLOT, SHARD];
    let replaced = replaced.iter().chain(listener);
    let ours = without_own().filter(|(name, _)| replaced.clone().all(|other| name != other));
    ours.chain([
        (LEADER_ELECTION.into(), election.as_str().into()),
        (LEADER_BACKEND.into(), backend.with_secrets().into()),
        (LEADER_ID.into(), candidate.id.as_str().into()),
    ])
    .chain(http.map(|address| (HTTP_ADDRESS.into(), address.to_string().into())))
    .collect()
}

/// Returns whether `candidate` is an `elect run` whose command this process is part of. Waiting for such a leader would
/// never end, as it waits for its command, and so for this process.
pub(super) fn is_our_ancestor(candidate: &Candidate, ourselves: &Candidate) -> bool {
    let is_here = candidate.host == ourselves.host;
    // All nested runs may share an id that a person chose. A candidate with the number of this process is this one.
    if is_here && candidate.pid == ourselves.pid {
        return false;
    }
    env::var_os(LEADER_ID).is_some_and(|id| id == *candidate.id)
        || (is_here && runs_elect(candidate.pid) && ancestors().any(|pid| pid == candidate.pid))
}

/// Returns whether the process with this number runs elect's own program file. In another pid namespace, the same
/// number usually belongs to another program.
fn runs_elect(pid: u32) -> bool {
    let program = |pid: &str| fs::read_link(PathBuf::from("/proc").join(pid).join("exe")).ok();
    program("self").is_some_and(|own| program(&pid.to_string()) == Some(own))
}

fn ancestors() -> impl Iterator<Item = u32> {
    std::iter::successors(parent("self"), |pid| parent(&pid.to_string()))
}

fn parent(pid: &str) -> Option<u32> {
    let status = read_kernel(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().filter(|&pid| pid != 0)
}

#[cfg(test)]
mod tests {
    use super::{ancestors, runs_elect};

    #[test]
    fn the_line_of_ancestors_starts_with_the_parent() {
        assert_eq!(ancestors().next(), Some(std::os::unix::process::parent_id()));
    }

    #[test]
    fn a_program_is_known_by_its_file() {
        assert!(runs_elect(std::process::id()));
        assert!(!runs_elect(std::os::unix::process::parent_id()));
    }
}
