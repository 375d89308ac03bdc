//! Feeds the pages of `--http` with the state of a candidacy, counts events for its metrics, and surveys the election
//! for it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Lease, Profile, Store};
use tokio::sync::Notify;

use crate::command::survey::{FRESH, pace, pause_status, survey_one};
use crate::config::{self, CampaignPlan, ListenAddress};
use crate::election::history::since;
use crate::election::machine::{Event, News};
use crate::election::{Call, CallEnd, CallOutcome};
use crate::guard::{self, Deadlines, Ended};
use crate::report::http::{
    Clocks, ElectionWatcher, Failure, HttpState, Identity, Listener, Reason, Server, StatusSnapshot,
};
use crate::report::{Renewals, Suspicion, wall_clock};

/// Binds the address before anything else happens: a candidate that cannot serve `--http` does not take part. After
/// elect has executed itself anew, `socket` is listening already.
///
/// # Errors
/// The address cannot be bound.
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

/// Says what is wrong with the address, and what to do about it, as far as the error tells.
fn way_out(error: &io::Error, address: &ListenAddress) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program has the port: take another one, or 0 for any that is free".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("; {} is no address of this machine", address.host())
        }
        io::ErrorKind::PermissionDenied => "; take a port from 1024 on".to_owned(),
        // A failed name resolution is the error without a number from the kernel.
        _ if error.raw_os_error().is_none() => {
            format!("; the name {} does not resolve", address.host())
        }
        _ => String::new(),
    }
}

/// The shown state of a candidate, and the listener that serves it once [`CandidatePage::serve`] is called.
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
            promise: store.promise,
            is_timed: store.lease != Lease::Unlimited,
            has_command: grace.is_none(),
            grace,
        };
        let board = HttpState::new(identity, Clocks { now: guard::now, wall: wall_clock });
        Self { board: Arc::new(board), listener }
    }

    /// Returns the address that the page is served on.
    pub(in crate::command) const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns what makes the parts that a new start of elect takes over: the socket, and a note of the metrics so far.
    /// It may be called after [`CandidatePage::serve`].
    ///
    /// # Errors
    /// No file descriptor is left.
    pub(in crate::command) fn kept(
        &self,
    ) -> anyhow::Result<impl FnOnce() -> (OwnedFd, String) + use<>> {
        let socket = self.listener.as_fd().try_clone_to_owned();
        let socket = socket.context("cannot keep the socket of --http")?;
        let board = Arc::clone(&self.board);
        Ok(move || (socket, board.metrics().note()))
    }

    /// Starts to serve. The process has one more thread from here on.
    ///
    /// # Errors
    /// The kernel refuses a thread or a descriptor, or the store cannot be opened a second time.
    pub(in crate::command) fn serve(self, plan: &CampaignPlan) -> anyhow::Result<Server> {
        let store = config::connect(&plan.backend)?;
        let surveyor = Surveyor::new(store, plan.election.clone());
        let server = Server::start(self.listener, self.board, Box::new(surveyor));
        server.context("cannot start the HTTP server")
    }
}

pub(in crate::command) struct Feed<'a> {
    board: &'a HttpState,
    store: &'a dyn Store,
    host: &'a str,
    /// The id of the store has been passed on. It does not change.
    is_store_known: bool,
    steps_down: bool,
    /// An outage has been told, and has not ended since.
    in_trouble: bool,
}

impl<'a> Feed<'a> {
    /// Makes the feed of a candidate on this host.
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
            // Processes that the command left running count as the command: no other candidate leads before they are
            // gone.
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

    /// Says that a sidecar leads no more, before its application has stopped.
    pub(super) fn sidecar_is_over(&self, news: &News) {
        match news {
            News::Lost(why) => self.board.over(Reason::Lost, Some(why.clone())),
            News::SteppingDown(why) => self.board.over(Reason::SteppedDown, Some(why.clone())),
            _ => {}
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

/// Returns a name that is different for every store, and the same for all candidates of one store: its id, or else
/// its location. The location is without the query, which may differ between candidates, such as a kubeconfig. A
/// local disk is told apart by its host.
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

/// The shortest time between two questions to the store, however many clients ask, while the candidate does not turn
/// from waiting to leading or the other way.
const PAUSE: Duration = Duration::from_secs(5);
/// How long the answer to a client waits for the store.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time limit of a survey for a client that watches. After a failure, the store is left alone for as long.
const PATIENCE_OF_WATCHERS: Duration = Duration::from_secs(1);
/// How long a client that asked for the suspicion counts as interested. Prometheus asks once a minute by default.
const INTEREST: Duration = Duration::from_secs(120);

/// Surveys the election over a connection of its own, so that the engine's connection stays free for renewals.
struct Surveyor {
    store: Box<dyn Store>,
    election: ElectionName,
    asked: tokio::sync::Mutex<Option<Boottime>>,
    seen: Mutex<SurveyorState>,
    interest: Notify,
}

/// What the surveys have shown so far.
#[derive(Default)]
struct SurveyorState {
    newest: Option<StatusSnapshot>,
    renewals: Renewals,
    /// The last time at which a client asked for the suspicion.
    wanted: Option<Boottime>,
}

impl Surveyor {
    /// Makes a surveyor for an election. It asks nothing before a client does.
    fn new(store: Box<dyn Store>, election: ElectionName) -> Self {
        Self {
            store,
            election,
            asked: tokio::sync::Mutex::default(),
            seen: Mutex::default(),
            interest: Notify::new(),
        }
    }

    /// Surveys the election. Returns how soon to ask again for a client that watches, or `None` without an answer.
    async fn survey(&self, at: Boottime, patience: Duration) -> Option<Duration> {
        let see = async {
            let mut snapshot = survey_one(&*self.store, &self.election).await.ok()?;
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
    async fn snapshot(&self, turned: Boottime) -> Option<StatusSnapshot> {
        if let Ok(mut asked) = self.asked.try_lock() {
            let at = guard::now();
            if asked.is_none_or(|asked| asked + PAUSE <= at || asked <= turned) {
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
