//! This file defines the kinds of simulated stores: the state of their members, and the seats of their candidates.

use std::fmt::Debug;
use std::time::Duration;

use elect_api::Candidate;
use elect_api::ElectionName;
use elect_simulation::queue::{self, Queue, Rounds};
use elect_simulation::replicas::State;
use elect_simulation::{Chance, NodeId};

use super::queue_seat::{Proof, QueueSeat};
use super::record::Shelf;
use super::record_seat::RecordSeat;
use super::seat::{Asked, Seat, Told};
use super::setup::Setup;

/// A kind of store: the state of its members, and the seat of a candidate.
pub trait Kind: Clone + Debug + Sync {
    /// The seat of a candidate.
    type Seat: Seat;
    /// The state that the members replicate.
    type State: State<Ask = Asked<<Self::Seat as Seat>::Ask>, Reply = Told<<Self::Seat as Seat>::Reply>>;

    /// Returns the state of an empty store.
    fn state(&self, chance: &mut Chance) -> Self::State;

    /// Returns a seat. Its entries use this nonce and the following ones, if the store has nonces.
    fn seat(&self, candidate: Candidate, setup: &Setup, nonce: u64) -> Self::Seat;
}

/// A store with a queue of leases.
#[derive(Clone, Debug)]
pub struct InQueue {
    /// The time between two rounds in which the store ends leases.
    pub expires_every: Duration,
    /// The way in which the store proves leases.
    pub proof: Proof,
}

impl Kind for InQueue {
    type Seat = QueueSeat;
    type State = Leased;

    fn state(&self, chance: &mut Chance) -> Leased {
        let first = chance.between(Duration::ZERO, self.expires_every);
        Leased(Queue::new(Rounds { every: self.expires_every, first }))
    }

    fn seat(&self, candidate: Candidate, setup: &Setup, nonce: u64) -> QueueSeat {
        QueueSeat::new(candidate, setup.options.ttl, nonce, self.proof)
    }
}

/// A store with a record that candidates judge: all but etcd and ZooKeeper.
#[derive(Clone, Debug)]
pub struct OnRecord {
    /// The name of the election.
    pub election: ElectionName,
}

impl Kind for OnRecord {
    type Seat = RecordSeat;
    type State = Shelf;

    fn state(&self, _chance: &mut Chance) -> Shelf {
        Shelf::default()
    }

    fn seat(&self, candidate: Candidate, setup: &Setup, _nonce: u64) -> RecordSeat {
        RecordSeat::new(candidate, setup.options.ttl, setup.lease, self.election.clone())
    }
}

/// The queue that the members replicate.
#[derive(Clone, Debug)]
pub struct Leased(Queue);

impl State for Leased {
    type Ask = Asked<queue::Ask>;
    type Reply = Told<queue::Reply>;

    fn apply(
        &mut self,
        now: Duration,
        client: NodeId,
        asked: &Asked<queue::Ask>,
    ) -> Vec<(NodeId, Told<queue::Reply>)> {
        let (reply, woken) = self.0.answer(now, &asked.ask);
        let answer = asked.call.map(|call| (client, Told::Answer(call, reply)));
        answer.into_iter().chain(wakes(woken)).collect()
    }

    fn next_end(&self) -> Option<Duration> {
        self.0.next_end()
    }

    fn advance(&mut self, now: Duration) -> Vec<(NodeId, Told<queue::Reply>)> {
        wakes(self.0.advance(now)).collect()
    }

    fn begin_term(&mut self, now: Duration) {
        self.0.begin_term(now);
    }

    fn ask_kind(asked: &Asked<queue::Ask>) -> &'static str {
        match asked.ask {
            queue::Ask::Enter(_) => "enter",
            queue::Ask::Renew(_) => "renewal",
            queue::Ask::Leave(_) => "leave",
            queue::Ask::Survey => "look",
        }
    }

    fn reply_kind(told: &Told<queue::Reply>) -> &'static str {
        match told {
            Told::Answer(..) => "answer",
            Told::Woken(_) => "watch event",
        }
    }
}

fn wakes(nonces: Vec<u64>) -> impl Iterator<Item = (NodeId, Told<queue::Reply>)> {
    nonces.into_iter().filter_map(|nonce| Some((owner(nonce)?, Told::Woken(nonce))))
}

/// Returns the first nonce for this start of a candidate. Each start has a million nonces.
pub(super) const fn first_nonce(node: NodeId, starts: u64) -> u64 {
    (node as u64) << 40 | starts << 20
}

fn owner(nonce: u64) -> Option<NodeId> {
    usize::try_from(nonce >> 40).ok()
}
