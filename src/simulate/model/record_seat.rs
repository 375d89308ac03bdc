//! This file runs the real seat of [`elect_record`] in the simulated world, and polls its futures when an answer has
//! arrived.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use elect_api::{
    Boottime, Candidate, ElectionName, Error, ErrorKind, Lease, Order, Profile, Refreshed, Removal,
    Standing, Store as _, Ticket, Wake,
};
use elect_record::{Ask, Purpose, RecordStore, Remote, Reply};

use super::seat::{Asked, ERRANDS, Seat};
use crate::election::{Answer, Call, Reply as Heard};

/// The requests to send, and the answers that have arrived.
#[derive(Debug, Default)]
struct Post {
    /// The number of the last request.
    calls: u32,
    out: Vec<Asked<Ask>>,
    answers: BTreeMap<u32, Reply>,
}

/// The documents, as a client on a simulated machine accesses them.
#[derive(Clone)]
struct RemoteDocuments {
    post: Arc<Mutex<Post>>,
    lease: Lease,
}

impl RemoteDocuments {
    fn post(&self) -> std::sync::MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remote for RemoteDocuments {
    fn profile(&self) -> Profile {
        Profile::new("simulated", "the simulated store".to_owned(), self.lease, Order::Queue)
    }

    async fn ask(
        &self,
        _election: &ElectionName,
        _purpose: Option<Purpose>,
        ask: Ask,
    ) -> Result<Reply, Error> {
        let call = {
            let mut post = self.post();
            post.calls += 1;
            let call = post.calls;
            post.out.push(Asked { call: Some(call), ask });
            call
        };
        std::future::poll_fn(|_| match self.post().answers.remove(&call) {
            Some(reply) => Poll::Ready(Ok(reply)),
            None => Poll::Pending,
        })
        .await
    }
}

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type RealSeat = Arc<tokio::sync::Mutex<Box<dyn elect_api::Seat>>>;

/// A seat on documents, for one candidate.
pub struct RecordSeat {
    desk: RemoteDocuments,
    store: Arc<RecordStore>,
    /// The documents and the store that serve errands.
    errand_desk: RemoteDocuments,
    errand_store: Arc<RecordStore>,
    election: ElectionName,
    candidate: Candidate,
    ttl: Duration,
    seat: Option<RealSeat>,
    opening: Option<Pending<Result<Box<dyn elect_api::Seat>, Error>>>,
    refreshing: Option<Pending<Result<Refreshed, Error>>>,
    resigning: Option<Pending<Result<(), Error>>>,
    /// The errands that others do for the candidate once its processes are dead.
    errands: Vec<Pending<Result<(), Error>>>,
    wake: Option<Wake>,
    is_woken: bool,
}

impl fmt::Debug for RecordSeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordSeat").field("candidate", &self.candidate.id).finish_non_exhaustive()
    }
}

fn poll<T>(pending: &mut Option<Pending<T>>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pending.as_mut()?.as_mut().poll(&mut context) {
        Poll::Ready(outcome) => {
            *pending = None;
            Some(outcome)
        }
        Poll::Pending => None,
    }
}

impl RecordSeat {
    /// Creates the seat of this candidate, on a store with such leases.
    pub(super) fn new(
        candidate: Candidate,
        ttl: Duration,
        lease: Lease,
        election: ElectionName,
    ) -> Self {
        let desk = |calls| {
            let post = Arc::new(Mutex::new(Post { calls, ..Post::default() }));
            RemoteDocuments { post, lease }
        };
        let (desk, errand_desk) = (desk(0), desk(ERRANDS));
        Self {
            store: Arc::new(RecordStore::new(desk.clone())),
            errand_store: Arc::new(RecordStore::new(errand_desk.clone())),
            desk,
            errand_desk,
            election,
            candidate,
            ttl,
            seat: None,
            opening: None,
            refreshing: None,
            resigning: None,
            errands: Vec::new(),
            wake: None,
            is_woken: false,
        }
    }

