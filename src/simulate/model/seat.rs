//! What a simulated candidate has of a store: calls that begin, and answers that come.

use std::fmt::Debug;

use elect_api::{Boottime, Error};

use crate::election::{Call, Reply};

/// A request, with the number by which its answer is known; `None` if nobody waits for one.
#[derive(Clone, Debug)]
pub struct Asked<A> {
    /// The number.
    pub call: Option<u32>,
    /// What is asked.
    pub ask: A,
}

/// What a store tells a candidate.
#[derive(Clone, Debug)]
pub enum Told<R> {
    /// The answer to the request of this number.
    Answer(u32, R),
    /// The entry right before that with this nonce has gone.
    Woken(u64),
}

/// From this number on, requests are those of errands: others send them for a candidate whose processes are dead.
pub(super) const ERRANDS: u32 = 1 << 31;

/// A seat as a state: one call at a time is under way, and each request is a message.
pub trait Seat: Debug {
    /// What it asks.
    type Ask: Clone + Debug;
    /// What it is answered.
    type Reply: Clone + Debug;
    /// What it takes to give up its entry for it.
    type Ticket: Clone + Debug;

    /// That of the entry that it has, or that the next refresh would make; `None` before it is open.
    fn ticket(&self) -> Option<Self::Ticket>;

    /// A call begins at `now`. Its outcome, if that is known without an answer.
    fn call(&mut self, now: Boottime, call: &Call) -> Option<Result<Reply, Error>>;

    /// The answer to the request of this number is read at `now`. The outcome of the call, if it has one now.
    fn hear(
        &mut self,
        now: Boottime,
        call: u32,
        reply: Self::Reply,
    ) -> Option<Result<Reply, Error>>;

    /// The same for a request of an errand.
    fn hear_errand(&mut self, call: u32, reply: Self::Reply);

    /// Nobody waits for the call under way any more; what was sent may be carried out.
    fn abandon(&mut self);

    /// Somebody gives up the entry with this ticket.
    fn redeem(&mut self, ticket: Self::Ticket);

    /// What is to be sent since the last time, in this order.
    fn post(&mut self) -> Vec<Asked<Self::Ask>>;

    /// Whether the store has hinted, since the last time, that its place may have changed.
    fn is_woken(&mut self) -> bool;

    /// The store tells that the entry before that with this nonce has gone.
    fn wake(&mut self, nonce: u64);
}
