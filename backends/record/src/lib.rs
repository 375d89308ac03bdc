//! The adapter for stores that keep documents, each changed by compare-and-swap, and that have no leases of their own.
//!
//! Such a store implements [`Documents`]: it reads, swaps, lists and watches documents. [`RecordStore`] makes a store
//! of the contract from that. A store that has only rows, changed by compare-and-swap, implements
//! [`Table`](table::Table), which costs less: [`TableDocuments`](table::TableDocuments) makes documents of it. A store
//! that is reached by messages implements [`Remote`] instead. [`Folder`] keeps documents in memory, for simulations. An
//! election has these documents:
//!
//! - the **[`Record`]**: the holder of the lease, its token, and the cells other than fences and values. A candidate
//!   that writes itself there as the holder has the lease. The record is never removed, so that a late request finds
//!   another version.
//! - a **[`Waiter`]** for each waiting candidate, if the order is a queue. It decides only who tries first. If two
//!   candidates both try, they swap the same version, and one is overtaken. A leader's waiter stays until the leader
//!   resigns, so that only the next candidate wakes.
//! - the **[`Data`]**: fences and values. Once there are any, a new holder writes its token there too, before it
//!   reports that it leads.
//!
//! # Who leads, and for how long
//!
//! A holder raises its *beat* with each renewal. No other writer of the record changes the beat. A lease is over when
//! token, nonce and beat have not changed for the holder's recorded TTL (law 8). Each observer measures this by its own
//! clock, from the poll after the one that first showed them. So the promise rests on the clocks of the candidates, and
//! not on the clock of the store. The clock of each of two candidates may be off by half of the drift that the engine
//! allows ([`elect_api::Judge`]).
//!
//! The token is chosen before the winning swap, and written with it. So the candidate finds the token even if the reply
//! is lost. It is greater than the last token, and no less than the version that was replaced. So it rises even if the
//! record was lost.
//!
//! # Stores that lose writes
//!
//! A store may lose writes that it has acknowledged. Then its [epoch](table#epochs) changes, and a record of an earlier
//! epoch is *doubted*: a lost write of it may have made another candidate the leader. A leader that finds its own entry
//! there proves it again, if its lease is not over by its own clock. Every other candidate waits for the longest lease
//! from its first poll in the new epoch, and takes a token that is a day ahead of its clock in microseconds.
//!
//! # Lost replies
//!
//! Each entry has a random nonce of its own, which is also its ticket. After a swap with a lost reply the next poll
//! shows one of three cases. If the record has the candidate's nonce, the swap happened. If the record still has the
//! version to be replaced, the swap may be under way. Otherwise the swap is over: it failed, or another write has
//! replaced it since. A candidate that gives up an entry whose swap may be under way writes the record all the same.
//! The late swap then finds another version.
//!
//! # Who is next
//!
//! The waiter with the least rank is next. The rank is the version with which the waiter was made. A waiter that has
//! not renewed for its TTL does not count. The candidates behind it, or the leader, remove it. Until then it cannot
//! block the queue for long. A waiter takes a vacant record even if `k` others are before it. It waits for `k` sixths
//! of its own lease, from when it saw that the record was vacant and that `k` were before it.
//!
//! A dead candidate looks alive at the first poll. So a waiter reports at first that it is *not known* (`alive` in
//! [`Standing::Waiting`](elect_api::Standing::Waiting)) whether any candidate before it lives. This ends when it has
//! seen one of them renew, or when all their TTLs have passed.
//!
//! # A crowd
//!
//! The first three waiters renew their documents at each poll. The second and the third also list all documents at each
//! poll. The first only reads the record, and lists once in a lease. The second reads the record too, because it may be
//! the first by now. So a hand-over waits for no list.
//!
//! The others behave differently. Once in a lease each renews its own document, which then counts for four leases, and
//! reads one other document. It alternates between the record and the document of the waiter right before it, which it
//! also watches. Each waiter writes into its document how many waiters it saw before it. The waiter behind reads there
//! when it becomes one of the first three. A waiter lists when the one before it is gone or dead, and once in twenty
//! leases. With a TTL of 15 s, a thousand waiters cost 70 writes and as many reads a second.
//!
//! This has four consequences:
//!
//! - A request in the control cell reaches a waiter with more than 32 before it within two leases. All others hear of
//!   it at once.
//! - The number of candidates before a waiter is exact up to three. Beyond that it is out of date by up to twenty
//!   leases, and too great.
//! - If the store falls silent, these waiters notice it within a lease.
//! - A leader may die together with all who are next, for example all candidates of one machine. Then one of the next
//!   thirty-two leads after at most nine leases. It may not be the first of them.

mod data;
mod documents;
mod election;
mod folder;
mod guards;
mod line;
mod record;
mod remote;
mod seat;
mod store;
pub mod table;
mod text;
mod ticket;
mod unchanged;

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
