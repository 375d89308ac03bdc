use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, ElectionName, Store};

use crate::guard;
use crate::report::ElectionStatus;
use crate::report::http::{Lookout, Sight};

/// The least time between two questions to the store, however many clients ask.
const PAUSE: Duration = Duration::from_secs(5);
/// How long an answer to a client waits for one to us.
const PATIENCE: Duration = Duration::from_millis(500);

/// Who else takes part, asked over a connection of its own: the engine's has better things to do.
pub(super) struct Surveyor {
    store: Box<dyn Store>,
    election: ElectionName,
    asked: tokio::sync::Mutex<Option<Boottime>>,
    newest: Mutex<Option<Sight>>,
}

impl Surveyor {
    /// Of an election in a store. Nothing is asked before somebody wants to know.
    pub(super) fn new(store: Box<dyn Store>, election: ElectionName) -> Self {
        Self { store, election, asked: tokio::sync::Mutex::default(), newest: Mutex::default() }
    }

    fn newest(&self) -> MutexGuard<'_, Option<Sight>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Lookout for Surveyor {
    async fn look(&self) -> Option<Sight> {
        if let Ok(mut asked) = self.asked.try_lock() {
            let at = guard::now();
            if asked.is_none_or(|asked| asked + PAUSE <= at) {
                *asked = Some(at);
                let survey =
                    tokio::time::timeout(PATIENCE, self.store.survey(&self.election)).await;
                if let Ok(Ok(survey)) = survey {
                    let status =
                        ElectionStatus::new(&self.election, &self.store.profile(), &survey);
                    *self.newest() = Some(Sight { at, status });
                }
            }
        }
        self.newest().clone()
    }
}
