//! elect's store on the local disk: one machine, no server.
//!
//! # Theory of operation
//!
//! Every election is a directory under the root:
//!
//! ```text
//! ROOT/ELECTION/lock             locked by the leader; decides who leads; removed only with the election
//! ROOT/ELECTION/tree             marked by the leader's command tree, which may outlive a crash; names the leader
//! ROOT/ELECTION/queue/NUMBER     one per candidate, locked while it lives; only for the order
//! ROOT/ELECTION/enter            locked by one newcomer at a time, for some system calls
//! ROOT/ELECTION/token            the newest fencing token, in two checksummed slots
//! ROOT/ELECTION/note-NAME        a cell of leaders; the history has two checksummed places
//! ROOT/ELECTION/orders           the control cell: a line with its version, then its text
//! ROOT/ELECTION/order            locked by one writer of the control cell at a time, for some system calls
//! ROOT/ELECTION/fence-RESOURCE   the greatest token that was presented for the resource
//! ROOT/ELECTION/value-KEY        a value of leaders
//! ROOT/ELECTION/fence, value     locked by one writer of fences or of values at a time, for some system calls
//! ROOT/ELECTION/spare            the file of a former entry in reserve, for a full disk
//! ROOT/ELECTION/.new-NAME        the next content of a file, while it is being written
//! ROOT/.new-NUMBER               the directory of an election, while it is being made; a crash may leave an empty one
//! ```
//!
//! All locks belong to *open file descriptions* (`F_OFD_SETLK`). Such a lock belongs to the descriptor and all its
//! copies, in any process. It ends when the last copy is closed, or when a process with a copy unlocks it. So no time
//! is involved: the lease lasts until the last process that holds it is dead, and a crash is a resignation.
//!
//! A newcomer takes `enter`, makes its file and locks it. Only then it gives the file the number after the greatest in
//! the queue. So a numbered file without a lock belongs to a dead candidate. The newcomer then looks for the nearest
//! living file before its own whose candidate is not stopped. If there is one, a thread sleeps on the lock of that file
//! alone, so that one change wakes one waiter. If there is none, the newcomer takes `lock` without waiting, marks
//! `tree`, draws a token, makes it durable, and leads.
//!
//! A stopped candidate (SIGSTOP) would not take its turn, so others pass it. They do so as soon as they see it, or with
//! their next refresh if they sleep on its file. The stopped candidate keeps its file, and is the first again once it
//! goes on.
//!
//! The guardian has two of the leader's [`holds`](elect_api::Seat::holds): the descriptors of `lock` and of the
//! leader's file in the queue. If `elect` is killed, the next candidate goes on sleeping until the guardian has proven
//! the tree empty. The command, which may run as another user, gets neither descriptor, because it could unlock them.
//! It inherits a read lock on `tree`, by a descriptor that cannot write. If wrapper and guardian die at once, the next
//! candidate finds that mark. It sleeps on the mark until the last process of the tree is dead.
//!
//! The order of the queue needs no trust. If a person deletes the queue, candidates may overtake one another, but
//! `lock` and `tree` still let only one of them lead. Only the removal of `lock` by hand breaks the promise, and
//! `refresh` reports that ([`Gone`](elect_api::Standing::Gone)).
//!
//! The control cell is compared and swapped under a lock of its own. A refresh looks up which file has its name, and
//! reads the file only if it is another one than before. A watch wakes leaders and waiters at a change. It starts only
//! after half a second without an event, so that a short command does not pay for it.
//!
//! The writer of a value is another process than the leader, and may be paused at any time. It holds the lock of
//! `value` while it checks who leads and writes. A winner waits until that lock is free, so no leader begins in
//! between. A writer that is stopped there keeps the next candidate waiting until it goes on or is killed.
//!
//! The seats of one store share nothing. There is no session, only the locks of each seat.
//!
//! All calls are short and block their thread. A win takes an `fdatasync`, and a durable write two or three flushes.
//! Threads are started only to wait. The calls await only the locks of `enter`, `order`, `fence` and `value`, whose
//! holder may be stopped.
//!
//! Only the token, the vital entries of the history, and all other cells are flushed to the disk. After a power cut no
//! process holds a lock, and the content of the other files is read with suspicion.
//!
//! # Whom it trusts
//!
//! The root, and everything in it, must belong to this user or to root, and no other user may write it. The exception
//! is a root that was set up for sharing: it is writable by its group and has the setgid bit
//! (`install -d -m 2770 -g ops /srv/elect`). Then everything in it is writable by the group too. If elect runs as root,
//! no other user may be able to replace a directory on the way there. No link is followed below the root, and no file
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
    credentials: Some("the rights on the directory count"),
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
/// - `file:` or `file://`: the first of `$STATE_DIRECTORY`, else `/var/lib/elect` where it can be written or created,
///   else `$XDG_STATE_HOME/elect`, else `~/.local/state/elect`.
///
/// With `?allow-network` at its end, a directory on a network file system is accepted. Nothing is created before the
/// first [`Seat::refresh`](elect_api::Seat::refresh). That call also reports a directory that cannot be used.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) if the URL does not name such a store, or no default directory fits.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let address = url::parse(url)?;
    let is_default = address.directory.is_none();
    let root = root::Root::choose(address, &root::Process)?;
    let caution = if is_default { root.system_beside(&root::Process) } else { None };
    Ok(Box::new(store::FileStore::new(root, caution)))
}
