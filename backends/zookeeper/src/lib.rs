//! The store on ZooKeeper: many machines, one ensemble.
//!
//! # Theory of operation
//!
//! An election is a node. Its children are the candidates, ephemeral and sequential, and the lowest leads:
//!
//! ```text
//! /elect/ELECTION/_c_UUID-latch-0000000007    a candidate, as JSON; never changed
//! /elect/.notes/ELECTION/NAME                 a cell of a leader, for its successors; removed only with the election
//! /elect/.notes/ELECTION/orders               the control cell; removed only with the election
//! /elect/.data/ELECTION/fence/RESOURCE        a fence: the greatest token seen; removed only with the election
//! /elect/.data/ELECTION/value/KEY             a value of a leader; removed only with the election
//! ```
//!
//! Nodes above the candidates are made when they are needed. They are containers, which ZooKeeper removes some time
//! after their last child. So the path of a URL is a path and no chroot, which would have to exist. The fencing token
//! is the transaction that made the candidate's node (its `czxid`). Unlike the number in the node's name it never
//! starts again.
//!
//! ## The start of a lease
//!
//! W is the session timeout S that the server granted. The question is from which instant W counts. The library's pings
//! prove nothing: a follower that its leader has lost goes on answering pings and reads for ten seconds. Its clients
//! learn of the end of their sessions long after that. A write that the quorum acknowledged proves that the node is
//! there, but not that the session has S left. The reason: only the *leader* ends sessions. A follower tells it every
//! half tick which sessions are alive, with its answers to the leader's pings. So there are two anchors:
//!
//! - the connect of a fresh session, which reaches the leader itself;
//! - any acknowledged request, once a later quorum write is acknowledged too. That write must be sent at least S/4
//!   after the acknowledgement of the request. S is two ticks at the least, so the follower has told the leader by
//!   then.
//!
//! The write is a transaction with a single check, that the candidate's node is there. A leader's refresh is one such
//! write, and each confirms the earlier ones. No clock is read here, so a reply counts from the next call. With
//! renewals every S/16 the anchor lags 5/16 S behind. A waiter's refresh is a `sync` and a read of the queue. If the
//! waiter finds itself first, it adds the write.
//!
//! One assumption remains: all servers have the same limits of session timeouts. A session that moves to a server with
//! a smaller limit ends earlier than it was granted, and the library does not tell. So after an interruption the seat
//! asks which timeout sessions are granted now. It is [`Gone`](elect_api::Standing::Gone) if that is less.
//!
//! ## The end of a lease
//!
//! The library pings as long as the process lives. A watchdog closes the session when the engine has not asked for S.
//! So an engine that is stuck loses the election, as with any other store. The first refresh makes the session, not
//! `connect` or `open`, because the guardian is forked in between.
//!
//! A request that reaches a server keeps its session alive, whether the answer arrives or not. Without
//! answers, the library goes on asking for 7/5 S. So a client that receives nothing must send nothing: soon after a
//! connection was lost, the library is stopped. It stays stopped until a server has answered a question outside any
//! session. Then an entry that is of no use any more ends as early as it would if no request arrived. And a candidate
//! keeps its place through a silence shorter than S.
//!
//! A server that hangs up, or whose certificate is not trusted yet, has not answered. It is asked again soon, whereas
//! the library would make ever longer pauses.
//!
//! ## Files that change
//!
//! The library makes each connection with the newest certificates that it was given. They are read anew before each
//! session, when a session loses its connection, and with each check whether a server answers. The password file is
//! read before each session, and after each refused request. The session then logs in with the new password too, and
//! keeps the rights of the old one.
//!
//! ## One session
//!
//! The seats of one store that ask for the same TTL share one session. Observers use it too: a session that only
//! observes exists only while no seat has one. The session ends with the last seat that resigns or is dropped. No seat
//! closes it earlier, whatever it finds, because the others lead by it. Each seat knows for itself which session it is
//! in. It stays in that session until it has found the end itself. So no seat proves an old entry by a new session.
//!
//! A leader that leaves a last cell is done when its entry is removed and the cell is written, in one step. Its session
//! is closed meanwhile, or ends by itself. The close is a write of the quorum, and the next leader would wait for it.
//!
//! Each seat knows of its own calls only their order, and so an upper bound for the time of an acknowledgement. The
//! facts are about the session, and count for all of its seats. A new seat appears with each shard that moves and each
//! slot that becomes free. It should not start with an old anchor, and wait for S/4 until it has a newer one. The facts
//! that a write confirms are fixed when its call begins, because other seats call while it is under way. The newest
//! instant that any of them has proven counts for no seat from later than its own call. Each seat tells the others
//! which entries it has in the session. If it has not asked for S, because it was dropped or is stuck, the others
//! remove them.
//!
//! ## The store's id
//!
//! The node `/elect/.store` holds an id, which the first entry makes. A session belongs to one store: in another store
//! it does not exist. The first session of a process reads the id, beside its other requests. Each later session, also
//! an observer's, is checked before its use. If a session leads to another store, the servers of the list are asked one
//! by one, and only those with the right id are used. If elect lacks the right to read the node, nothing is compared.
//! The client library begins with any server of the list. So a process that has not learned the id yet first looks at
//! all servers, without a session. If they do not look like one ensemble, it compares their ids.
//!
//! ## Lost replies
//!
//! The UUID in a node's name is chosen before the node is made, and is the ticket. If the reply to the request is lost,
//! the next refresh looks for the node, after a `sync`. It takes the node only if it belongs to the present session,
//! and removes any other node with that UUID. A new entry always has a new UUID. The seat remembers the UUIDs of
//! entries that may still appear, and removes them when they do.
//!
//! ## What the client library makes necessary
//!
//! All that elect does because of the library, `zookeeper-client` 0.11.2, is here. Where no issue is named, none is
//! known upstream.
//!
//! | what the library does | upstream | what elect does | where |
//! |---|---|---|---|
//! | panics over an answer that is too short | [83] mends another such panic | works on a thread that may stand still | `task` |
//! | panics if no certificate can have the name of a host | - | refuses such a host in a URL | `security` |
//! | tries an address that it reads itself without a pause, while there is no way there | - | spells it for the resolver | `settings` |
//! | sends requests to server after server for 7/5 S, in ever longer pauses | [55] | lets it stand still until a server answers | `serving` |
//! | says only that no server grants a session | - | asks each server without it | `probe` |
//!
//! **The thread**: the library works on a separate thread, which also reads the answers. A thread on which it panics
//! stands still for good, and the requests of that moment fail. The next client, on another thread, goes on with the
//! session by its id and password. So no candidate loses its place; watches count as fired. A process has at most 32
//! such threads, because a thread that stands still never frees its memory.
//!
//! [55]: https://github.com/kezhuw/zookeeper-client-rust/issues/55
//! [83]: https://github.com/kezhuw/zookeeper-client-rust/pull/83
//!
//! ## The control cell
//!
//! A refresh begins with a `sync` or with the quorum's write, and a server answers a session in order. So a later read
//! is as new as they are, and so is the silence of a watch. The cell is read after the first of them, and again after
//! one before which its watch has fired. Its version is the transaction that wrote it. A write compares that version
//! first, and then swaps by the node's own count of writes. Only a cell that was forgotten and made anew between those
//! two requests is mistaken for the old one.
//!
//! # Sharing elections with other programs
//!
//! | `layout=` | shares with |
//! |---|---|
//! | `curator-latch`, the default | Curator's `LeaderLatch` |
//! | `curator-lock` | Curator's `LeaderSelector` and `InterProcessMutex` |
//! | `kazoo` | kazoo's `Election` and `Lock`, `__lock__` |
//!
//! `LeaderLatch` is the default for two reasons. Java programs that lead until they end use it, and elect does the
//! same. It also takes the node's data as the name of its participant.
//!
//! Each of these counts its own kind of node only, so two of them in one directory would both lead. elect refuses a
//! directory that has candidates of another layout, on entering and while waiting. It cannot stop a program of another
//! layout that enters while it leads: both then lead.
//!
//! Numbers are compared as the 32-bit counter that they are, which goes from 2147483647 on to -2147483648. Curator and
//! kazoo would let the first one after that lead at once, beside a living leader.
//!
//! # Limits
//!
//! A survey shows no renewals. ZooKeeper shows clients no sign of what keeps another session alive, and a leader's
//! check changes no node. The leader could write to its node, but that would wake the waiter behind it each time.
//!
//! A survey is a `sync` and later reads. A follower that is cut off cannot answer the `sync`. A leader without a quorum
//! does answer, until it notices, at most `syncLimit` ticks later. Only a write would show that, and an observer may
//! lack the right to write.
//!
//! ZooKeeper 3.5 or newer, for containers and for the answer of a `create`. No SASL. The option `server-name` is
//! refused: the library takes the name from the URL.

