//! Whether the command is well, while it runs: who looks, and what whoever runs it hears of that.

use std::convert::Infallible;
use std::ffi::OsString;
use std::pin::Pin;
use std::time::Duration;

use elect_api::{Boottime, Holds};
use hyper::client::conn::http1;
use hyper::header::{HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};

use super::hooks::{HeldLease, Helper, HelperSpec};
use crate::config::{CommandLine, HealthArgs, HealthUrl};
use crate::election::machine::Event;
use crate::guard::{self, Deadlines, Inherited, Order};
use crate::report::Log;

/// Looks at the command again and again.
pub(in crate::command) struct CommandHealth<'a> {
    plan: &'a HealthArgs,
    check: HealthCheck<'a>,
    log: &'a Log,
    leave: watch::Receiver<Leave>,
    found: watch::Sender<Option<String>>,
    looks: watch::Sender<bool>,
    withheld: watch::Receiver<bool>,
}

/// What whoever runs the command has of that.
pub(in crate::command) struct Patient {
    leave: watch::Sender<Leave>,
    /// Why the command is not well.
    found: watch::Receiver<Option<String>>,
    /// Whether anything of a look may live.
    looks: watch::Receiver<bool>,
    /// Whether nobody has a ticket because of a look: nobody is to give our entry up while a health command may live.
    withheld: watch::Sender<bool>,
    /// When the command was started last.
    started: Option<Boottime>,
    /// For how long it had run when it was found not to be well.
    relapse: Option<Duration>,
}

/// What a patient gets to hear.
pub(super) enum Heard {
    /// It is not well, for this reason.
    Sick(String),
    /// Something looks, or nothing does any more.
    Looks(bool),
}

/// A command that is looked at, if the plan says so, by a health command with this environment.
pub(in crate::command) fn look_after<'a>(
    plan: &'a HealthArgs,
    inherited: &'a Inherited,
    log: &'a Log,
    environment: impl Fn() -> Vec<(OsString, OsString)> + 'a,
) -> Option<(Patient, CommandHealth<'a>)> {
    if !plan.looks() {
        return None;
    }
    let (leave, left) = watch::channel(Leave { is_over: true, deadlines: None });
    let (found, finds) = watch::channel(None);
    let (looks, looking) = watch::channel(false);
    let (withholds, withheld) = watch::channel(false);
    let (started, relapse) = (None, None);
    let patient =
        Patient { leave, found: finds, looks: looking, withheld: withholds, started, relapse };
    let check = HealthCheck::new(plan, inherited, environment);
    let health = CommandHealth { plan, check, log, leave: left, found, looks, withheld };
    Some((patient, health))
}

/// Looks as often as is asked for, if it is.
pub(in crate::command) async fn keep_looking(health: Option<CommandHealth<'_>>) -> Infallible {
    let Some(mut health) = health else { return std::future::pending().await };
    loop {
        health.look_at_one().await;
    }
}

impl CommandHealth<'_> {
    /// Looks at one command from its start to its end.
    async fn look_at_one(&mut self) {
        self.until(false).await;
        let (mut failures, mut stuck) = (0, Vec::new());
        let mut pause = Box::pin(sleep(self.plan.health_interval));
        while self.waits_for(pause.as_mut()).await {
            pause.set(sleep(self.plan.health_interval));
            if self.plan.health_cmd.is_some() {
                self.has_the_ticket_withheld().await;
            }
            let found = self.check.look(&mut self.leave).await;
            stuck.extend(found.stuck);
            self.looks.send_replace(!stuck.is_empty());
            let Err(why) = found.outcome else {
                failures = 0;
                continue;
            };
            if self.leave.borrow().is_over {
                break;
            }
            self.log.debug(format_args!("the command did not pass: {why}"));
            failures += 1;
            if failures == self.plan.health_threshold {
                self.found.send_replace(Some(why));
                break;
            }
        }
        for mut helper in stuck {
            // Why it was killed was told.
            let _ = helper.over().await;
            helper.dismiss();
        }
        self.looks.send_replace(false);
        self.until(true).await;
    }

    /// What looks has a guardian of its own: before it begins nobody is to have a ticket, which the command's guardian
    /// might redeem too early.
    async fn has_the_ticket_withheld(&mut self) {
        self.looks.send_replace(true);
        if self.withheld.wait_for(|withheld| *withheld).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the next look. Says whether the command runs.
    async fn waits_for(&mut self, pause: Pin<&mut Sleep>) -> bool {
        tokio::select! {
            biased;
            () = self.until(true) => false,
            () = pause => true,
        }
    }

    /// Waits until the command runs no more, or runs.
    async fn until(&mut self, is_over: bool) {
        if self.leave.wait_for(|leave| leave.is_over == is_over).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Patient {
    /// For how long the command had run when it was found not to be well, if it was.
    pub(super) const fn relapse(&self) -> Option<Duration> {
        self.relapse
    }

    /// Whether anything of a look may live.
    pub(super) fn is_looked_at(&self) -> bool {
        *self.looks.borrow()
    }

    /// Says that nobody has a ticket because of a look, or that no look keeps anybody from it.
    pub(super) fn set_withheld(&self, withheld: bool) {
        self.withheld.send_replace(withheld);
    }

    /// Whether nobody has a ticket because of a look.
    pub(super) fn is_withheld(&self) -> bool {
        *self.withheld.borrow()
    }

    /// This happened to the command.
    pub(super) fn happened(&mut self, event: &Event) {
        match event {
            Event::Started => {
                self.started = Some(guard::now());
                self.runs(true);
            }
            Event::Ended(_)
            | Event::EndedAfterKey(..)
            | Event::NotStarted(_)
            | Event::GuardianDied => {
                self.runs(false);
            }
            _ => {}
        }
    }

    /// This was asked of the command.
    pub(super) fn ordered(&mut self, order: Order) {
        match order {
            Order::Renewed(deadlines) => {
                self.leave.send_modify(|leave| leave.deadlines = Some(deadlines));
            }
            Order::Stop { .. } | Order::Kill => self.runs(false),
            Order::Ask { .. } | Order::Signal { .. } => {}
        }
    }

    /// Looks begin or end.
    fn runs(&mut self, runs: bool) {
        self.found.mark_unchanged();
        self.leave.send_if_modified(|leave| std::mem::replace(&mut leave.is_over, !runs) == runs);
    }

    /// What is to be known of the looks.
    ///
    /// # Cancellation
    /// Nothing is lost.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.looks.changed() => return Heard::Looks(*self.looks.borrow_and_update()),
                Ok(()) = self.found.changed() => {
                    if let Some(why) = self.found.borrow_and_update().clone() {
                        self.relapse = self.started.map(|started| guard::now().since(started));
                        return Heard::Sick(why);
                    }
                }
                else => std::future::pending().await,
            }
        }
    }
}

