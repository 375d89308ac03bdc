//! Tells the service manager about the candidacy: that it is ready, what it does, and that it is
//! healthy.

use std::convert::Infallible;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{Boottime, Division, ElectionName, Survey};
use nix::sys::signal::Signal;
use tokio::sync::Notify;

use crate::config::AfterLoss;
use crate::election::machine::{Block, News};
use crate::election::slots::Slot;
use crate::guard::{self, Pulse};
use crate::report::{Log, ServiceManager, chain, escape, rfc3339, wall_clock};

/// The time until a message is repeated that the manager has not read, and until an unhealthy process
/// is checked again.
const AGAIN: Duration = Duration::from_millis(250);
/// How late the engine's loop may turn and still count as healthy. A busy machine is no reason for the
/// manager to kill elect.
const LATE: Duration = Duration::from_secs(1);
/// The longest status in characters. A manager takes only messages of limited length.
const LONGEST: usize = 500;
/// The time that a stop may take beyond the stop timeout of the command: for the kill and the
/// resignation.
const AFTER_THE_KILL: Duration = Duration::from_secs(15);

/// A service manager that listens, and the state that it is told.
///
/// This type has no thread. The owner of the candidacy awaits [`keep_in_touch`] beside it.
pub(in crate::command) struct Service<'a> {
    manager: ServiceManager,
    /// The longest time between two signs of life.
    watchdog: Option<Duration>,
    guardian: Option<Pulse>,
    charge: Charge<'a>,
    state: Mutex<State>,
    owes: Notify,
}

/// The facts about the candidacy that messages to the manager need.
#[derive(Clone, Copy)]
pub(in crate::command) struct Charge<'a> {
    pub(in crate::command) election: &'a ElectionName,
    /// The slot in which this candidate leads, if the election has slots.
    pub(in crate::command) slot: Option<&'a Slot>,
    /// The longest time that a stop may take, if it has a limit.
    pub(in crate::command) stop_timeout: Option<Duration>,
    pub(in crate::command) after_loss: AfterLoss,
}

/// Keeps the service manager up to date. Waits for ever if there is none.
pub(in crate::command) async fn keep_in_touch(service: Option<&Service<'_>>) -> Infallible {
    match service {
        Some(service) => service.keep_in_touch(guard::now).await,
        None => std::future::pending().await,
    }
}

#[derive(Default)]
struct State {
    /// Lines that must arrive, and have not arrived yet.
    owed: String,
    is_ready: bool,
    /// The current activity, in words for people.
    doing: String,
    trouble: Option<String>,
    /// The latest time at which the engine's loop turns again.
    due: Option<Boottime>,
}

impl<'a> Service<'a> {
    /// Connects to the manager that has started this process. Returns `None` if there is none.
    pub(in crate::command) fn new(
        charge: Charge<'a>,
        guardian: Option<Pulse>,
        log: &Log,
    ) -> Option<Self> {
        let manager = ServiceManager::from_environment().unwrap_or_else(|error| {
            log.warn(format_args!(
                "{} is no address that elect can write to: {error}",
                ServiceManager::SOCKET
            ));
            None
        })?;
        let service = Self {
            manager,
            watchdog: ServiceManager::watchdog(),
            guardian,
            charge,
            state: Mutex::default(),
            owes: Notify::new(),
        };
        service.tell("", format_args!("joining {}", charge.election));
        Some(service)
    }

