//! What is wrong with the command of a run, in words for people.

use crate::cli::{Strays, strays};
use crate::config::RunPlan;
use crate::guard;
use crate::report::{Level, Log, Outcome};

/// That the command cannot be executed, with what may help.
pub(super) fn cannot_execute(plan: &RunPlan, outcome: Outcome, reason: &str) -> String {
    let program = plan.shown_program();
    let meant = plan.meant().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("cannot execute {program}: {reason}{}{meant}", outcome.hint(&program))
}

/// What it comes to that the command could not be executed, and why.
pub(super) fn unstarted(errno: i32) -> (Outcome, String) {
    let outcome = Outcome::not_started(errno);
    let why = guard::reason(errno);
    let what = if outcome == Outcome::Failed { "cannot start the command: " } else { "" };
    let limit = if errno == libc::EAGAIN { LIMIT_OF_PROCESSES } else { "" };
    (outcome, format!("{what}{why}{limit}"))
}

const LIMIT_OF_PROCESSES: &str =
    "; the limit on processes may be reached: ulimit -u, TasksMax=, or pids.max of a cgroup";

/// Says which flags of elect's the command gets in its place.
pub(super) fn warn_of_strays(plan: &RunPlan, log: &Log) {
    if !log.tells(Level::Warn) {
        return;
    }
    let Strays { of_elect, common } = strays(&plan.before, &plan.command, log.tells(Level::Info));
    let program = plan.shown_program();
    for (level, flags) in [(Level::Warn, of_elect), (Level::Info, common)] {
        if !flags.is_empty() {
            let flags = flags.join(" and ");
            let why = "elect takes its own flags before the command";
            let way_out = "write -- before the command if that is meant";
            let said =
                format!("{flags} after the command is passed to {program}: {why}; {way_out}");
            log.say(level, said, &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, unstarted};

    /// As the same trouble reads wherever else it strikes.
    #[test]
    fn what_keeps_a_command_from_starting_is_told_as_elsewhere() {
        let (outcome, why) = unstarted(libc::EAGAIN);
        assert_eq!(outcome, Outcome::Failed);
        let said = "cannot start the command: Resource temporarily unavailable; the limit";
        assert!(why.starts_with(said), "{why}");
        let nothing = (Outcome::NotFound, "No such file or directory".to_owned());
        assert_eq!(unstarted(libc::ENOENT), nothing);
    }
}
