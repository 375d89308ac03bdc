//! The outcome of a run: from the verdict of the engine to the log and the file of `--outcome`.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context;
use elect_api::{Division, Token};
use elect_system::path::Output;

use super::terms::Terms;
use crate::command::attempts::{silent, with_members};
use crate::config::{RunPlan, Wait};
use crate::election::machine::{Verdict, is_silence};
use crate::guard::{self, Ended, ExecHandoff};
use crate::report::{
    Level, Log, LogEvent, NOT_ACQUIRED, Outcome, OutcomeRecord, rfc3339, wall_clock,
};

/// The result of a candidacy that is over.
pub(super) struct Finished {
    pub(super) outcome: Outcome,
    pub(super) reason: String,
    /// The id of the candidate, if there was one.
    pub(super) id: Option<String>,
    pub(super) token: Option<Token>,
    /// The number of the slot in which this candidate led.
    pub(super) slot: Option<u16>,
    /// Leadership was lost or given up, and no signal has asked elect to end.
    pub(super) may_campaign: bool,
    /// The data for a new start to campaign again.
    pub(super) handoff: ExecHandoff,
    /// A key in the terminal ended the command, and no other process of the job.
    pub(super) ended_by_key: bool,
}

impl Finished {
    /// Reports a command that cannot be executed. elect did not take part for it.
    pub(super) fn before_the_start(plan: &RunPlan, log: &Log, errno: i32) -> Self {
        let (outcome, reason) = unstarted(errno);
        let exit_code = Some(outcome.exit_code(plan.conflict_exit_code));
        let event = LogEvent { exit_code, ..LogEvent::named(outcome.name()) };
        log.event(Level::Error, event, cannot_execute(plan, outcome, &reason), &[]);
        Self::of_none(outcome, reason)
    }

    /// Returns the end of a run that a signal ended while it waited for the files of the store; `None` without a
    /// signal.
    ///
    /// # Errors
    /// The store could not be opened with its files in time.
    pub(super) fn without_files(
        files: anyhow::Result<Option<i32>>,
        log: &Log,
    ) -> anyhow::Result<Option<Self>> {
        let Some(signal) = files? else { return Ok(None) };
        let reason = guard::told_to_end(signal);
        log.info(&reason);
        Ok(Some(Self::of_none(Outcome::Interrupted(signal), reason)))
    }

    /// Of a run that was no candidate.
    pub(super) fn of_none(outcome: Outcome, reason: String) -> Self {
        Self {
            outcome,
            reason,
            id: None,
            token: None,
            slot: None,
            may_campaign: false,
            handoff: ExecHandoff::default(),
            ended_by_key: false,
        }
    }
}

