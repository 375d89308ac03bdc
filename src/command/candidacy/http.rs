//! What `--http` shows of a candidacy, what is counted for it, and who asks the store for it who else takes part.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Lease, Profile, Store};
use tokio::sync::Notify;

use crate::command::look::{FRESH, pace, pause_status, see};
use crate::config::{self, CampaignPlan, ListenAddress};
use crate::election::history::since;
use crate::election::machine::{Event, News};
use crate::election::{Call, CallEnd, CallOutcome};
use crate::guard::{self, Deadlines, Ended};
use crate::report::http::{
    Clocks, ElectionWatcher, Failure, HttpState, Identity, Listener, Reason, Server, StatusSnapshot,
};
use crate::report::{Renewals, Suspicion, wall_clock};

/// Listens, before anything else is done: who cannot be asked does not take part. After a new start we
/// listen already.
///
/// # Errors
/// When that address cannot be had.
pub(in crate::command) fn listen(
    address: &ListenAddress,
    socket: Option<OwnedFd>,
) -> anyhow::Result<Listener> {
    let listener = match socket {
        Some(socket) => Listener::adopt(socket.into()),
        None => Listener::bind(address),
    };
    listener.map_err(|error| {
        let what = format!("cannot listen on {address} for --http{}", way_out(&error, address));
        anyhow::Error::from(error).context(what)
    })
}

/// What is wrong with an address that cannot be had, and what to do, as far as the error tells.
fn way_out(error: &io::Error, address: &ListenAddress) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program has the port: take another one, or 0 for any that is free".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("; {} is no address of this machine", address.host())
        }
        io::ErrorKind::PermissionDenied => "; take a port from 1024 on".to_owned(),
        // A name that does not resolve has no number of the kernel's.
        _ if error.raw_os_error().is_none() => {
            format!("; the name {} does not resolve", address.host())
        }
        _ => String::new(),
    }
}

/// What is shown of a candidate, and what shows it once [`CandidatePage::serve`] is called.
pub(in crate::command) struct CandidatePage {
    pub(in crate::command) board: Arc<HttpState>,
    listener: Listener,
}

impl CandidatePage {
    pub(in crate::command) fn new(
        listener: Listener,
        plan: &CampaignPlan,
        candidate: &Candidate,
        store: &Profile,
        grace: Option<Duration>,
    ) -> Self {
        let identity = Identity {
            election: plan.election.as_str().to_owned(),
            id: candidate.id.clone(),
            store: store.scheme,
            is_timed: store.lease != Lease::Unlimited,
            has_command: grace.is_none(),
            grace,
        };
        let board = HttpState::new(identity, Clocks { now: guard::now, wall: wall_clock });
        Self { board: Arc::new(board), listener }
    }

    /// Where it is shown.
    pub(in crate::command) const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// What is left for a new start once [`CandidatePage::serve`] has taken this.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(in crate::command) fn kept(&self) -> anyhow::Result<HttpHandoff> {
        let socket = self.listener.as_fd().try_clone_to_owned();
        let socket = socket.context("cannot keep the socket of --http")?;
        Ok(HttpHandoff { board: Arc::clone(&self.board), socket })
    }

    /// Begins to answer. The process has one more thread from here on.
    ///
    /// # Errors
    /// When a thread or a descriptor is refused, or the store cannot be opened once more.
    pub(in crate::command) fn serve(self, plan: &CampaignPlan) -> anyhow::Result<Server> {
        let store = config::connect(&plan.flags.backend)?;
        let surveyor = Surveyor::new(store, plan.election.clone());
        let server = Server::start(self.listener, self.board, Box::new(surveyor));
        server.context("cannot start the HTTP server")
    }
}

/// The socket, which goes on listening, and what was counted so far.
pub(in crate::command) struct HttpHandoff {
    board: Arc<HttpState>,
    socket: OwnedFd,
}

impl HttpHandoff {
    pub(in crate::command) fn into_listener(self) -> (OwnedFd, String) {
        (self.socket, self.board.metrics().note())
    }
}

pub(in crate::command) struct Feed<'a> {
    board: &'a HttpState,
    store: &'a dyn Store,
    host: &'a str,
    /// The store's id is told, which does not change.
    is_store_known: bool,
    steps_down: bool,
    /// Trouble has been told of, and not been over since.
    in_trouble: bool,
}

