//! The contract between elect's engine and its stores.
//!
//! A store keeps elections. A candidate opens a [`Seat`] in an election and calls [`Seat::refresh`] until it leads.
//! While it leads, it goes on calling `refresh` to prove that it still does. [`Seat::resign`] gives the place up.
//!
//! The engine waits and repeats. A store offers single, bounded steps. A store that waited by itself would need its own
//! keep-alive and its own idea of time. Such stores produce leaders that believe in a leadership that has ended.
//!
//! # The laws
//!
//! The conformance suite in `elect-testkit` proves each of them for every store.
//!
//! 1. **Bounded.** One call is one bounded attempt. It has no hidden retry, and makes no renewal that the engine did
//!    not ask for. No clock reading decides anything but the lower bound of a token. All other time is an argument.
//! 2. **Idempotent proof.** `refresh` may be called at any time, any number of times. It keeps the candidate's place,
//!    tries to win, and re-proves leadership by a linearizable check of *the candidate's own entry*.
//! 3. **Ambiguity is a kind of its own.** A request is ambiguous if it was sent and its reply was lost, or if its
//!    future was dropped. Such a request is never read as "did not happen". The next `refresh` finds the truth, and no
//!    orphan entry of the candidate is left to block the queue.
//! 4. **A wake is a hint.** It may be late, lost or spurious without breaking anything.
//! 5. **Tokens rise.** Strictly, across all candidates, restarts and re-creations of the election.
//! 6. **Order.** Where the store queues, the first to arrive is the first to lead. One change of leader wakes one
//!    waiter. A candidate has arrived once [`Store::survey`] shows it.
//! 7. **Resigning is prompt and modest.** When `resign` has returned, the next candidate can lead at once. Neither a
//!    resign nor a late or stale ticket ever removes another candidate's entry.
//! 8. **Expiry is the store's to judge.** Where the store has no TTL, each waiting candidate judges: the entry was
//!    unchanged for the *holder's* recorded TTL on the waiting candidate's own clock. The wall clocks of two machines
//!    are never compared.
//! 9. **A survey disturbs no candidate** and needs no candidate's rights. The same holds for a look-out
//!    ([`Store::changed`]): it wakes no waiter, makes nothing, and leaves nothing behind. The texts that a survey shows
//!    are [clean](text), even if another program wrote them.
//! 10. **A leader's cells are written by the leader.** [`Cell::Once`], [`Cell::Runs`] and [`Cell::History`] are written
//!     in one step with the proof that the writer leads. Every later leader reads them. A leader's last words are
//!     written in one step with its resigning, and never hold the resigning up. A cell is not an entry: it outlasts its
//!     writer, and never counts as a candidate. Programs that take no part may read it too, as a survey may
//!     ([`Store::read`]).
//! 11. **A request reaches every candidate.** Every program with write access to the store may write [`Cell::Control`],
//!     even if the election never had a candidate. It writes by compare-and-swap: of two writers that have read the
//!     same version, one is overtaken. Each `refresh` that reports how the candidate leads or waits also brings this
//!     cell, as it stood after the `now` of the call. For a leader it is read in one step with the proof. The wake ends
//!     when the cell is written. A waiter with 3 or more candidates before it may hear of a change later, as its store
//!     documents, but within two leases. The cell outlasts all candidates until the election is forgotten. Neither a
//!     list of elections nor another program takes it for a candidate.
//! 12. **An examination is a visit.** [`Store::examine`] disturbs no candidate, and returns within half a minute even
//!     if a server is slow. It leaves no election, no entry and no cell behind.
//! 13. **A removal is exact.** [`Removal::Leader`] ends the entry with the given token, and never another one, even if
//!     the removal is late. The former leader learns of it with its next refresh, and the next candidate can lead at
//!     once. A store that cannot end an entry against its holder's will says so, and ends nothing. The time that a
//!     survey shows for the end of the leader's entry ([`Ending`]) is never too short.
//! 14. **A fence lets no smaller token back in.** [`fence()`] records a token in [`Cell::Fence`] only if the token
//!     there is the one that it has read, and is not greater. So no caller passes with a smaller token than an earlier
//!     caller's. The recorded token outlasts all candidates until the election is forgotten. Neither a list of
//!     elections nor another program takes it for a candidate.
//! 15. **A value belongs to a leader, even if another process writes it.** [`Cell::Value`] is written in one step with
//!     the store's proof that the entry with the given token leads. The writer need not have the seat, and may be
//!     paused at any moment. Once another candidate leads, the store writes nothing more under the old token. Once a
//!     later value is written, no earlier one replaces it. Every program may read a value. It is kept as long as the
//!     token of a fence.
//! 16. **The seats of one store share a session**, and nothing else: see [`Store`]. Each leads with a token of its own.
//!     A resign or a ticket frees one place at once, and leaves no request for that place under way. A seat that is no
//!     longer refreshed loses its place in time, even if the others go on. A crash frees all places.
//!
//! # Methods that are two, and could be one
//!
//! - [`Seat::write`] knows its own entry and the version that it has read, so it takes one request. [`Store::write`]
//!   would have to look both up first. Some stores keep these cells in the document that the seat renews. There, a
//!   write from outside would also make the seat's next renewal fail at first, because the renewal expects the version
//!   that the seat knows.
//! - [`Seat::read`] remembers that version, and its wake is for one cell. [`Store::changed`] would wake all waiting
//!   candidates each time a candidate comes or goes.
//! - [`Store::keys`] lists the keys of one election, and [`Store::list`] lists elections. If they were one method, each
//!   caller would have to take apart an answer whose kind it already knows.

mod boottime;
mod candidate;
mod cell;
mod division;
mod election_name;
mod error;
mod examination;
mod key;
mod profile;
mod seat;
pub mod stamp;
mod store;
mod store_id;
mod store_kind;
mod survey;
pub mod text;
mod ticket;
mod token;
mod trips;

pub use boottime::Boottime;
pub use candidate::{Candidate, Work};
pub use cell::{
    Cell, Durability, Fenced, If, Keys, Versioned, WatchedCell, Written, fence, token_in,
};
pub use division::Division;
pub use election_name::{ElectionName, ElectionNameError};
pub use error::{Error, ErrorKind};
pub use examination::{
    Clock, Endpoint, EndpointAnswer, Examination, Finding, Grants, Severity, StoreIdentity, Supply,
    Unit, middle,
};
pub use key::{Key, KeyError};
pub use profile::{Cadence, Judge, Lease, Order, Price, Profile, Promise};
pub use seat::{Doubt, Holds, Refreshed, Seat, Standing, Validity, Wake, awake, first_of, never};
pub use store::{Removal, Scope, Store};
pub use store_id::StoreId;
pub use store_kind::{FuzzTarget, StoreKind};
pub use survey::{Ending, Entry, Leader, Renewed, Survey};
pub use ticket::{Ticket, TicketError};
pub use token::Token;
pub use trips::{count_trip, trips};
