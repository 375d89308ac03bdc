//! The contract between elect's engine and its stores.
//!
//! A store keeps elections. A candidate opens a [`Seat`] in one of them and calls
//! [`Seat::refresh`] until it leads; while it leads, it goes on calling `refresh` to prove that
//! it still does; [`Seat::resign`] gives the place up. Waiting is what the engine offers: a store
//! offers single, bounded steps. A store that waited by itself would need a keep-alive and an
//! idea of time of its own, and that is where leaders come from that lead no more.
//!
//! # The laws
//!
//! The conformance suite in `elect-testkit` proves each of them for every store.
//!
//! 1. **Bounded.** One call is one bounded attempt: no hidden retry, no clock that decides
//!    anything but the least number of a token, no renewal behind the engine's back. Time comes in as an argument.
//! 2. **Idempotent proof.** `refresh` may be called at any time, any number of times. It keeps our
//!    place, tries to win, and re-proves leadership by a linearizable check of *our own entry*.
//! 3. **Ambiguity is a kind of its own.** A request that was sent and whose reply was lost, or whose
//!    future was dropped, is never read as "did not happen". The next `refresh` finds the truth,
//!    and no orphan entry of ours is left to block the queue.
//! 4. **A wake is a hint.** It may be late, lost or spurious without breaking anything.
//! 5. **Tokens rise.** Strictly, across all candidates, restarts and re-creations of the election.
//! 6. **Order.** Where the store queues, the first to arrive is the first to lead, and one change of
//!    leader wakes one waiter. A candidate has arrived once [`Store::survey`] shows it.
//! 7. **Resigning is prompt and modest.** When `resign` has returned, the next candidate can lead at
//!    once. Neither a resign nor a late or stale ticket ever removes another's entry.
//! 8. **Expiry is the store's to judge**, or, where it has no TTL, judged by "unchanged for the
//!    holder's recorded TTL on my own clock"; never by comparing two machines' wall clocks.
//! 9. **A survey disturbs nobody** and needs no candidate's rights. Neither does a look-out
//!    ([`Store::changed`]): it wakes no waiter, makes nothing, and leaves nothing behind. The texts that a survey
//!    shows are [clean](text), whoever wrote them.
//! 10. **What a leader leaves is the leader's.** [`Cell::Once`], [`Cell::Runs`] and [`Cell::History`] are written in
//!     one step with the proof that the writer leads, and whoever leads later reads them. A leader's last words are
//!     written in one step with its resigning, which they never hold up. A cell is no entry, outlasts its writer, and
//!     others do not count it. Whoever takes no part reads it too, as a survey does ([`Store::read`]).
//! 11. **What is asked reaches everybody.** Whoever may write to the store writes [`Cell::Control`], also where nobody
//!     is or ever was, by comparing and swapping: of two who have read the same, one is overtaken. Each `refresh` that
//!     says how we lead or wait brings it as it stood after its `now`, for a leader read in one step with the proof,
//!     and the wake ends when it is written. A waiter with 3 or more before it may hear of it later, as its store
//!     says, but within two leases. It outlasts all candidates, until it is forgotten, and neither a list of elections
//!     nor other programs take it for one.
//! 12. **An examination is a visit.** [`Store::examine`] disturbs nobody, returns within half a minute however slow a
//!     server is, and leaves no election, no entry and no cell behind.
//! 13. **A removal is exact.** [`Removal::Leader`] ends the one entry that has the token, whoever has it, and never
//!     another, however late it comes: whoever had it finds itself out with its next refresh, and the next one can
//!     lead at once. A store that cannot end an entry in spite of its holder says so, and ends nothing.
//!     What a survey shows of how the leader's entry ends ([`Ending`]) is never too short a time.
//! 14. **A fence lets nobody back.** [`fence()`] records a token in [`Cell::Fence`] in place of exactly the one that it
//!     has read, if that is not greater: of all who pass, none has a smaller token than one who passed before. What
//!     is recorded outlasts all candidates, until the election is forgotten, and neither a list of elections nor
//!     other programs take it for one.
//! 15. **A value is a leader's, whoever writes it.** [`Cell::Value`] is written in one step with the proof that the
//!     entry with this token leads in the store. Whoever does it need not have the seat, and may have stood still
//!     before, in the middle or since: once another leads nothing is written any more, and once a later value is
//!     written no earlier one takes its place. Everybody may read it, and it is kept as what a fence records.
//! 16. **The seats of one store share a session**, and nothing else: see [`Store`]. Each leads with a token of its
//!     own; a resign and a ticket free one place, at once, and leave nothing of it that is still under way;
//!     whoever asks no more loses its place in time though the others go on; and a crash frees all of them.
//!
//! # Methods that are two, and could be one
//!
//! - [`Seat::write`] knows its own entry and the version of what it has read, and so takes one request.
//!   [`Store::write`] would have to look for both first. Where these cells stand in the document that the seat renews,
//!   a write beside it would also have the seat's next renewal fail at first, as that expects the version that it
//!   knows.
//! - [`Seat::read`] remembers that version, and its wake is that of one cell. [`Store::changed`] would wake all who
//!   wait each time a candidate comes or goes.
//! - [`Store::keys`] lists what one election keeps, and [`Store::list`] elections. In one method each caller would have
//!   to take apart an answer of which it knows the kind.

mod boottime;
mod candidate;
mod cell;
mod division;
mod election_name;
mod error;
mod examination;
pub mod helpers;
mod key;
pub mod path;
mod profile;
pub mod remote;
mod seat;
pub mod stamp;
mod store;
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
pub use profile::{Cadence, Judge, Lease, Order, Profile};
pub use seat::{Holds, Refreshed, Seat, Standing, Validity, Wake, awake, first_of, never};
pub use store::{Removal, Scope, Store};
pub use store_kind::{FuzzTarget, StoreKind};
pub use survey::{Ending, Entry, Leader, Renewed, Survey};
pub use ticket::{Ticket, TicketError};
pub use token::Token;
pub use trips::{count_trip, trips};