/// Where an application answers that names no port.
const HTTP_PORT: u16 = 80;

/// For how long a look may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::command) struct Leave {
    /// Whether it is to end now.
    pub(in crate::command) is_over: bool,
    /// When it ends at the latest, where leases end by time, whoever is stopped by then.
    pub(in crate::command) deadlines: Option<Deadlines>,
}

/// What looks, as it was asked for.
pub(in crate::command) struct HealthCheck<'a> {
    plan: &'a HealthArgs,
    inherited: &'a Inherited,
    environment: Box<dyn Fn() -> Vec<(OsString, OsString)> + 'a>,
}

/// What came of a look.
pub(in crate::command) struct LookResult {
    /// Why that which was looked at did not pass, if so.
    pub(in crate::command) outcome: Result<(), String>,
    /// What cannot be killed. Its guardian waits for it, also when it is dropped.
    pub(in crate::command) stuck: Option<Helper>,
}

impl<'a> HealthCheck<'a> {
    /// `environment` is that of a health command, at each look.
    pub(in crate::command) fn new(
        plan: &'a HealthArgs,
        inherited: &'a Inherited,
        environment: impl Fn() -> Vec<(OsString, OsString)> + 'a,
    ) -> Self {
        Self { plan, inherited, environment: Box::new(environment) }
    }

    /// Looks, for no longer than was asked for and than `leave` lasts.
    ///
    /// # Cancellation
    /// A health command is killed, and not waited for.
    pub(in crate::command) async fn look(&self, leave: &mut watch::Receiver<Leave>) -> LookResult {
        if let Some(url) = &self.plan.health_http {
            let outcome = tokio::select! {
                biased;
                () = end_of_leave(leave) => Err(UNWAITED.to_owned()),
                outcome = look_at(url, self.plan.health_timeout) => outcome,
            };
            if outcome.is_err() {
                return LookResult { outcome, stuck: None };
            }
        }
        match &self.plan.health_cmd {
            Some(command) => self.ask(command, leave).await,
            None => LookResult { outcome: Ok(()), stuck: None },
        }
    }

    /// Runs a health command as commands are run: whatever it does, all of it is dead in the end.
    async fn ask(&self, command: &CommandLine, leave: &mut watch::Receiver<Leave>) -> LookResult {
        let limit = self.plan.health_timeout;
        let deadlines = leave.borrow_and_update().deadlines;
        let nothing = Holds::default();
        let held = deadlines.map(|_| HeldLease { deadlines, holds: &nothing });
        let environment = (self.environment)();
        let spec = HelperSpec { command, environment, limit, lease: held };
        let mut helper = match Helper::start(spec, self.inherited) {
            Ok(helper) => helper,
            Err(why) => return LookResult { outcome: Err(why), stuck: None },
        };
        match timeout(limit * 2, end_of(&mut helper, leave)).await {
            Ok(outcome) => {
                helper.dismiss();
                LookResult { outcome, stuck: None }
            }
            Err(_) => LookResult { outcome: Err(helper.overdue()), stuck: Some(helper) },
        }
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

/// The status that `uri`, of an application of this machine, is answered with.
///
/// # Errors
/// What was tried, for people.
///
/// # Cancellation
/// May be dropped at any time; the connection is closed.
async fn status_of(uri: &Uri) -> Result<StatusCode, String> {
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, uri.port_u16().unwrap_or(HTTP_PORT)))
        .await
        .map_err(|error| format!("cannot connect to {host}: {error}"))?;
    let broken = |error: hyper::Error| format!("no proper answer: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Dropped with this future.
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    let request = Request::get(path)
        .header(HOST, authority)
        .header(USER_AGENT, concat!("elect/", env!("CARGO_PKG_VERSION")))
        .body(String::new())
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(broken)?;
    Ok(answer.status())
}

/// Ends when nothing of it lives any more, which is soon after the end of the leave.
async fn end_of(helper: &mut Helper, leave: &mut watch::Receiver<Leave>) -> Result<(), String> {
    while !leave.borrow().is_over {
        tokio::select! {
            biased;
            new = next(leave) => {
                if let Some(deadlines) = new.deadlines {
                    helper.renewed(deadlines);
                }
            }
            outcome = helper.over() => return outcome,
        }
    }
    helper.kill();
    helper.over().await.and(Err(UNWAITED.to_owned()))
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