    /// Passes on the news that matter to a service manager and to people who query it.
    pub(in crate::command) fn news(&self, news: &News) {
        let election = self.charge.election;
        match news {
            // A standby counts as ready. If elect waited until it leads, the manager's start timeout
            // would end it.
            News::Waiting { ahead } => {
                self.tell(self.ready(), format_args!("waiting for {election}, {ahead} ahead"));
            }
            News::Blocked(Block::Delay { token, left, .. }) => {
                let until = rfc3339(wall_clock() + *left);
                let text = format_args!(
                    "leading {election}, token {token}, and starting nothing until {until}"
                );
                self.tell(self.ready(), text);
            }
            News::Blocked(Block::Exclusion(why)) => {
                self.tell(self.ready(), format_args!("looking on at {election}: {why}"));
            }
            News::Blocked(block) => {
                self.tell(self.ready(), format_args!("next to lead {election}, {}", block.why()));
            }
            News::Leading(token) => {
                let since = rfc3339(wall_clock());
                let slot = self.charge.slot.and_then(|slot| slot.of(election));
                let election = slot.as_ref().unwrap_or(election);
                let text = format_args!("leading {election} since {since}, token {token}");
                self.tell(self.ready(), text);
            }
            News::Trouble(error, _) => {
                self.trouble(Some(chain(error)));
            }
            News::Recovered(_) => self.trouble(None),
            News::Lost(why) => {
                self.tell("", format_args!("leadership of {election} is lost, stopping: {why}"));
            }
            News::SteppingDown(why) => {
                self.tell(&self.more_time(), format_args!("giving leadership up: {why}"));
            }
            News::MaxRun(limit) => {
                let limit = humantime::format_duration(*limit);
                let text = format_args!("stopping: the command has run for {limit} (--max-run)");
                self.tell(&self.more_time(), text);
            }
            News::Stopping(signal) => {
                let name = Signal::try_from(*signal).map_or("a signal", Signal::as_str);
                let text = format_args!("stopping: {name} was passed on to the command");
                self.tell(&self.more_time(), text);
            }
            News::Resting { pause, .. } => {
                let at = rfc3339(wall_clock() + *pause);
                self.tell(
                    "",
                    format_args!(
                        "leading {election}; the command has ended, and is started again at {at}"
                    ),
                );
            }
            News::Restarting(again) => {
                let times = if *again == 1 { "time" } else { "times" };
                let text = format_args!(
                    "leading {election}; the command was started again {again} {times}"
                );
                self.tell("", text);
            }
            News::Holding(left) => {
                let until = rfc3339(wall_clock() + *left);
                let text = format_args!(
                    "the command has ended; keeping the lease of {election} until {until}"
                );
                self.tell("", text);
            }
            News::Leaving { for_good } => {
                let is_end = *for_good || self.charge.after_loss == AfterLoss::Exit;
                let milestone = if is_end { "STOPPING=1\n" } else { "" };
                self.tell(milestone, format_args!("leaving {election}"));
            }
            News::Granted { .. }
            | News::InDoubt(_)
            | News::Emptied
            | News::EntryLeft(_)
            | News::MayNotSignal(_)
            | News::Left(..)
            | News::Unrecorded(_)
            | News::ControlUnread(_)
            | News::StandingBack { .. }
            | News::Reprioritized(_)
            | News::HistoryUnkept(_) => {}
        }
    }

    /// Tells how many parts of a divided election this process holds.
    pub(in crate::command) fn holds(&self, parts: usize, division: Division) {
        let election = self.charge.election;
        self.tell(self.ready(), format_args!("holding {parts} of {division} of {election}"));
    }

    /// Takes in a survey of the election while the candidate `our_id` waits. `pause` says why no
    /// candidate may lead, if so.
    pub(super) fn survey(&self, survey: &Survey, pause: Option<&str>, our_id: &str) {
        let place = survey.waiting.iter().position(|entry| entry.candidate.id == our_id);
        let Some(place) = place else { return };
        let (place, all) = (place + 1, survey.waiting.len());
        let leader = match &survey.leader {
            Some(leader) => {
                let since = leader.since.map(|at| format!(" since {}", rfc3339(at)));
                format!("led by {}{}", leader.entry.candidate.id, since.unwrap_or_default())
            }
            None => pause.unwrap_or("nobody leads").to_owned(),
        };
        let election = self.charge.election;
        self.tell("", format_args!("waiting for {election}, place {place} of {all}, {leader}"));
    }

    /// Tells that elect takes no part for now, for this reason, and that it is ready.
    pub(in crate::command) fn rests(&self, why: &str) {
        self.turns(None);
        self.tell(self.ready(), format_args!("taking no part in {}: {why}", self.charge.election));
    }

    /// Records that the engine's loop has turned, and that it turns again by `next`.
    pub(super) fn turns(&self, next: Option<Boottime>) {
        self.state().due = next;
    }

    /// Sends signs of life while elect is healthy, and repeats what has not arrived.
    async fn keep_in_touch(&self, now: impl Fn() -> Boottime) -> Infallible {
        loop {
            let pause = self.touch(now());
            tokio::select! {
                () = self.owes.notified() => tokio::time::sleep(self.again()).await,
                () = sleep(pause) => {}
            }
        }
    }

