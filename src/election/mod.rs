//! The engine takes one candidate through one election, whatever the store. `elect run`, sidecars, shards and the
//! library use it.
//!
//! [`machine`] decides, as a pure function of state, time and event. [`driver`] is the one loop that executes its
//! decisions. [`timing`] derives all durations from the lease, and checks them.
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
//! After a definite loss (gone) the leader kills the tree at once. After an eviction, or at the soft deadline, it asks
//! the command to stop and kills later. Between an empty tree and Resigning, a leader may pause before it starts its
//! command again, record that the `--once` key is done, or hold its lease for a while. A winner that starts nothing may
//! give its place up and join again.
//!
//! Between a win and a start stand gates, which all have one shape (`machine/gates`). Each gate checks one condition:
//!
//! - all candidates agree on the division of the election ([`division`]),
//! - the `--once` key is not done yet ([`once`]),
//! - the election is not paused ([`control`]),
//! - no better candidate waits ([`ranking`]),
//! - the lock delay is over,
//! - the run is counted, where the number of runs is limited.
//!
//! The first two also decide before a candidate joins. A new condition of a start is a new gate. What people are told
//! of it is a new variant of [`Block`](machine::Block).
//!
//! If the command of a leader with a `--once` key succeeds, the leader records that in a cell of the election before it
//! resigns.
//!
//! To the machine, an election of several slots is one seat ([`slots`]).
//!
//! The control cell comes with each answer of the store ([`control`]). While the election is paused, a winner starts
//! nothing, and a leader stops its command in good order and resigns. A leader also does so when a request names its
//! token.
//!
//! Beside its renewals, a leader reads the history of leaderships and adds itself ([`history`]). With a lock delay it
//! does so before it starts anything.
//!
//! Until the tree is proven empty, the machine goes on renewing, unless the loss is definite. It resigns only
//! afterwards.

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

/// Awaits the future in `slot`. Never ends if there is none.
async fn ready<F: Future + Unpin>(slot: &mut Option<F>) -> F::Output {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
