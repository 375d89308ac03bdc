//! Checks the health of the command while it runs, and tells the owner of the command what the checks found.

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
use crate::config::{CommandLine, HealthPlan, HealthUrl};
use crate::election::machine::Event;
use crate::guard::{self, Deadlines, Inherited, Order};
use crate::report::Log;

/// The task that checks the health of the command again and again.
pub(in crate::command) struct CommandHealth<'a> {
    check: HealthCheck<'a>,
    log: &'a Log,
    leave: watch::Receiver<Leave>,
    found: watch::Sender<Option<String>>,
    checking: watch::Sender<bool>,
    withheld: watch::Receiver<bool>,
}

/// The other end of [`CommandHealth`], held by the owner of the command.
pub(in crate::command) struct HealthMonitor {
    leave: watch::Sender<Leave>,
    /// The reason why the command is unhealthy.
    found: watch::Receiver<Option<String>>,
    /// Whether a process of a check may still live.
    checking: watch::Receiver<bool>,
    /// Whether the guardian has no ticket because of a check. It must not give up the entry while a health command may
    /// live.
    withheld: watch::Sender<bool>,
    /// The time at which the command was last started.
    started: Option<Boottime>,
    /// How long the command had run when it was found unhealthy.
    relapse: Option<Duration>,
}

/// News from the health checks.
pub(super) enum Heard {
    /// The command is unhealthy, for this reason.
    Sick(String),
    /// A health command is about to run, or none runs any more.
    Checking(bool),
}

/// Makes the two ends of a health check, if the plan has one. A health command gets this environment.
pub(in crate::command) fn prepare_health_checks<'a>(
    plan: Option<&'a HealthPlan>,
    inherited: &'a Inherited,
    log: &'a Log,
    environment: impl Fn() -> Vec<(OsString, OsString)> + 'a,
) -> Option<(HealthMonitor, CommandHealth<'a>)> {
    let plan = plan?;
    let (leave, left) = watch::channel(Leave { is_over: true, deadlines: None });
    let (found, finds) = watch::channel(None);
    let (checking, checked) = watch::channel(false);
    let (withholds, withheld) = watch::channel(false);
    let (started, relapse) = (None, None);
    let monitor = HealthMonitor {
        leave,
        found: finds,
        checking: checked,
        withheld: withholds,
        started,
        relapse,
    };
    let check = HealthCheck::new(plan, inherited, environment);
    let health = CommandHealth { check, log, leave: left, found, checking, withheld };
    Some((monitor, health))
}

/// Runs the checks at the interval of the plan. Waits for ever without a plan.
pub(in crate::command) async fn run_health_checks(health: Option<CommandHealth<'_>>) -> Infallible {
    let Some(mut health) = health else { return std::future::pending().await };
    loop {
        health.check_one_run().await;
    }
}

