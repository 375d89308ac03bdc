//! elect's store on etcd.
//!
//! # Theory of operation
//!
//! The layout is that of Go's `client/v3/concurrency`, so that elect shares its elections with
//! `etcdctl elect`, `etcdctl lock` and every program that uses that package: a candidate is a key
//!
//! ```text
//! PREFIX ELECTION / NUMBER       in hexadecimal, not padded: for one seat alone, its lease's id
//! ```
//!
//! under a lease, and the candidate whose key was created first leads. Keys whose rest has
//! another slash are those of elections that are nested deeper, and no candidates of this one. The value
//! is JSON that says who we are; whatever other programs write there is shown as their name.
//!
//! **Token**: the revision at which our own key was created. Revisions rise with every write to the
//! cluster and are never given twice.
//!
//! **Window**: the TTL in the *reply* to the grant. Every renewal that counts anchors, at the instant
//! before it was sent. etcd ends no lease before its TTL; where its leader changes, later.
//!
//! **One lease**: the seats of one store that ask for the same TTL have one, which the first of them to enter is
//! granted and each renews as if it were its own. Every key has a number of its own, drawn for each candidacy
//! before etcd hears of it. To resign is to revoke the lease for the last who uses it; for others it is to remove
//! the key. So it is for a leader that leaves a last cell: what is left then is a lease on which nothing hangs, and which
//! ends by itself, or with the next grant. etcd flushes its disk three times for a revocation, and the next leader
//! would wait for that. Who asks no more while others renew has its key removed by them, once it has not asked for the
//! lease's length.
//!
//! **Ticket**: the key's number and the lease's id. Whoever has it can remove the key for us. The lease ends by
//! itself then: others may have it.
//!
//! **Tombs**: what was asked for and not answered may still be carried out. Without its lease it makes no key; but
//! where the lease goes on, a key beside the cells, `PREFIX .notes / ELECTION / gone / NUMBER`, keeps it from that,
//! and ends with the lease.
//!
//! **Entering** is a grant, if there is no lease yet, and one transaction that makes the key unless it is there and
//! lists the queue in the same breath. Asked again after a lost reply it finds what the first one did.
//!
//! **Renewing** is a keep-alive on a fresh stream, and beside it a transaction that compares our key's
//! creation and lease. Neither is enough alone: keep-alives go on being answered when the key has been
//! deleted, and the key goes on being there when nobody renews. The transaction is a linearizable read,
//! which a member that is cut off cannot answer, and it writes nothing. Both together count only if the
//! member had shown before, over this or another connection, the term of etcd's leader in which the
//! transaction is then answered: a leader that stood still while another was chosen acknowledges
//! keep-alives for a moment when it goes on (3.5.16, with the mend of its PR 16822), which nobody heeds.
//! So the first renewal at a member, and the first after a change of etcd's leader, is made twice.
//!
//! **Stale reads**: a member whose process stood still may answer a linearizable read from the past
//! (etcd-io/etcd#20418, before 3.4.42, 3.5.28 and 3.6.9), with the term of that time, so that both would be
//! stale together. So a member of a cluster of several is asked for its version beside the first renewal; and unless
//! that is known to be well a leader's proof, and a win's, is a transaction that etcd takes for a write: it might
//! remove a key that nobody has, so all agree on it before it is answered, and it changes nothing.
//!
//! **Waiting** is for the one nearest before us: one watch on its key, for its deletion only, which all
//! wakes share. So a change of leader concerns one waiter. Every renewal looks at those before us anew,
//! whatever the watch says: all of them where they are up to a hundred, and beyond that the nearest
//! alone, so that thousands may wait. Up to 32 are got by their names, as nobody can join them and etcd
//! goes through the whole queue for a listing (0.8 ms of 1,000 waiting, 14 ms of 10,000, on two processors with
//! etcd 3.5.16): whoever was next for a while wins without one.
//!
//! **Looking on**: what is left of a lease tells whoever asks when it was renewed last, to the second. A new
//! leader of etcd lets leases run their full length anew, which looks like a renewal.
//!
//! **The control cell** is a key beside the others, `PREFIX .notes / ELECTION / orders`. Each transaction that proves,
//! lists or enters gets it too, so it is as new as the proof; and the stream of the watch on the one before
//! us, or on our own key, has a watch on it. A leader opens that stream half a second after it was heard that it
//! leads, from the revision of that answer on: a short command does not pay for it.
//!
//! **Fences and values** are keys beside those, `PREFIX .data / ELECTION / fence / RESOURCE` and
//! `... / value / KEY`. Both are compared and swapped; a value is written in a transaction that compares the leader's
//! entry too.
//!
//! **The store's id** is a key too, `PREFIX .store`: the transaction that enters gets it, and makes it where there is
//! none. From then on another id is no store of ours. A connection that takes the place of another asks for it
//! first; what is entered compares it; and a proof that shows no entry of ours gets it with that answer, as in another
//! store it means nothing. A proof that does show it needs none: no other store has a key with its number, its
//! revision and its lease. Where we lack the right to read the key nothing is compared. What was seen of the store's
//! revision never goes back either: what answers with an older one was restored from a snapshot, or is stale.
//!
//! **Members** are used one at a time, over one connection: see `link`. An attempt that fails in a way in
//! which another member might serve, or that is dropped unanswered, sends the next one elsewhere. All
//! requests say that they need a member with a leader: one that is cut off then refuses at once.
//!
//! What a broken cluster can do: a leader of etcd that was stopped and comes back may end leases which
//! its successor has prolonged, before etcd 3.4.31 and 3.5.13 (etcd-io/etcd#15247).

mod access;
mod address;
mod advisories;
mod cells;
mod changes;
mod channel;
mod dial;
mod entry;
mod error;
mod examine;
mod first_bytes;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod layout;
mod lease;
mod link;
mod listing;
mod probe;
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

/// What elect knows of this kind of store before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "etcd",
    schemes: &[SCHEME, "etcd+tls"],
    example: "etcd://HOST",
    nicknames: &[],
    lacks: "a host is missing: write etcd://HOST or etcd+tls://HOST",
    manual: ("etcd", include_str!("manual.md")),
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Gets ready to use the store at a URL: `etcd://HOST[:PORT][,HOST[:PORT]]...[/PATH]`, or the same with
/// `etcd+tls://`. The port is 2379 if none is given.
///
/// The keys of an election begin with the path and its name: `/a/b` means `a/b/NAME/`, and no path
/// `elect/NAME/`. With the option `prefix` they begin with its very bytes and the name, as other programs
/// may have it (`?prefix=/`, `?prefix=`).
///
/// Credentials and TLS are given as with every store on other machines:
/// [`Credentials`](elect_api::remote::Credentials), [`Tls`](elect_api::remote::Tls).
///
/// Nothing is sent before the first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no
/// such store, or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let address = address::Address::parse(url, |name| std::env::var(name).ok())?;
    Ok(Box::new(store::EtcdStore::new(address)?))
}