mod anchor;
mod cells;
mod changes;
mod client;
mod connect;
mod dial;
mod dialer;
mod directory;
mod entry;
mod error;
mod examine;
mod followed;
mod forget;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guid;
mod identity;
mod layout;
mod link;
mod login;
mod observer;
mod probe;
mod queue;
mod registry;
mod seat;
mod security;
mod sequence;
mod serving;
mod session;
mod sessions;
mod settings;
mod store;
mod survey;
mod task;
mod waiting;
mod watch;

pub use anchor::{Anchors, Calls};
use elect_api::{Error, Store, StoreKind};

/// The scheme of this store's URLs.
pub const SCHEME: &str = "zk";

/// The properties of this kind of store that elect knows before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "ZooKeeper",
    schemes: &[SCHEME, "zk+tls"],
    example: "zk://HOST",
    nicknames: &["zookeeper"],
    lacks: "a host is missing: write zk://HOST,HOST or zk+tls://HOST,HOST",
    manual: ("zookeeper", include_str!("manual.md")),
    credentials: None,
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Returns the store at a URL:
///
/// `zk://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/PATH][?OPTION=VALUE[&OPTION=VALUE]...]`, or `zk+tls://` for
/// TLS.
///
/// The default port is 2181. The path is the directory of the elections, by default `/elect`; it need not exist.
/// Options:
///
/// - `user`, `password-file`: as in [`Credentials`](elect_remote::Credentials), for the scheme `digest`;
/// - `acl`: the rights to nodes that elect makes. `open` permits everything to all users. `creator` permits everything
///   to users with the same credentials, and is the default if there are credentials;
/// - `store-id`: the id of the store, as `elect doctor` prints it. Another store, or one without an id, is refused;
/// - `layout`: the names of nodes: `curator-latch` (default), `curator-lock` or `kazoo`;
/// - with `zk+tls`, the options of [`Tls`](elect_remote::Tls) but `server-name`. Without `ca` the authorities
///   count that the system trusts.
///
/// Sends nothing and starts no task: the first call of the store that needs it connects.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) if the URL means no such store, or a file that it names has wrong contents;
/// `Denied` if a file may not be read.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let settings = settings::Settings::of(url, |name| std::env::var(name).ok())?;
    Ok(Box::new(store::ZkStore::new(settings)))
}
