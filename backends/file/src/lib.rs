//! elect's store on the local disk: one machine, no server.
//!
//! # Theory of operation
//!
//! Every election is a directory under the root:
//!
//! ```text
//! ROOT/ELECTION/lock             locked by the leader; decides who leads; never removed
//! ROOT/ELECTION/tree             marked by the leader's command tree, which may outlive a crash; says whose it is
//! ROOT/ELECTION/queue/NUMBER     one per candidate, locked while it lives; only orders
//! ROOT/ELECTION/enter            locked by one newcomer at a time, for some system calls
//! ROOT/ELECTION/token            the newest fencing token, in two checksummed slots
//! ROOT/ELECTION/note-NAME        what a leader left for those who come later; the history in two checksummed places
//! ROOT/.new-NUMBER               the directory of an election, as it is being made; a crash may leave an empty one
//! ROOT/ELECTION/.new-NAME        the next one of a file that is replaced, as it is being written
//! ROOT/ELECTION/orders           what people ask of it, below a line with its version
//! ROOT/ELECTION/order            locked by one who writes that at a time, for some system calls
//! ROOT/ELECTION/fence-RESOURCE   the greatest token that came for it
//! ROOT/ELECTION/value-KEY        what a leader keeps
//! ROOT/ELECTION/fence, value     locked by one who writes one of those at a time, for some system calls
//! ```
//!
//! All locks are those of *open file descriptions* (`F_OFD_SETLK`). Such a lock belongs to the
//! descriptor and its copies, wherever they are inherited to, and ends with the last of them, or when a process that
//! has one unlocks it. So no time is involved: the lease lasts until the last process that holds it is dead, and a
//! crash is a resignation.
//!
//! A newcomer takes `enter`, makes its file, locks it, and only then gives it the number after the
//! greatest in the queue: whoever sees a numbered file without a lock sees a dead one. It then looks
//! for the nearest living file before its own, of a candidate that does not stand still. If there is one,
//! a thread sleeps on the lock of that file, and nobody else's, so that one change wakes one waiter. If there
//! is none, it takes `lock` without waiting, marks `tree`, draws a token, makes it durable, and leads.
//!
//! Whoever is stopped (SIGSTOP) would not take its turn, and is passed: at sight, or with the next refresh of
//! whoever sleeps on its file. It keeps that, and is the first again once it goes on.
//!
//! Of the leader's [`holds`](elect_api::Seat::holds) the guardian has the descriptors of `lock` *and* of its file in
//! the queue: if `elect` is killed, the next in the queue goes on sleeping until the guardian has proven the tree
//! empty. The command, which may be another user's, gets neither: it could unlock them. It inherits a read lock on
//! `tree`, by a descriptor that cannot write. If wrapper and guardian die at once, the next one finds that
//! mark and sleeps on it until the last of the tree is dead.
//!
//! Order needs no trust: were the queue deleted by hand, candidates might overtake each other, but
//! `lock` and `tree` would still let one of them lead. Only who removes `lock` itself breaks the promise, and
//! `refresh` tells ([`Gone`](elect_api::Standing::Gone)).
//!
//! The control cell is compared and swapped under a lock of its own. A refresh asks which file has its name, and
//! reads it if it is another one than it read last. What wakes a leader or a waiter for it is started only
//! when nothing has happened for half a second, so that a short command does not pay for it.
//!
//! Whoever writes a value for a leader is another process, which may stand still at any time. It holds the lock of
//! `value` while it makes sure that this one leads and writes, and a winner waits until that is free: no leader
//! begins in between. Who is stopped there keeps the next one waiting until it goes on or is killed.
//!
//! The seats of one store share nothing: there is no session, only the locks of each seat.
//!
//! All calls are short and block their thread, for an `fdatasync` at a win and two or three flushes where a text is
//! written for good; threads are started only to wait. The one await point is in front of `enter`, `order`, `fence` or
//! `value`: its holder may be stopped.
//!
//! Nothing but the token, what is vital in the history and all other cells is flushed to the disk: after a power cut no process is left to hold a lock, and what the files say then is read with suspicion.
//!
//! # Whom it trusts
//!
//! The root, and everything in it, belongs to us or to root and is writable by nobody else, unless the
//! root was set up for sharing: then it is writable by its group and has the setgid bit
//! (`install -d -m 2770 -g ops /srv/elect`), and so is everything in it. For root no other user may be
//! able to replace a directory on the way there either. No link is followed below the root, and no file
//! with a second name is written.

mod atomic_file;
mod cells;
mod changes;
mod election_dir;
mod entry;
mod error;
mod examine;
mod file_mutex;
mod followed;
mod forget;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod lock;
mod network;
mod queue;
mod reading;
mod root;
mod seat;
mod spare;
mod standstill;
mod store;
mod survey;
mod token;
mod tree;
mod trust;
mod two_place_file;
mod url;
mod walk;
mod watch;

use elect_api::{Error, Store, StoreKind};

/// The scheme of this store's URLs.
pub const SCHEME: &str = "file";

/// What elect knows of this kind of store before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "the local disk",
    schemes: &[SCHEME],
    example: "file:///DIR",
    nicknames: &[],
    lacks: "a colon is missing: write file: for the usual directory, or file:///DIR",
    manual: ("file", include_str!("manual.md")),
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Gets ready to use the store at a URL:
///
/// - `file:///DIR`: that directory;
/// - `file:` or `file://`: the first of `$STATE_DIRECTORY`, else `/var/lib/elect` where it can be
///   written or created, else `$XDG_STATE_HOME/elect`, else `~/.local/state/elect`.
///
/// With `?allow-network` behind it, a directory on a network file system is not refused.
/// Nothing is created before the first [`Seat::refresh`](elect_api::Seat::refresh), which is also
/// where a directory that cannot be used is reported.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) if the URL means no such store, or no default directory fits.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let address = url::parse(url)?;
    let is_default = address.directory.is_none();
    let root = root::Root::choose(address, &root::Process)?;
    let caution = if is_default { root.system_beside(&root::Process) } else { None };
    Ok(Box::new(store::FileStore::new(root, caution)))
}
