//! One look at whether something is well: beside the engine and never in its way.

use std::ffi::OsString;
use std::time::Duration;

use elect_api::Holds;
use hyper::client::conn::http1;
use hyper::header::{HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::hooks::{HeldLease, Helper, HelperSpec};
use crate::config::{CommandLine, HealthPlan, HealthUrl};
use crate::guard::{Deadlines, Inherited};

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
    plan: &'a HealthPlan,
    inherited: &'a Inherited,
    environment: Box<dyn Fn() -> Vec<(OsString, OsString)> + 'a>,
}

/// What came of a look.
pub(in crate::command) struct Finding {
    /// Why that which was looked at did not pass, if so.
    pub(in crate::command) outcome: Result<(), String>,
    /// What cannot be killed. Its guardian waits for it, also when it is dropped.
    pub(in crate::command) stuck: Option<Helper>,
}

impl<'a> HealthCheck<'a> {
    /// `environment` is that of a health command, at each look.
    pub(in crate::command) fn new(
        plan: &'a HealthPlan,
        inherited: &'a Inherited,
        environment: impl Fn() -> Vec<(OsString, OsString)> + 'a,
    ) -> Self {
        Self { plan, inherited, environment: Box::new(environment) }
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
        let deadlines = leave.borrow_and_update().deadlines;
        let nothing = Holds::default();
        let held = deadlines.map(|_| HeldLease { deadlines, holds: &nothing });
        let environment = (self.environment)();
        let spec = HelperSpec { command, environment, limit, lease: held };
        let mut helper = match Helper::start(spec, self.inherited) {
            Ok(helper) => helper,
            Err(why) => return Finding { outcome: Err(why), stuck: None },
        };
        match timeout(limit * 2, end_of(&mut helper, leave)).await {
            Ok(outcome) => {
                helper.dismiss();
                Finding { outcome, stuck: None }
            }
            Err(_) => Finding { outcome: Err(helper.overdue()), stuck: Some(helper) },
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
