use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};

/// The access to a store that the suite needs beyond the contract.
///
/// Every test has its own bench, and one test must leave nothing for the next. Benches may share a server, if each
/// keeps its elections apart from the others'.
#[async_trait]
pub trait Bench: Send + Sync {
    /// Opens a new connection, as another process on another machine would.
    async fn connect(&self) -> Box<dyn Store>;

    /// Returns the time for [`Seat::refresh`]. It rises, and may be made up for a store of unlimited leases.
    fn now(&self) -> Boottime;

    /// Returns the length of lease to ask for.
    fn ttl(&self) -> Duration {
        Duration::from_secs(15)
    }

    /// Lets time pass, for the store as well as in [`Bench::now`]. A bench with a clock of its own moves that clock
    /// on. Others wait.
    async fn advance(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Kills the process with this connection and seat, without a word from it. When this returns the store has
    /// noticed. Where that takes time, the bench ends the session by hand.
    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        drop((seat, store));
    }

    /// Removes all that the store has of the election, while no candidate is in it.
    async fn wipe(&self, election: &ElectionName);

    /// Removes the entry of this candidate by hand.
    async fn evict(&self, election: &ElectionName, candidate: &Candidate);

    /// Stops the store's answers to candidates that want to enter the election, until the stall is dropped. The
    /// suite calls this only on a bench with [its own](Servers::Own) servers.
    async fn stall(&self, election: &ElectionName) -> Stall;
}

/// The servers that a law needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// Servers that other tests use at the same time.
    Shared,
    /// Servers of this bench alone, which it can [stall](Bench::stall).
    Own,
}

/// A bench that several parts of a test share.
pub type Shared = Arc<dyn Bench>;

/// A stall of the store, which ends when this is dropped.
pub type Stall = Box<dyn Any + Send>;