    /// Polls the call under way, and returns its outcome if there is one.
    fn outcome(&mut self) -> Option<Result<Heard, Error>> {
        if let Some(opened) = poll(&mut self.opening) {
            return Some(opened.map(|seat| {
                self.seat = Some(Arc::new(tokio::sync::Mutex::new(seat)));
                Heard::Opened
            }));
        }
        if let Some(refreshed) = poll(&mut self.refreshing) {
            return Some(
                refreshed.map(|refreshed| Heard::Standing(self.answer(refreshed.standing))),
            );
        }
        poll(&mut self.resigning).map(|resigned| resigned.map(|()| Heard::Resigned))
    }

    fn answer(&mut self, standing: Standing) -> Answer {
        match standing {
            Standing::Leading { token, validity, wake } => {
                self.wake = Some(wake);
                Answer::Leading { token, validity }
            }
            Standing::Waiting { ahead, alive, wake } => {
                self.wake = Some(wake);
                Answer::Waiting { ahead, alive }
            }
            Standing::Evicted(why) => Answer::Evicted(why),
            Standing::Gone(why) => Answer::Gone(why),
        }
    }

    fn poll_wake(&mut self) {
        self.is_woken |= poll(&mut self.wake).is_some();
    }
}

impl Seat for RecordSeat {
    type Ask = Ask;
    type Reply = Reply;
    type Ticket = Ticket;

    fn ticket(&self) -> Option<Ticket> {
        self.seat.as_ref()?.try_lock().ok()?.ticket()
    }

    fn call(&mut self, now: Boottime, call: &Call) -> Option<Result<Heard, Error>> {
        self.is_woken = false;
        match (call, self.seat.clone()) {
            (Call::Open(_), _) => {
                let (store, election) = (Arc::clone(&self.store), self.election.clone());
                let (candidate, ttl) = (self.candidate.clone(), self.ttl);
                self.opening =
                    Some(Box::pin(async move { store.open(&election, &candidate, ttl).await }));
            }
            (Call::Refresh, Some(seat)) => {
                self.wake = None;
                self.refreshing =
                    Some(Box::pin(async move { seat.lock_owned().await.refresh(now).await }));
            }
            (Call::Resign(_), Some(seat)) => {
                self.wake = None;
                self.resigning =
                    Some(Box::pin(async move { seat.lock_owned().await.resign(None).await }));
            }
            (Call::Resign(_), None) => return Some(Ok(Heard::Resigned)),
            _ => return Some(Err(Error::new(ErrorKind::Unfit, "not simulated"))),
        }
        self.outcome()
    }

    fn hear(&mut self, _now: Boottime, call: u32, reply: Reply) -> Option<Result<Heard, Error>> {
        self.desk.post().answers.insert(call, reply);
        let outcome = self.outcome();
        self.poll_wake();
        // An answer that no future took is dropped.
        self.desk.post().answers.remove(&call);
        outcome
    }

    fn hear_errand(&mut self, call: u32, reply: Reply) {
        self.errand_desk.post().answers.insert(call, reply);
        let mut context = Context::from_waker(Waker::noop());
        self.errands.retain_mut(|errand| errand.as_mut().poll(&mut context).is_pending());
        self.errand_desk.post().answers.remove(&call);
    }

    fn abandon(&mut self) {
        (self.opening, self.refreshing, self.resigning) = (None, None, None);
    }

    fn redeem(&mut self, ticket: Ticket) {
        let (store, election) = (Arc::clone(&self.errand_store), self.election.clone());
        let mut errand: Pending<Result<(), Error>> =
            Box::pin(async move { store.remove(&election, Removal::Crashed(&ticket)).await });
        if errand.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.errands.push(errand);
        }
    }

    fn post(&mut self) -> Vec<Asked<Ask>> {
        // A poll sends the request of the next watch.
        self.poll_wake();
        let mut out = std::mem::take(&mut self.desk.post().out);
        out.append(&mut self.errand_desk.post().out);
        out
    }

    fn is_woken(&mut self) -> bool {
        std::mem::take(&mut self.is_woken)
    }

    /// Does nothing, because watches report all changes.
    fn wake(&mut self, _nonce: u64) {}
}