    /// Makes one attempt. Returns the time until the next one.
    fn touch(&self, now: Boottime) -> Option<Duration> {
        let mut state = self.state();
        // There is no sign of life if the engine is late or the guardian cannot act, as neither keeps
        // a deadline then. The manager kills elect, and the lease ends by its TTL.
        let is_well = state.is_in_time(now) && self.guardian.is_none_or(Pulse::beats);
        let beat = self.watchdog.filter(|_| is_well);
        if beat.is_none() && state.owed.is_empty() {
            return self.watchdog.map(|_| self.again());
        }
        let told = if state.owed.is_empty() { Ok(()) } else { self.try_to_tell(&mut state) };
        let told = told.and_then(|()| beat.map_or(Ok(()), |_| self.manager.tell("WATCHDOG=1\n")));
        match told {
            Err(error) if is_full(&error) => Some(self.again()),
            _ => beat.or(self.watchdog).map(|period| period / 2),
        }
    }

    /// Sends the lines `owed`, which must arrive, and the activity `doing`, which may get lost.
    fn tell(&self, owed: &str, doing: impl Display) {
        let mut state = self.state();
        state.owed.push_str(owed);
        state.doing = doing.to_string();
        self.send(&mut state);
    }

    fn trouble(&self, trouble: Option<String>) {
        let mut state = self.state();
        if state.trouble != trouble {
            state.trouble = trouble;
            self.send(&mut state);
        }
    }

    fn send(&self, state: &mut State) {
        if self.try_to_tell(state).is_err_and(|error| is_full(&error)) {
            self.owes.notify_one();
        }
    }

    /// The lines that must arrive go first, in a message of their own. A long status in the same
    /// message could get them lost.
    fn try_to_tell(&self, state: &mut State) -> io::Result<()> {
        if !state.owed.is_empty() {
            self.manager.tell(&state.owed)?;
            state.owed.clear();
        }
        self.manager.tell(&state.status())
    }

    fn ready(&self) -> &'static str {
        let was_ready = std::mem::replace(&mut self.state().is_ready, true);
        if was_ready { "" } else { "READY=1\n" }
    }

    /// Returns the request for more time, so that the manager's own limit does not cut off a stop that
    /// elect limits itself.
    fn more_time(&self) -> String {
        let needed = self.charge.stop_timeout.map(|timeout| (timeout + AFTER_THE_KILL).as_micros());
        needed.map(|micros| format!("EXTEND_TIMEOUT_USEC={micros}\n")).unwrap_or_default()
    }

    fn again(&self) -> Duration {
        self.watchdog.map_or(AGAIN, |period| AGAIN.min(period / 4))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the engine's loop has met its last due time.
    fn is_in_time(&self, now: Boottime) -> bool {
        self.due.is_none_or(|due| now <= due + LATE)
    }

    /// Returns the status line. It may contain words of other programs, so it is escaped and cut to
    /// the longest length.
    fn status(&self) -> String {
        let trouble =
            self.trouble.as_ref().map(|trouble| format!("; {trouble}")).unwrap_or_default();
        let status = format!("{}{trouble}", self.doing);
        let shown: String = status.chars().take(LONGEST).collect();
        let rest = if shown.len() < status.len() { "..." } else { "" };
        format!("STATUS={}{rest}\n", escape(&shown))
    }
}

/// Returns whether the message can be sent again later: the manager has not read yet. A manager that
/// is gone gets no message again.
fn is_full(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
        || matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_is_late_is_not_well() {
        let at = |seconds| Boottime::from_boot(Duration::from_secs(seconds));
        let mut state = State::default();
        assert!(state.is_in_time(at(1000)), "nothing is due");
        state.due = Some(at(10));
        assert!(state.is_in_time(at(9)) && state.is_in_time(at(10) + LATE));
        assert!(!state.is_in_time(at(12)));
    }

    #[test]
    fn foreign_text_stays_in_its_status_line() {
        let state = State {
            doing: "waiting, led by a\nREADY=1".into(),
            trouble: Some("refused".into()),
            ..State::default()
        };
        assert_eq!(state.status(), "STATUS=waiting, led by a\\nREADY=1; refused\n");
    }

    #[test]
    fn a_status_has_an_end() {
        let state = State { doing: "\u{fc}".repeat(500_000), ..State::default() };
        assert_eq!(state.status(), format!("STATUS={}...\n", "\u{fc}".repeat(LONGEST)));
    }
}