impl<'a> Feed<'a> {
    /// Of a candidate on this host.
    pub(in crate::command) const fn new(
        board: &'a HttpState,
        store: &'a dyn Store,
        host: &'a str,
    ) -> Self {
        Self { board, store, host, is_store_known: false, steps_down: false, in_trouble: false }
    }

    pub(in crate::command) fn news(&mut self, news: &News) {
        match news {
            News::Waiting { ahead } => self.board.waiting(*ahead),
            News::Leading(token) => self.board.won(*token),
            News::Lost(why) => self.board.over(Reason::Lost, Some(why.clone())),
            News::SteppingDown(why) => {
                self.steps_down = true;
                self.board.remark("stepping_down", Some(why.clone()));
            }
            News::Stopping(_) => self.board.remark("stopping", None),
            News::MaxRun(_) => self.board.remark("stopping", Some("--max-run".to_owned())),
            News::Resting { pause, .. } => {
                let pause = humantime::format_duration(*pause);
                self.board
                    .remark("resting", Some(format!("the command is started again in {pause}")));
            }
            News::Restarting(_) => {
                self.board.metrics().restarted();
                self.board.remark("restarting", None);
            }
            News::Emptied if self.steps_down => self.board.over(Reason::SteppedDown, None),
            // What the command left running counts as it: nobody else leads before it is gone.
            News::Emptied => self.board.over(Reason::Ended, None),
            News::Leaving { .. } => self.board.leave(),
            News::Blocked(block) => {
                self.board.waiting(0);
                self.board.remark(block.name(), Some(block.why()));
            }
            News::Reprioritized(what) => self.board.remark("priority", Some(what.clone())),
            News::StandingBack { id, .. } => {
                self.board.remark("standing_back", Some(format!("for {id}")));
            }
            News::Trouble(error, _) => {
                if !std::mem::replace(&mut self.in_trouble, true) {
                    self.board.remark("trouble", Some(error.to_string()));
                }
            }
            News::Recovered(_) => {
                self.in_trouble = false;
                self.board.remark("recovered", None);
            }
            News::Granted { .. }
            | News::InDoubt(_)
            | News::Holding(_)
            | News::EntryLeft(_)
            | News::MayNotSignal(_)
            | News::Left(..)
            | News::Unrecorded(_)
            | News::ControlUnread(_)
            | News::HistoryUnkept(_) => {}
        }
    }

    pub(in crate::command) fn happened(&mut self, event: &Event) {
        match *event {
            Event::Ended(Ended::Exited(code)) | Event::EndedAfterKey(Ended::Exited(code), _) => {
                self.board.metrics().command_ended("exited", code.into());
            }
            Event::Ended(Ended::Signaled(signal))
            | Event::EndedAfterKey(Ended::Signaled(signal), _) => {
                self.board.metrics().command_ended("signaled", signal.into());
            }
            Event::NotStarted(_) | Event::GuardianDied => self.board.over(Reason::Failed, None),
            Event::ControlRead(ref control) => {
                self.board.paused(control.pausing().map(pause_status));
            }
            Event::Started => self.board.command_runs(true),
            Event::Outlived | Event::Empty => self.board.command_runs(false),
            _ => {}
        }
    }

    pub(in crate::command) fn renewed(&mut self, deadlines: Deadlines) {
        self.board.renewed(deadlines.soft, deadlines.hard);
    }

    pub(in crate::command) fn called(&mut self, called: &CallEnd) {
        let metrics = self.board.metrics();
        let CallEnd { call, took, outcome } = called;
        let label = match outcome {
            CallOutcome::Proven | CallOutcome::Answered => "answered",
            CallOutcome::Failed(kind) => Failure::Error(*kind).name(),
            CallOutcome::Abandoned => "abandoned",
        };
        metrics.called(call.name(), label);
        let has_entry = matches!(outcome, CallOutcome::Proven | CallOutcome::Answered);
        if *call == Call::Refresh && has_entry && !self.is_store_known {
            let profile = self.store.profile();
            // A new store gets its id with its first entry.
            self.is_store_known = profile.id.is_some();
            self.board.answered(store_name(&profile, self.host));
        }
        if *call == Call::Refresh && self.board.has_won() {
            match outcome {
                CallOutcome::Proven => metrics.renewed(*took),
                CallOutcome::Failed(kind) => metrics.not_renewed(Failure::Error(*kind)),
                CallOutcome::Abandoned => metrics.not_renewed(Failure::Timeout),
                CallOutcome::Answered => {}
            }
        }
    }
}

