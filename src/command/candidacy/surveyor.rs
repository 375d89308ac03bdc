use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, ElectionName, Store};
use tokio::sync::Notify;

use crate::command::look::{FRESH, pace, see};
use crate::election::history::since;
use crate::guard;
use crate::report::http::{HttpState, Snapshot, Watcher};
use crate::report::{Renewals, Suspicion};

/// The least time between two questions to the store, however many clients ask.
const PAUSE: Duration = Duration::from_secs(5);
/// How long an answer to a client waits for one to us.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long one to somebody who watches may take. Then the store is left alone for as long.
const PATIENCE_OF_WATCHERS: Duration = Duration::from_secs(1);
/// Who wants to know how suspicious the leader is asks again by then: Prometheus does once a minute by itself.
const INTEREST: Duration = Duration::from_secs(120);

/// Who else takes part, asked over a connection of its own: the engine's has better things to do.
pub(super) struct Surveyor {
    store: Box<dyn Store>,
    election: ElectionName,
    asked: tokio::sync::Mutex<Option<Boottime>>,
    seen: Mutex<Seen>,
    interest: Notify,
}

/// What is known so far.
#[derive(Default)]
struct Seen {
    newest: Option<Snapshot>,
    renewals: Renewals,
    /// When somebody last wanted to know how suspicious the leader is.
    wanted: Option<Boottime>,
}

impl Surveyor {
    /// Of an election in a store. Nothing is asked before somebody wants to know.
    pub(super) fn new(store: Box<dyn Store>, election: ElectionName) -> Self {
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
        seen.newest = Some(Snapshot { at, status, suspicion });
        Some(pace(leader.into_iter()))
    }

    fn is_wanted(&self) -> bool {
        let wanted = self.seen().wanted;
        wanted.is_some_and(|wanted| guard::now() < wanted + INTEREST)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Watcher for Surveyor {
    async fn look(&self) -> Option<Snapshot> {
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
