//! The store on etcd.
//!
//! # Theory of operation
//!
//! The layout is the one of Go's `client/v3/concurrency`. So elect shares its elections with `etcdctl elect`,
//! `etcdctl lock` and every program that uses that package. A candidate is a key
//!
//! ```text
//! PREFIX ELECTION / NUMBER       in hexadecimal, not padded: for one seat alone, its lease's id
//! ```
//!
//! under a lease. The candidate whose key was created first leads. A key with another slash after the election's name
//! belongs to an election that is nested deeper. The value is JSON that describes the candidate. If another program
//! wrote the value, elect shows it as that candidate's name.
//!
//! **Token**: the revision at which the candidate's key was created. Revisions rise with every write to the cluster and
//! are never given twice.
//!
//! **Window**: the TTL in the *reply* to the grant. Every renewal that counts anchors, at the instant before it was
//! sent. etcd ends no lease before its TTL. When etcd changes its leader, leases end later.
//!
//! **One lease**: the seats of one store that ask for the same TTL share one lease. The first seat that enters
//! requests it, and each seat renews it as if it were its own. Every key has its own number, drawn for each candidacy
//! before etcd learns of it. To resign, the last user of the lease revokes it; any other user removes its key. A leader
//! that leaves a last cell also only removes its key. The lease that remains has no keys, and ends by itself, or with
//! the next grant. etcd flushes its disk three times for a revocation, and the next leader would wait for that. If a
//! seat stops asking while others renew, the others remove its key. They do so once the seat has not asked for the
//! length of the lease.
//!
//! **Ticket**: the key's number and the lease's id. A process that has the ticket can remove the key for the candidate.
//! The lease is not revoked, because others may use it; it ends by itself.
//!
//! **Tombs**: a request without an answer may still be carried out. Without its lease such a request makes no key. If
//! the lease goes on, a tomb prevents the key: `PREFIX .notes / ELECTION / gone / NUMBER`, a key beside the cells. The
//! tomb ends with the lease.
//!
//! **Entering** is a grant, if there is no lease yet, and one transaction. The transaction makes the key unless it
//! exists, and lists the queue in the same step. Repeated after a lost reply, it finds what the first one did.
//!
//! **Renewing** is a keep-alive on a fresh stream, and at the same time a transaction that compares the creation and
//! the lease of the key. Neither is enough alone. etcd answers keep-alives also after the key was deleted, and the key
//! stays for a while when no renewals arrive. The transaction is a linearizable read, which a member that is cut off
//! cannot answer, and it writes nothing. Both together count only under one condition, which concerns the term of
//! etcd's leader. The member must have shown, over this or another connection, the same term as the answer to the
//! transaction. The reason: a leader that stood still while another was chosen acknowledges keep-alives for a moment
//! when it goes on. No other member takes note of them (3.5.16, which has the fix of PR 16822). So the first renewal at
//! a member is made twice. The same holds for the first renewal after a change of etcd's leader.
//!
//! **Stale reads**: a member whose process stood still may answer a linearizable read from the past. This is
//! etcd-io/etcd#20418, before 3.4.42, 3.5.28 and 3.6.9. The answer shows the term of that time, so both parts of a
//! renewal would be stale together. So elect asks each member of a cluster of several for its version, beside the first
//! renewal. Unless reads of that version are known to be sound, a leader's proof, and a win's, is a transaction that
//! etcd takes for a write. It might remove a key that never exists. So all members agree on it before etcd answers, and
//! it changes nothing.
//!
//! **Waiting**: a candidate waits for the nearest one before it. One watch on that key, for its deletion only, serves
//! all wakes. So a change of leader concerns one waiter. Every renewal looks at the candidates before this one anew,
//! whatever the watch says. It looks at all of them if there are up to a hundred. Beyond that it looks at the nearest
//! alone, so that thousands may wait. Up to 32 are got by their names, because none can join them, and because etcd
//! goes through the whole queue for a listing. A listing takes 0.8 ms with 1,000 waiting, and 14 ms with 10,000, on two
//! processors with etcd 3.5.16. So a candidate that was next in line for a while wins without a listing.
//!
//! **Observing**: the remaining time of a lease tells an observer when it was renewed last, to the second. A new leader
//! of etcd lets leases run their full length anew, which looks like a renewal.
//!
//! **The control cell** is a key beside the others, `PREFIX .notes / ELECTION / orders`. Each transaction that proves,
//! lists or enters gets it too, so it is as new as the proof. The stream that watches the candidate before this one, or
//! this candidate's own key, also watches the control cell. A leader opens that stream half a second after the answer
//! that it leads, from the revision of that answer on. So a short command does not pay for it.
//!
//! **Fences and values** are keys beside those, `PREFIX .data / ELECTION / fence / RESOURCE` and `... / value / KEY`.
//! Both are written by compare-and-swap. The transaction that writes a value compares the leader's entry too.
//!
//! **The store's id** is a key too, `PREFIX .store`. The transaction that enters gets it, and makes it if there is
//! none. From then on a store with another id is foreign. Three requests check the id:
//!
//! - A connection that replaces another asks for it first.
//! - The transaction that enters compares it.
//! - A proof that shows no entry of this candidate gets it with that answer, because in another store a missing entry
//!   means nothing.
//!
//! A proof that shows the entry needs no such check: no other store has a key with its number, its revision and its
//! lease. If elect lacks the right to read the key, nothing is compared. The store's revision never goes back either. A
//! member that answers with an older one was restored from a snapshot, or is stale.
//!
//! **Members** are used one at a time, over one connection: see `link`. Some failures let another member serve. An
//! attempt that fails in such a way, or that is dropped unanswered, sends the next attempt to another member. All
//! requests require a member with a leader, so a member that is cut off refuses at once.
//!
//! A broken cluster can end leases early, before etcd 3.4.31 and 3.5.13 (etcd-io/etcd#15247). A leader of etcd that was
//! stopped and comes back may end leases which its successor has prolonged.

mod address;
mod advisories;
mod cells;
mod changes;
mod channel;
mod dial;
mod entry;
mod error;
mod examine;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod layout;
mod lease;
mod link;
mod listing;
mod queue;
mod removal;
mod renewal;
mod reply;
mod seat;
mod store;
mod store_check;
mod survey;
mod value;
mod watch;
mod withdrawal;

use elect_api::{Error, Store, StoreKind};

/// The scheme of this store's URLs; with TLS it is `etcd+tls`.
pub const SCHEME: &str = "etcd";

/// The properties of this kind of store that elect knows before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "etcd",
    schemes: &[SCHEME, "etcd+tls"],
    example: "etcd://HOST",
    nicknames: &[],
    lacks: "a host is missing: write etcd://HOST or etcd+tls://HOST",
    manual: ("etcd", include_str!("manual.md")),
    credentials: None,
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Returns the store at a URL: `etcd://HOST[:PORT][,HOST[:PORT]]...[/PATH]`, or the same with `etcd+tls://`. The
/// default port is 2379.
///
/// The keys of an election begin with the path and its name: `/a/b` means `a/b/NAME/`, and no path means `elect/NAME/`.
/// With the option `prefix` they begin with exactly its bytes and the name. Other programs may need that (`?prefix=/`,
/// `?prefix=`).
///
/// Credentials and TLS are given as with every store on other machines:
/// [`Credentials`](elect_remote::Credentials), [`Tls`](elect_remote::Tls).
///
/// Sends nothing: the first call that needs an answer connects.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no
/// such store, or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let address = address::Address::parse(url, |name| std::env::var(name).ok())?;
    Ok(Box::new(store::EtcdStore::new(address)?))
}
