use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};

/// What a store under test has to offer, beyond being one.
///
/// Every test has a bench of its own. Nothing may be left of one in the next: a server may be shared,
/// but then each bench keeps its elections apart from the others'.
#[async_trait]
pub trait Bench: Send + Sync {
    /// A new connection, as another process on another machine would have.
    async fn connect(&self) -> Box<dyn Store>;

    /// The time to give to [`Seat::refresh`]. It rises; for a store of unlimited leases it may be made up.
    fn now(&self) -> Boottime;

    /// The length of lease to ask for.
    fn ttl(&self) -> Duration {
        Duration::from_secs(15)
    }

    /// Lets time pass, for the store as well as in [`Bench::now`]. A bench whose time is made up passes
    /// it on; others wait.
    async fn advance(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// The process that has this connection and this seat dies without a word, and the store has
    /// noticed when this returns: sessions are expired by hand where that takes time.
    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        drop((seat, store));
    }

    /// Somebody removes all that the store has of the election, while nobody is in it.
    async fn wipe(&self, election: &ElectionName);

    /// Somebody removes the entry of this candidate by hand.
    async fn evict(&self, election: &ElectionName, candidate: &Candidate);

    /// The store stops answering those who want to enter the election, until the stall is dropped. Only a bench with
    /// servers of its [own](Servers::Own) is asked to.
    async fn stall(&self, election: &ElectionName) -> Stall;
}

/// What servers a law needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// Others may use them meanwhile.
    Shared,
    /// They are the bench's alone: it is to [stall](Bench::stall).
    Own,
}

/// A bench that tests hand around.
pub type Shared = Arc<dyn Bench>;

/// Lasts as long as the store does not answer.
pub type Stall = Box<dyn Any + Send>;