/// What tells a store from all others, and is the same for all its candidates: its id, or else its place without what
/// each of them has of its own, such as a kubeconfig. A local disk is that of its host.
fn store_name(store: &Profile, host: &str) -> String {
    let place = store.location.split('?').next().unwrap_or_default();
    match (&store.id, place.split_once("://")) {
        (Some(id), _) => id.to_string(),
        (None, Some((scheme, path))) if store.lease == Lease::Unlimited => {
            format!("{scheme}://{host}{path}")
        }
        (None, _) => place.to_owned(),
    }
}

/// The least time between two questions to the store, however many clients ask.
const PAUSE: Duration = Duration::from_secs(5);
/// How long an answer to a client waits for one to us.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long one to somebody who watches may take. Then the store is left alone for as long.
const PATIENCE_OF_WATCHERS: Duration = Duration::from_secs(1);
/// Who wants to know how suspicious the leader is asks again by then: Prometheus does once a minute by itself.
const INTEREST: Duration = Duration::from_secs(120);

/// Who else takes part, asked over a connection of its own: the engine's has better things to do.
struct Surveyor {
    store: Box<dyn Store>,
    election: ElectionName,
    asked: tokio::sync::Mutex<Option<Boottime>>,
    seen: Mutex<SurveyorState>,
    interest: Notify,
}

/// What is known so far.
#[derive(Default)]
struct SurveyorState {
    newest: Option<StatusSnapshot>,
    renewals: Renewals,
    /// When somebody last wanted to know how suspicious the leader is.
    wanted: Option<Boottime>,
}

impl Surveyor {
    /// Of an election in a store. Nothing is asked before somebody wants to know.
    fn new(store: Box<dyn Store>, election: ElectionName) -> Self {
        Self {
            store,
            election,
            asked: tokio::sync::Mutex::default(),
            seen: Mutex::default(),
            interest: Notify::new(),
        }
    }

    /// Asks, and says how soon to ask again where somebody watches; `None` if there is no answer.
    async fn survey(&self, at: Boottime, patience: Duration) -> Option<Duration> {
        let see = async {
            let mut snapshot = see(&*self.store, &self.election).await.ok()?;
            if let Some(leader) = &mut snapshot.survey.leader {
                leader.since = since(&*self.store, &self.election, leader).await;
            }
            Some(snapshot)
        };
        let snapshot = tokio::time::timeout(patience, see).await.ok()??;
        let leader = snapshot.survey.leader.as_ref();
        let mut seen = self.seen();
        let suspicion = seen.renewals.take_in(leader, at, guard::now());
        let status = snapshot.status(&self.store.profile());
        seen.newest = Some(StatusSnapshot { at, status, suspicion });
        Some(pace(leader.into_iter()))
    }

    fn is_wanted(&self) -> bool {
        let wanted = self.seen().wanted;
        wanted.is_some_and(|wanted| guard::now() < wanted + INTEREST)
    }

    fn seen(&self) -> MutexGuard<'_, SurveyorState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ElectionWatcher for Surveyor {
    async fn look(&self) -> Option<StatusSnapshot> {
        if let Ok(mut asked) = self.asked.try_lock() {
            let at = guard::now();
            if asked.is_none_or(|asked| asked + PAUSE <= at) {
                *asked = Some(at);
                self.survey(at, PATIENCE).await;
            }
        }
        self.seen().newest.clone()
    }

    fn suspicion(&self) -> Option<Suspicion> {
        let now = guard::now();
        let mut seen = self.seen();
        seen.wanted = Some(now);
        self.interest.notify_one();
        let newest = seen.newest.as_ref().filter(|snapshot| now.since(snapshot.at) < FRESH);
        newest.and_then(|snapshot| snapshot.suspicion)
    }

    async fn watch(&self, board: &HttpState) {
        loop {
            self.interest.notified().await;
            while self.is_wanted() && board.view().is_next() {
                let pause = {
                    let mut asked = self.asked.lock().await;
                    let at = guard::now();
                    *asked = Some(at);
                    self.survey(at, PATIENCE_OF_WATCHERS).await
                };
                tokio::time::sleep(pause.unwrap_or(PATIENCE_OF_WATCHERS)).await;
            }
        }
    }
}
