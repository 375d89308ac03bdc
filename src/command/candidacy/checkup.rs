//! One look at whether something is well: beside the engine and never in its way.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use elect_api::Token;
use tokio::sync::watch;
use tokio::time::timeout;

use super::environment;
use super::get::status_of;
use crate::config::{CommandLine, HealthPlan, HealthUrl};
use crate::guard::{
    Deadlines, Enclosure, Ended, Forked, Guardian, Inherited, Leftover, Report, Settings, Starts,
};

/// For how long a look may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::command) struct Leave {
    /// Whether it is to end now.
    pub(in crate::command) is_over: bool,
    /// When it ends at the latest, where leases end by time, whoever is stopped by then.
    pub(in crate::command) deadlines: Option<Deadlines>,
}

/// What looks, as it was asked for.
pub(in crate::command) struct Checkup<'a> {
    plan: &'a HealthPlan,
    inherited: &'a Inherited,
}

/// What came of a look.
pub(in crate::command) struct Finding {
    /// Why that which was looked at did not pass, if so.
    pub(in crate::command) outcome: Result<(), String>,
    /// The guardian of a process that cannot be killed. It waits for it, also when it is dropped.
    pub(in crate::command) stuck: Option<Guardian>,
}

impl<'a> Checkup<'a> {
    pub(in crate::command) const fn new(plan: &'a HealthPlan, inherited: &'a Inherited) -> Self {
        Self { plan, inherited }
    }

    /// Looks, for no longer than was asked for and than `leave` lasts.
    ///
    /// # Cancellation
    /// A health command is killed, and not waited for.
    pub(in crate::command) async fn look(&self, leave: &mut watch::Receiver<Leave>) -> Finding {
        if let Some(url) = &self.plan.url {
            let outcome = tokio::select! {
                biased;
                () = end_of_leave(leave) => Err(UNWAITED.to_owned()),
                outcome = look_at(url, self.plan.timeout) => outcome,
            };
            if outcome.is_err() {
                return Finding { outcome, stuck: None };
            }
        }
        match &self.plan.command {
            Some(command) => self.ask(command, leave).await,
            None => Finding { outcome: Ok(()), stuck: None },
        }
    }

    /// Runs a health command as commands are run: whatever it does, all of it is dead in the end.
    async fn ask(&self, command: &CommandLine, leave: &mut watch::Receiver<Leave>) -> Finding {
        let limit = self.plan.timeout;
        let name = command.words().first().map(|word| word.to_string_lossy()).unwrap_or_default();
        let now = *leave.borrow_and_update();
        let mut guardian = match self.start(command.words(), now.deadlines) {
            Ok(guardian) => guardian,
            Err(error) => {
                let outcome = Err(format!("cannot start {name}: {error}"));
                return Finding { outcome, stuck: None };
            }
        };
        let outcome = if let Ok(outcome) = timeout(limit, end_of(&mut guardian, leave)).await {
            outcome.map_err(|why| format!("{name} {why}"))
        } else {
            Err(format!("{name} did not end within {}", humantime::format_duration(limit)))
        };
        guardian.kill();
        let stuck = if timeout(limit, emptied(&mut guardian)).await.is_ok() {
            Guardian::dismiss(guardian);
            None
        } else {
            Some(guardian)
        };
        Finding { outcome, stuck }
    }

    fn start(&self, words: &[OsString], deadlines: Option<Deadlines>) -> io::Result<Guardian> {
        let forked = Forked::fork(Settings {
            command: words,
            leads: false,
            environment: environment::for_helper(),
            gets_sockets: false,
            starts: Starts::Once,
            leftover: Leftover::Kill,
            enclosure: Enclosure::unseen(),
            signal: libc::SIGTERM,
            is_timed: deadlines.is_some(),
            inherited: self.inherited,
            redeem: None,
        })?;
        let mut guardian = forked.attach()?;
        if let Some(deadlines) = deadlines {
            guardian.renewed(deadlines);
        }
        guardian.start(Token::new(0), &[])?;
        Ok(guardian)
    }
}

/// What nobody gets to hear.
const UNWAITED: &str = "was not waited for";

async fn look_at(url: &HealthUrl, limit: Duration) -> Result<(), String> {
    match timeout(limit, status_of(url.uri())).await {
        Ok(Ok(status)) if status.is_success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{url} answered {status}")),
        Ok(Err(why)) => Err(format!("{url}: {why}")),
        Err(_) => Err(format!("{url} did not answer within {}", humantime::format_duration(limit))),
    }
}

async fn end_of(guardian: &mut Guardian, leave: &mut watch::Receiver<Leave>) -> Result<(), String> {
    loop {
        if leave.borrow().is_over {
            return Err(UNWAITED.to_owned());
        }
        let report = tokio::select! {
            biased;
            new = next(leave) => {
                if let Some(deadlines) = new.deadlines {
                    guardian.renewed(deadlines);
                }
                continue;
            }
            report = guardian.next_report() => report,
        };
        match report {
            Some(Report::Ended(Ended::Exited(0))) => return Ok(()),
            Some(Report::Ended(ended)) => return Err(ended.to_string()),
            Some(Report::NotStarted(errno)) => {
                let why = nix::errno::Errno::from_raw(errno).desc();
                return Err(format!("cannot be executed: {why}"));
            }
            None => return Err("was killed with its guardian".to_owned()),
            Some(_) => {}
        }
    }
}

/// Ends when nobody is to look any more.
async fn end_of_leave(leave: &mut watch::Receiver<Leave>) {
    if leave.wait_for(|leave| leave.is_over).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What is so from now on; never, where nobody is left to say so.
async fn next(leave: &mut watch::Receiver<Leave>) -> Leave {
    if leave.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    *leave.borrow_and_update()
}

/// Ends once nothing of what this guardian guards lives.
///
/// # Cancellation
/// May be called again.
pub(in crate::command) async fn emptied(guardian: &mut Guardian) {
    loop {
        match guardian.next_report().await {
            Some(Report::Empty) => return,
            None => return guardian.sweep().await,
            Some(_) => {}
        }
    }
}