impl CommandHealth<'_> {
    /// Checks one command from its start to its end.
    async fn check_one_run(&mut self) {
        self.until(false).await;
        let (mut failures, mut stuck) = (0, Vec::new());
        let mut pause = Box::pin(sleep(self.check.plan.interval));
        while self.waits_for(pause.as_mut()).await {
            pause.set(sleep(self.check.plan.interval));
            if self.check.plan.command.is_some() {
                self.has_the_ticket_withheld().await;
            }
            let found = self.check.run(&mut self.leave).await;
            stuck.extend(found.stuck);
            self.checking.send_replace(!stuck.is_empty());
            let Err(why) = found.outcome else {
                failures = 0;
                continue;
            };
            if self.leave.borrow().is_over {
                break;
            }
            self.log.debug(format_args!("the command did not pass: {why}"));
            failures += 1;
            if failures == self.check.plan.threshold {
                self.found.send_replace(Some(why));
                break;
            }
        }
        for mut helper in stuck {
            // The reason for the kill has been logged before.
            let _ = helper.over().await;
            helper.dismiss();
        }
        self.checking.send_replace(false);
        self.until(true).await;
    }

    /// Waits until the ticket is withheld. A health command has a guardian of its own, and the command's guardian
    /// could redeem the ticket while the health command lives.
    async fn has_the_ticket_withheld(&mut self) {
        self.checking.send_replace(true);
        if self.withheld.wait_for(|withheld| *withheld).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the next check. Returns `false` if the command ended before.
    async fn waits_for(&mut self, pause: Pin<&mut Sleep>) -> bool {
        tokio::select! {
            biased;
            () = self.until(true) => false,
            () = pause => true,
        }
    }

    /// Waits until the command runs, or, if `is_over`, until it has ended.
    async fn until(&mut self, is_over: bool) {
        if self.leave.wait_for(|leave| leave.is_over == is_over).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl HealthMonitor {
    /// Returns how long the command had run when it was found unhealthy, if it was.
    pub(super) const fn relapse(&self) -> Option<Duration> {
        self.relapse
    }

    /// Returns whether a process of a check may still live.
    pub(super) fn is_checking(&self) -> bool {
        *self.checking.borrow()
    }

    /// Records whether the guardian has no ticket because of a check.
    pub(super) fn set_withheld(&self, withheld: bool) {
        self.withheld.send_replace(withheld);
    }

    /// Returns whether the guardian has no ticket because of a check.
    pub(super) fn is_withheld(&self) -> bool {
        *self.withheld.borrow()
    }

    /// Takes in an event of the command.
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

    /// Takes in an order to the command.
    pub(super) fn ordered(&mut self, order: Order) {
        match order {
            Order::Renewed(deadlines) => {
                self.leave.send_modify(|leave| leave.deadlines = Some(deadlines));
            }
            Order::Stop { .. } | Order::Kill => self.runs(false),
            Order::Ask { .. } | Order::Signal { .. } => {}
        }
    }

    /// Begins or ends the checks.
    fn runs(&mut self, runs: bool) {
        self.found.mark_unchanged();
        self.leave.send_if_modified(|leave| std::mem::replace(&mut leave.is_over, !runs) == runs);
    }

    /// Waits for news from the checks.
    ///
    /// # Cancellation
    /// No news is lost if the future is dropped.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.checking.changed() => return Heard::Checking(*self.checking.borrow_and_update()),
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

/// The port of an application whose URL names none.
const HTTP_PORT: u16 = 80;

/// How long a check may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::command) struct Leave {
    /// Whether the check must end now.
    pub(in crate::command) is_over: bool,
    /// The deadlines at which a check ends, even if elect is stopped then. `None` if the lease does not end by time.
    pub(in crate::command) deadlines: Option<Deadlines>,
}

/// A health check as the user has configured it.
pub(in crate::command) struct HealthCheck<'a> {
    pub(in crate::command) plan: &'a HealthPlan,
    inherited: &'a Inherited,
    environment: Box<dyn Fn() -> Vec<(OsString, OsString)> + 'a>,
}

/// The result of a check.
pub(in crate::command) struct CheckResult {
    /// `Err` with the reason if the application did not pass.
    pub(in crate::command) outcome: Result<(), String>,
    /// A health command that cannot be killed. Its guardian waits for its end, even after this value is dropped.
    pub(in crate::command) stuck: Option<Helper>,
}

impl<'a> HealthCheck<'a> {
    /// Makes a check. `environment` returns the environment of the health command, and is called for each check.
    pub(in crate::command) fn new(
        plan: &'a HealthPlan,
        inherited: &'a Inherited,
        environment: impl Fn() -> Vec<(OsString, OsString)> + 'a,
    ) -> Self {
        Self { plan, inherited, environment: Box::new(environment) }
    }

    /// Checks once, within the time limit of the plan and for no longer than `leave` allows.
    ///
    /// # Cancellation
    /// If the future is dropped, a health command is killed, and nothing waits for its end.
    pub(in crate::command) async fn run(&self, leave: &mut watch::Receiver<Leave>) -> CheckResult {
        if let Some(url) = &self.plan.http {
            let outcome = tokio::select! {
                biased;
                () = end_of_leave(leave) => Err(UNWAITED.to_owned()),
                outcome = probe(url, self.plan.timeout) => outcome,
            };
            if outcome.is_err() {
                return CheckResult { outcome, stuck: None };
            }
        }
        match &self.plan.command {
            Some(command) => self.ask(command, leave).await,
            None => CheckResult { outcome: Ok(()), stuck: None },
        }
    }

    /// Runs a health command under a guardian. All of its processes are dead at the end, whatever it does.
    async fn ask(&self, command: &CommandLine, leave: &mut watch::Receiver<Leave>) -> CheckResult {
        let limit = self.plan.timeout;
        let deadlines = leave.borrow_and_update().deadlines;
        let nothing = Holds::default();
        let held = deadlines.map(|_| HeldLease { deadlines, holds: &nothing });
        let environment = (self.environment)();
        let spec = HelperSpec { command, environment, limit, lease: held };
        let mut helper = match Helper::start(spec, self.inherited) {
            Ok(helper) => helper,
            Err(why) => return CheckResult { outcome: Err(why), stuck: None },
        };
        match timeout(limit * 2, end_of(&mut helper, leave)).await {
            Ok(outcome) => {
                helper.dismiss();
                CheckResult { outcome, stuck: None }
            }
            Err(_) => CheckResult { outcome: Err(helper.overdue()), stuck: Some(helper) },
        }
    }
}

/// The reason of a check that was ended early. It is not shown to people.
const UNWAITED: &str = "was not waited for";

async fn probe(url: &HealthUrl, limit: Duration) -> Result<(), String> {
    match timeout(limit, status_of(url.uri())).await {
        Ok(Ok(status)) if status.is_success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{url} answered {status}")),
        Ok(Err(why)) => Err(format!("{url}: {why}")),
        Err(_) => Err(format!("{url} did not answer within {}", humantime::format_duration(limit))),
    }
}

/// Returns the status of the answer to a request for `uri`, which names an application on this machine.
///
/// # Errors
/// Returns a message for people that says what was tried.
///
/// # Cancellation
/// The future may be dropped at any time. That closes the connection.
async fn status_of(uri: &Uri) -> Result<StatusCode, String> {
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, uri.port_u16().unwrap_or(HTTP_PORT)))
        .await
        .map_err(|error| format!("cannot connect to {host}: {error}"))?;
    let broken = |error: hyper::Error| format!("no proper answer: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // The task ends when this future is dropped.
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

/// Waits until all processes of the health command are dead. They are killed as soon as the leave ends.
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

/// Waits until the leave ends. Waits for ever if the sender is gone.
async fn end_of_leave(leave: &mut watch::Receiver<Leave>) {
    if leave.wait_for(|leave| leave.is_over).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits for the next change, and returns it. Waits for ever if the sender is gone.
async fn next(leave: &mut watch::Receiver<Leave>) -> Leave {
    if leave.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    *leave.borrow_and_update()
}
