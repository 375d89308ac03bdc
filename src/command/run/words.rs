//! Messages about the command of a run.

use std::io;

use crate::config::{RunPlan, Strays};
use crate::guard;
use crate::report::{Level, Log, Outcome};

/// Returns the message that the command cannot be executed, with hints.
pub(super) fn cannot_execute(plan: &RunPlan, outcome: Outcome, reason: &str) -> String {
    let program = plan.shown_program();
    let meant = plan.meant().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("cannot execute {program}: {reason}{}{meant}", outcome.hint(&program))
}

/// Returns the outcome and the reason for a command that could not be executed.
pub(super) fn unstarted(errno: i32) -> (Outcome, String) {
    let outcome = Outcome::not_started(errno);
    let why = guard::reason(errno);
    let what = if outcome == Outcome::Failed { "cannot start the command: " } else { "" };
    (outcome, format!("{what}{why}{}", limit(Some(errno))))
}

/// Returns the message that the guardian could not be started. Nothing runs without it.
pub(super) fn no_guardian(error: &io::Error) -> String {
    format!("cannot start the guardian{}", limit(error.raw_os_error()))
}

/// Returns a hint to the process limit that may have caused this error.
const fn limit(errno: Option<i32>) -> &'static str {
    match errno {
        Some(libc::EAGAIN) => {
            "; the limit on processes may be reached: ulimit -u, TasksMax=, or pids.max of a cgroup"
        }
        Some(libc::EMFILE) => "; the limit on open files may be reached: ulimit -n",
        Some(libc::EFBIG) => "; the limit on the length of files may be reached: ulimit -f",
        _ => "",
    }
}

/// Warns about flags of elect that stand after the command, and that the command gets instead of
/// elect.
pub(super) fn warn_of_strays(plan: &RunPlan, log: &Log) {
    if !log.tells(Level::Warn) {
        return;
    }
    let Strays { of_elect, common } = plan.strays(log.tells(Level::Info));
    let program = plan.shown_program();
    for (level, flags) in [(Level::Warn, of_elect), (Level::Info, common)] {
        if !flags.is_empty() {
            let flags = flags.join(" and ");
            let said = format!(
                "{program} gets {flags}: elect takes its own flags before the command only; a -- before the command \
                 silences this"
            );
            log.say(level, said, &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, unstarted};

    /// The same trouble reads alike wherever it occurs.
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
