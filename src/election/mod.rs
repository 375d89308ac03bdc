//! The engine: one candidate's way through one election, whatever the store.
//!
//! [`machine`] decides, as a pure function of state, time and event; [`driver`] does what it says,
//! in the one loop there is; [`timing`] is the one place where durations are derived and checked.
//!
//! ```text
//!            open, refresh          refresh: leading            command ended,
//!  ┌─────────┐      ┌─────────────┐      ┌─────────┐           tree empty        ┌───────────┐
//!  │ Joining │ ───> │ Campaigning │ ───> │ Leading │ ──────────────────────────> │ Resigning │ ──> verdict
//!  └─────────┘      └─────────────┘      └─────────┘ <── tree ── lost: KILL ──┐  └───────────┘
//!       │                 │                   └── gone, evicted, soft deadline ┘        ^
//!       └─────────────────┴── signal, wait ran out, permanent error ───────────────────┘
//! ```
//!
//! Where something is to be done once, a candidate asks before it joins, whenever the election's note changes
//! and again when it has won, and leaves if it was done; a leader whose command has succeeded says so in
//! the note before it resigns ([`once`]).
//!
//! Whoever divides the election finds out before it joins that nobody divides it otherwise ([`division`]).
//!
//! An election of several slots is one seat to the machine ([`slots`]).
//!
//! What people ask of the election comes with each answer ([`orders`]): in a paused one a winner starts nothing, and
//! who leads stops its command in good order and resigns, as it does when it is asked by its token.
//!
//! Beside its renewals a leader reads who has led before, and adds itself ([`history`]). Where there is a lock delay it
//! does so before it starts anything.
//!
//! Until the tree is proven empty the machine goes on renewing, whatever else happened, short of a
//! definite loss; it resigns only afterwards.

pub mod advice;
mod call;
pub mod division;
pub mod driver;
pub mod history;
pub mod leadership;
pub mod machine;
pub mod once;
pub mod orders;
pub mod ranking;
pub mod slots;
pub mod spread;
pub mod timing;

pub use call::{Call, Ending, Operation};
