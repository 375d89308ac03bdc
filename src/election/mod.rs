//! The engine: one candidate's way through one election, whatever the store.
//!
//! [`machine`] decides, as a pure function of state, time and event; [`driver`] does what it says,
//! in the one loop there is; [`timing`] derives from the lease what durations follow from it, and checks them.
//!
//! ```text
//!            open, refresh          refresh: leading            command ended,
//!  ┌─────────┐      ┌─────────────┐      ┌─────────┐           tree empty        ┌───────────┐
//!  │ Joining │ ───> │ Campaigning │ ───> │ Leading │ ──────────────────────────> │ Resigning │ ──> verdict
//!  └─────────┘      └─────────────┘      └─────────┘ <── tree ── KILL, stop ──┐  └───────────┘
//!       │                 │                   └── gone, evicted, soft deadline ┘        ^
//!       └─────────────────┴── signal, wait ran out, permanent error ───────────────────┘
//! ```
//!
//! Who is gone kills; who was evicted, or is at the soft deadline, asks the command to stop, and kills later. Between
//! an empty tree and Resigning a leader may rest before it starts its command again, record what is done once, or hold
//! its lease for a while. Who has won and starts nothing may give its place up and come again.
//!
//! Between a win and a start stand gates, each of one shape (`machine/gates`). One sees to it that all agree on what
//! the election is divided into ([`division`]), one that what is to be done once was not done ([`once`]), one that
//! people want somebody to lead ([`control`]), one that nobody better is there ([`ranking`]), one that the lock delay is
//! over, and one that the run is counted where only so many may be. The first two rule on whoever is about to join as
//! well. A further condition of a start is a further gate; what people are told of it is a further
//! [`Block`](machine::Block).
//!
//! A leader whose command has succeeded in what is to be done once says so in a cell of the election before it resigns.
//!
//! An election of several slots is one seat to the machine ([`slots`]).
//!
//! What people ask of the election comes with each answer ([`control`]): in a paused one a winner starts nothing, and
//! who leads stops its command in good order and resigns, as it does when it is asked by its token.
//!
//! Beside its renewals a leader reads who has led before, and adds itself ([`history`]). Where there is a lock delay it
//! does so before it starts anything.
//!
//! Until the tree is proven empty the machine goes on renewing, whatever else happened, short of a
//! definite loss; it resigns only afterwards.

mod call;
pub mod control;
pub mod division;
pub mod driver;
pub mod history;
pub mod machine;
pub mod once;
pub mod ranking;
pub mod runs;
pub mod slots;
pub mod spread;
pub mod timing;

pub use call::{Answer, Attempted, Call, CallEnd, CallOutcome, EndRecord, Reply};

/// The output of the future in `slot`; never, if there is none.
async fn ready<F: Future + Unpin>(slot: &mut Option<F>) -> F::Output {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
