//! One that leads, and many that wait, all in this process.

use std::time::Duration;

use elect::{Boottime, Campaign, Error, Leadership};
use elect_testkit::oracle::now;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::contender::Store;
use crate::queue;
use crate::stage::Stage;
use crate::wait::REST;

/// So many come at once: etcd writes several times for each, one after the other.
const GROUP: usize = 50;
/// So long that no candidate renews while a crowd is measured.
const TTL: Duration = Duration::from_secs(100 * 60);

/// A leadership, and the time at which it began.
type Won = (Boottime, Leadership);

/// They leave when this is dropped.
pub(crate) struct Seats<'a> {
    stage: &'a Stage,
    store: Store,
    election: String,
    runtime: Runtime,
    waiting: JoinSet<()>,
    tell: UnboundedSender<Won>,
    won: UnboundedReceiver<Won>,
    leader: Option<Leadership>,
}

impl<'a> Seats<'a> {
    /// One that leads.
    pub(crate) fn start(stage: &'a Stage, store: Store) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (tell, won) = unbounded_channel();
        let election = stage.fresh("seats");
        let waiting = JoinSet::new();
        let mut seats = Self { stage, store, election, runtime, waiting, tell, won, leader: None };
        seats.add();
        seats.next();
        seats
    }

    /// Returns once so many wait.
    pub(crate) fn fill(&mut self, waiting: usize) {
        while self.waiting.len() < waiting {
            let missing = waiting - self.waiting.len();
            (0..missing.min(GROUP)).for_each(|_| self.add());
            self.wait_for(self.waiting.len());
        }
    }

    /// Has the leader resign; the time from then to the next leadership.
    pub(crate) fn hand_over(&mut self) -> Duration {
        let leader = self.leader.take().expect("a leader");
        let from = now();
        self.runtime.block_on(leader.resign()).expect("a resign");
        self.next().since(from)
    }

    /// Nothing in this process runs outside the calls of these functions. This call answers all that came meanwhile,
    /// such as the pings of all connections.
    pub(crate) fn rest(&self) {
        self.runtime.block_on(async { sleep(REST).await });
    }

    /// Waits for the next leadership.
    fn next(&mut self) -> Boottime {
        let (at, leader) = self.runtime.block_on(self.won.recv()).expect("we have a sender, too");
        self.leader = Some(leader);
        // Its task has nothing left to do.
        self.runtime.block_on(self.waiting.join_next());
        at
    }

    fn add(&mut self) {
        let url = self.store.url(&self.stage.place(self.store));
        let campaign = Campaign::new(&url, &self.election).expect("a campaign").ttl(TTL);
        let tell = self.tell.clone();
        let task = async move {
            let leadership = loop {
                match campaign.lead().await {
                    Ok(leadership) => break leadership,
                    // On a slow machine, not every candidate of a large group connects at the first attempt.
                    Err(Error::Unreached(_)) => {}
                    Err(error) => panic!("no leadership: {error}"),
                }
            };
            let _ = tell.send((now(), leadership));
        };
        self.waiting.spawn_on(task, self.runtime.handle());
    }

    fn wait_for(&self, waiting: usize) {
        let pause = |time| self.runtime.block_on(async { sleep(time).await });
        queue::wait_for((self.stage, self.store, &self.election), waiting, pause);
    }
}

impl Drop for Seats<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // Candidates leave in the background. Wait here, so that they do not disturb the next measurement.
        self.waiting.abort_all();
        self.wait_for(0);
        if let Some(leader) = self.leader.take() {
            let _ = self.runtime.block_on(leader.resign());
        }
    }
}
