//! This file defines the interface between a simulated candidate and its store: calls that begin, and answers that
//! arrive.

use std::fmt::Debug;

use elect_api::{Boottime, Error};

use crate::election::{Call, Reply};

/// A request and its number, under which its answer arrives. The number is `None` if the answer is not needed.
#[derive(Clone, Debug)]
pub struct Asked<A> {
    /// The number.
    pub call: Option<u32>,
    /// The request.
    pub ask: A,
}

/// A message from a store to a candidate.
#[derive(Clone, Debug)]
pub enum Told<R> {
    /// The answer to the request with this number.
    Answer(u32, R),
    /// The entry right before the one with this nonce has gone.
    Woken(u64),
}

/// The first number of errands' requests. Others send these requests for a candidate whose processes are dead.
pub(super) const ERRANDS: u32 = 1 << 31;

/// A seat as a plain state. It has one call at a time under way, and sends each request as a message.
pub trait Seat: Debug {
    /// The type of its requests.
    type Ask: Clone + Debug;
    /// The type of the answers.
    type Reply: Clone + Debug;
    /// A ticket, with which others can give up its entry.
    type Ticket: Clone + Debug;

    /// Returns the ticket of its entry, or of the entry that the next refresh would make. `None` before the seat is
    /// open.
    fn ticket(&self) -> Option<Self::Ticket>;

    /// Begins a call at `now`. Returns the outcome if it is known without an answer.
    fn call(&mut self, now: Boottime, call: &Call) -> Option<Result<Reply, Error>>;

    /// Takes in, at `now`, the answer to the request with this number. Returns the outcome of the call, if it is known
    /// now.
    fn hear(
        &mut self,
        now: Boottime,
        call: u32,
        reply: Self::Reply,
    ) -> Option<Result<Reply, Error>>;

    /// Takes in the answer to the request of an errand.
    fn hear_errand(&mut self, call: u32, reply: Self::Reply);

    /// Abandons the call under way. Requests that were sent may still take effect.
    fn abandon(&mut self);

    /// Gives up the entry with this ticket, as others would.
    fn redeem(&mut self, ticket: Self::Ticket);

    /// Returns the requests that have been made since the last time, in order.
    fn post(&mut self) -> Vec<Asked<Self::Ask>>;

    /// Returns whether the store has hinted, since the last time, that the seat's place may have changed.
    fn is_woken(&mut self) -> bool;

    /// Takes in the store's hint that the entry before the one with this nonce has gone.
    fn wake(&mut self, nonce: u64);
}
