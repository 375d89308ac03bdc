//! Whether the leader that we wait for waits, in the end, for us: an `elect run` inside another
//! one's command, for the same election, would wait for ever.

use std::env;
use std::fs;
use std::path::PathBuf;

use elect_api::Candidate;

use super::environment::LEADER_ID;

/// Whether `candidate` is an `elect run` whose command we are part of.
pub(super) fn is_our_ancestor(candidate: &Candidate, ourselves: &Candidate) -> bool {
    let is_here = candidate.host == ourselves.host;
    // An id that somebody has chosen may be that of all on the way.
    if is_here && candidate.pid == ourselves.pid {
        return false;
    }
    env::var_os(LEADER_ID).is_some_and(|id| id == *candidate.id)
        || (is_here && runs_elect(candidate.pid) && ancestors().any(|pid| pid == candidate.pid))
}

/// A like number in another pid namespace is some other program, as a rule.
fn runs_elect(pid: u32) -> bool {
    let program = |pid: &str| fs::read_link(PathBuf::from("/proc").join(pid).join("exe")).ok();
    program("self").is_some_and(|own| program(&pid.to_string()) == Some(own))
}

fn ancestors() -> impl Iterator<Item = u32> {
    std::iter::successors(parent("self"), |pid| parent(&pid.to_string()))
}

fn parent(pid: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
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
