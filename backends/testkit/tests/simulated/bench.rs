use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};

use elect_testkit::sim::{
    Clock, Controls, Effect, Kind, ManualClock, Options, Rule, RuleId, Sim, SimServer, boottime,
};
use elect_testkit::{Bench, Stall, election};

/// The simulated store as a bench for the conformance suite.
pub(crate) struct SimBench {
    place: SimLocation,
    ttl: Duration,
}

enum SimLocation {
    Here(Sim, Arc<ManualClock>),
    There(SimServer),
}

impl SimBench {
    /// Creates a store in this process, where time passes only when the suite says so.
    pub(crate) fn in_process(kind: Kind) -> Self {
        let clock = Arc::new(ManualClock::default());
        let sim = Sim::new(Options::new(kind), Arc::clone(&clock) as Arc<dyn Clock>);
        Self { place: SimLocation::Here(sim, clock), ttl: Duration::from_secs(15) }
    }

    /// Starts a store in a process of its own, in real time. Its leases are short because some laws wait
    /// for their end, but long enough for a busy machine.
    pub(crate) fn as_server(kind: Kind) -> Self {
        let server = SimServer::start(&Options::new(kind));
        Self { place: SimLocation::There(server), ttl: Duration::from_secs(4) }
    }

    fn controls(&self) -> Controls {
        match &self.place {
            SimLocation::Here(sim, _) => sim.controls(),
            SimLocation::There(server) => server.controls(),
        }
    }
}

#[async_trait]
impl Bench for SimBench {
    async fn connect(&self) -> Box<dyn Store> {
        match &self.place {
            SimLocation::Here(sim, _) => sim.connect(),
            SimLocation::There(server) => server.connect(),
        }
    }

    fn now(&self) -> Boottime {
        match &self.place {
            SimLocation::Here(_, clock) => clock.now(),
            SimLocation::There(_) => boottime(),
        }
    }

    fn ttl(&self) -> Duration {
        self.ttl
    }

    async fn advance(&self, span: Duration) {
        match &self.place {
            SimLocation::Here(_, clock) => clock.advance(span),
            SimLocation::There(_) => tokio::time::sleep(span).await,
        }
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        let ticket = seat.ticket().expect("a ticket");
        drop((seat, store));
        self.controls().bury(&election(), &ticket);
    }

    async fn wipe(&self, election: &ElectionName) {
        self.controls().wipe(election);
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        assert_eq!(self.controls().remove(election, &candidate.id), 1, "entries of {candidate:?}");
    }

    async fn stall(&self, _election: &ElectionName) -> Stall {
        let controls = self.controls();
        let rule = controls.add(Rule::new(Effect::Hold));
        Box::new(Held { controls, rule })
    }
}

struct Held {
    controls: Controls,
    rule: RuleId,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.controls.lift(self.rule);
    }
}
