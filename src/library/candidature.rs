//! One candidacy of a program, and what is heard of it.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Boottime, Candidate, ElectionName, Store, Survey};
use tokio::sync::watch;

use super::Error;
use super::engine::Engine;
use super::leadership::Told;
use super::work::Work;
use crate::election::Called;
use crate::election::driver::{self, Candidacy, Clock as _, OnDuty};
use crate::election::machine::{Event, Machine, News, Rules, Settles, Verdict, Wait};
use crate::election::timing::Timing;
use crate::guard::Deadlines;

/// One candidacy with all that it needs.
pub(super) struct Candidature {
    pub(super) store: Arc<dyn Store>,
    pub(super) election: ElectionName,
    pub(super) candidate: Candidate,
    pub(super) ttl: Duration,
    pub(super) timing: Timing,
    pub(super) wait: Wait,
}

impl Candidature {
    /// Takes part to the end; what is to be said about it once nobody leads, or has led, by it.
    pub(super) async fn take_part(
        self,
        engine: Arc<Engine>,
        work: Work,
        told: Arc<watch::Sender<Told>>,
    ) -> Result<(), Error> {
        let candidacy = Candidacy {
            store: &*self.store,
            election: &self.election,
            candidate: &self.candidate,
            ttl: self.ttl,
            once: None,
        };
        let mut observer = Observer::new(told);
        let mut work = OnDuty::new(work, &*engine, Some(self.timing.kill_grace));
        let machine = Machine::new(self.rules(), self.timing, engine.now(), fastrand::u64(..));
        let verdict = driver::drive(
            &candidacy,
            machine,
            &*engine,
            &mut work,
            &mut driver::no_inbox(),
            &mut observer,
        )
        .await;
        match verdict {
            Verdict::StoreFailed(error) => Err(Error::of_store(error)),
            Verdict::Unreached => {
                let location = self.store.profile().location;
                Err(Error::Unreached(format!("{location} did not answer in time")))
            }
            Verdict::Failed(why) => Err(Error::Failed(why)),
            _ => observer.left.map_or(Ok(()), |error| Err(Error::of_store(error))),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            wait: self.wait,
            division: self.candidate.division,
            settles: Settles::of(self.candidate.division, &self.election),
            ..Rules::of(&self.candidate.id, self.candidate.priority)
        }
    }
}

/// Tells the program why leadership ends, and keeps what it is to be told at the end.
pub(super) struct Observer {
    told: Arc<watch::Sender<Told>>,
    /// Why our entry could not be removed.
    pub(super) left: Option<elect_api::Error>,
}

impl Observer {
    pub(super) const fn new(told: Arc<watch::Sender<Told>>) -> Self {
        Self { told, left: None }
    }
}

impl driver::Observer for Observer {
    fn news(&mut self, news: News) {
        match news {
            News::Lost(why) | News::SteppingDown(why) => {
                self.told.send_modify(|told| _ = told.why.get_or_insert(why));
            }
            News::EntryLeft(error) => self.left = Some(error),
            _ => {}
        }
    }

    fn happened(&mut self, _: &Event) {}

    fn renewed(&mut self, _: Deadlines) {}

    fn called(&mut self, _: &Called) {}

    fn turns(&mut self, _: Option<Boottime>) {}

    fn wants_surveys(&self) -> bool {
        false
    }

    fn survey(&mut self, _: &Survey, _: Option<&str>) -> Option<Event> {
        None
    }
}