impl Terms<'_> {
    /// Returns the outcome that a verdict leads to, and the reason in words, and logs them. `leader` is the leader in
    /// words, if it is known.
    pub(super) fn conclude(
        &self,
        verdict: Verdict,
        leader: Option<String>,
        token: Option<Token>,
    ) -> (Outcome, String) {
        let (outcome, reason) = self.judge(verdict, leader);
        self.tell(outcome, &reason, token);
        (outcome, reason)
    }

    fn judge(&self, verdict: Verdict, leader: Option<String>) -> (Outcome, String) {
        let once = self.plan.once.as_deref();
        match verdict {
            Verdict::Ended(Ended::Exited(code)) => {
                (Outcome::Exited(code), format!("the command exited with code {code}"))
            }
            Verdict::Ended(Ended::Signaled(signal)) => (
                Outcome::Signaled(signal.into()),
                format!("{} ended the command", guard::signal_name(signal.into())),
            ),
            Verdict::MaxRun(ended, limit) => {
                let (outcome, reason) = self.judge(Verdict::Ended(ended), None);
                let limit = humantime::format_duration(limit);
                let open = once.map_or("", |_| "; its key stays open");
                let reason = format!("stopped after {limit} (--max-run): {reason}{open}");
                let code = match outcome.exit_code(NOT_ACQUIRED) {
                    0 if once.is_some() => NOT_ACQUIRED,
                    code => code,
                };
                (Outcome::MaxRun(code), reason)
            }
            Verdict::NotStarted(errno) => unstarted(errno),
            Verdict::Lost(why) | Verdict::LostForGood(why) => {
                (Outcome::Lost, format!("leadership was lost: {why}"))
            }
            Verdict::SteppedDown(why) => (Outcome::SteppedDown, why),
            Verdict::AlreadyDone => {
                let key = once.map_or("it".to_owned(), |key| format!("{key:?}"));
                (Outcome::AlreadyDone, format!("{key} was done already"))
            }
            Verdict::NotAcquired(why) => {
                let leader = leader.map(|leader| format!(": {leader}"));
                (Outcome::NotAcquired, format!("{why}{}", leader.unwrap_or_default()))
            }
            Verdict::Unwanted(why) => (Outcome::NotAcquired, why),
            Verdict::UsedUp(why) => (Outcome::AttemptsUsedUp, why),
            Verdict::Interrupted(signal) => {
                (Outcome::Interrupted(signal), guard::told_to_end(signal))
            }
            Verdict::StoreFailed { error, out_of_time } => {
                let is_permanent = error.is_permanent();
                let location = self.store.profile().location;
                let error = match error {
                    error if is_silence(&error) => silent(&location),
                    error if is_permanent => error.into(),
                    error => with_members(&location, error.into()),
                };
                let more = if out_of_time { self.trying_longer() } else { String::new() };
                (Outcome::Failed, format!("{error:#}{more}"))
            }
            Verdict::Unreached => {
                let error = silent(&self.store.profile().location);
                (Outcome::Failed, format!("{error:#}{}", self.trying_longer()))
            }
            // A verdict of `Withdrawn` does not get here: only members of a roster and sidecars withdraw.
            Verdict::Failed(why) | Verdict::Withdrawn(why) => (Outcome::Failed, why),
        }
    }

    /// Returns how long a store was tried that gave no place, and which flag has elect try longer.
    fn trying_longer(&self) -> String {
        let tried = humantime::format_duration(self.timing.connect_timeout);
        match self.plan.rules.wait {
            Wait::For(limit) => {
                let limit = humantime::format_duration(limit);
                format!("; the time of -w ({limit}) is over: a longer -w tries longer")
            }
            Wait::No => {
                format!("; tried for up to {tried}: -w DUR in the place of -n tries longer")
            }
            Wait::Forever
                if matches!(self.plan.campaign.candidate.division, Division::Shards(_)) =>
            {
                format!("; tried for up to {tried}")
            }
            Wait::Forever => format!("; tried for up to {tried}: -w DUR tries longer"),
        }
    }

    /// Logs the outcome, at a level that fits it.
    fn tell(&self, outcome: Outcome, reason: &str, token: Option<Token>) {
        let conflict = self.plan.conflict_exit_code;
        let level = match outcome {
            Outcome::NotAcquired | Outcome::AttemptsUsedUp if conflict == 0 => return,
            Outcome::NotAcquired | Outcome::AttemptsUsedUp => Level::Warn,
            Outcome::Failed | Outcome::NotExecutable | Outcome::NotFound => Level::Error,
            // The reason was told as leadership ended.
            Outcome::Lost | Outcome::SteppedDown => Level::Debug,
            Outcome::Exited(_)
            | Outcome::Signaled(_)
            | Outcome::MaxRun(_)
            | Outcome::AlreadyDone
            | Outcome::Interrupted(_) => Level::Info,
        };
        let exit_code = Some(outcome.exit_code(conflict));
        let event = LogEvent { exit_code, ..LogEvent::named(outcome.name()).with_token(token) };
        match outcome {
            Outcome::NotExecutable | Outcome::NotFound => {
                let what = cannot_execute(self.plan, outcome, reason);
                self.log.event(level, event, what, &[]);
            }
            _ => self.log.event(level, event, reason, &[]),
        }
    }
}

/// Opens the file of `--outcome`, and empties it.
///
/// # Errors
/// The file cannot be written.
pub(in crate::command) fn open_outcome(path: &Path) -> anyhow::Result<Output> {
    Output::create(path).with_context(|| format!("cannot write the outcome to {}", path.display()))
}

pub(super) fn write_outcome(
    file: &Output,
    plan: &RunPlan,
    started: SystemTime,
    result: &anyhow::Result<Finished>,
) -> anyhow::Result<()> {
    let failure;
    let (outcome, reason) = match result {
        Ok(past) => (past.outcome, past.reason.as_str()),
        Err(error) => {
            failure = format!("{error:#}");
            (Outcome::Failed, failure.as_str())
        }
    };
    let past = result.as_ref().ok();
    let record = OutcomeRecord {
        outcome: outcome.name(),
        exit_code: outcome.exit_code(plan.conflict_exit_code),
        election: &plan.campaign.election,
        id: past.and_then(|past| past.id.as_deref()),
        token: past.and_then(|past| past.token),
        slot: past.and_then(|past| past.slot),
        reason,
        started: rfc3339(started),
        ended: rfc3339(wall_clock()),
    };
    let path = file.path().display();
    file.write(record.line().as_bytes())
        .with_context(|| format!("cannot write the outcome to {path}"))
}

/// Returns the message that the command cannot be executed, with hints.
fn cannot_execute(plan: &RunPlan, outcome: Outcome, reason: &str) -> String {
    let program = plan.shown_program();
    let meant = plan.meant().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("cannot execute {program}: {reason}{}{meant}", outcome.hint(&program))
}

/// Returns the outcome and the reason for a command that could not be executed.
fn unstarted(errno: i32) -> (Outcome, String) {
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

#[cfg(test)]
mod tests {
    use super::{Outcome, unstarted};

    /// The same trouble reads alike wherever it occurs.
    #[test]
    fn a_command_that_cannot_start_is_explained_as_elsewhere() {
        let (outcome, why) = unstarted(libc::EAGAIN);
        assert_eq!(outcome, Outcome::Failed);
        let said = "cannot start the command: Resource temporarily unavailable; the limit";
        assert!(why.starts_with(said), "{why}");
        let nothing = (Outcome::NotFound, "No such file or directory".to_owned());
        assert_eq!(unstarted(libc::ENOENT), nothing);
    }
}
