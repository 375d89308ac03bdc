//! elect's adapter of stores that keep documents, each changed by compare-and-swap, and that know no time.
//!
//! Such a store offers [`Documents`]: to read, to swap, to list and to watch them. [`RecordStore`] makes a store of the
//! contract from that. Where requests are messages to somewhere else, [`Remote`] makes documents of it; [`Folder`] keeps
//! some in memory, for simulations. An election has these:
//!
//! - the **[`Record`]**: who holds the lease, with which token, and the cells but for fences and values. Whoever writes
//!   itself there as its holder has the lease. It is never removed, so that what was sent before finds another version.
//! - a **[`Waiter`]** for each candidate that waits, where the order is a queue. It decides who tries first, nothing
//!   else: two that think it is their turn swap the same version, and one is overtaken. A leader's stays until it
//!   resigns, so that only the one behind it wakes.
//! - the **[`Data`]**: fences and values. Once there are any, who has the lease writes its token there, too, before it
//!   says that it leads.
//!
//! # Who leads, and for how long
//!
//! A holder raises its *beat* with each renewal; nobody else does, whatever they write in the record. A lease is over
//! when token, nonce and beat have not changed for the holder's recorded TTL, by the clock of whoever looks, counted
//! from the look after the one that showed them (law 8). So the promise rests on the clocks of candidates, not of the
//! store: on those of two, each of which may be off by half of the drift that the engine allows for
//! ([`elect_api::Judge`]).
//!
//! The token is known before the swap that wins, and is written with it: it is found when the reply is lost. It is
//! greater than the last, and no less than the version that was replaced, so that it rises also where the record was
//! lost.
//!
//! # What was lost on the way
//!
//! Each entry has a nonce, drawn anew for each, which its ticket has too. After a swap whose reply was lost the next
//! look tells: the record has our nonce; or it has the version that we wanted to replace, and then our swap may still
//! be under way; or it has another, and then it is not. Whoever gives an entry up that may be under way writes the
//! record all the same: what comes later finds another version.
//!
//! # Who is next
//!
//! The waiter with the least rank, the version with which it was made. A waiter that is not heard of for its TTL does
//! not count, and is removed by whoever is behind it, or by the leader. Before that it holds up nobody for long: a
//! waiter with `k` before it takes a vacant record `k` sixths of its own lease after it saw that it was vacant, and
//! that so many were before it.
//!
//! Whoever died looks alive to one who sees it for the first time. So a waiter says that it is *not settled* (`alive`
//! in [`Standing::Waiting`](elect_api::Standing::Waiting)) whether anybody lives who is before it, until it has seen
//! one of them renew itself, or all their TTLs have passed.
//!
//! # A crowd
//!
//! The first three waiters renew their documents at each look. The second and the third list all documents then. The
//! first reads the record, and lists once in a lease. The second reads it as well, as it may be the first by now. So a
//! hand-over waits for no list.
//!
//! Those behind them do neither: once in a lease each renews its own document, which counts for four, and reads one
//! other. That is by turns the document of the one right before it, which it also watches, and the record. Each writes
//! into its document how many it saw before it, so that the one behind learns when it is one of the first three. It
//! lists when the one before it is gone or dead, and once in twenty leases. A thousand who wait cost 70 writes and as
//! many reads a second with a TTL of 15 s.
//!
//! What follows from that:
//!
//! - What is asked reaches those with more than 32 before them within two leases. All others hear of them at once.
//! - How many they say are before them is exact up to three, and else out of date by up to twenty leases, and too
//!   great.
//! - Where the store falls silent they notice that within a lease.
//! - If a leader dies with all who are next, as those of one machine do, one of the next thirty-two leads after at most
//!   nine leases. It may not be the first of those.

mod data;
mod documents;
mod election;
mod folder;
mod guards;
mod line;
mod patience;
mod record;
mod remote;
mod seat;
mod store;
mod text;
mod ticket;

pub use documents::{
    Document, Documents, IsNews, Listed, Listing, Name, Purpose, Removed, Stored, Swapped,
};
pub use folder::Folder;
#[cfg(feature = "guards")]
pub use guards::judge_by;
pub use guards::{Guard, Judge};
pub use record::{Data, Holder, Record, Waiter};
pub use remote::{Ask, Remote, Reply};
pub use store::RecordStore;
pub use text::Text;
