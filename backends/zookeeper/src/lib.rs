//! elect's store on ZooKeeper: many machines, one ensemble.
//!
//! # Theory of operation
//!
//! An election is a node whose children are its candidates, ephemeral and sequential; the lowest leads:
//!
//! ```text
//! /elect/ELECTION/_c_UUID-latch-0000000007    what a candidate is, as JSON; never changed
//! /elect/.notes/ELECTION/NAME                 what a leader left for those who come later; never removed
//! /elect/.notes/ELECTION/orders               what people ask of it; never removed
//! /elect/.data/ELECTION/fence/RESOURCE        the greatest token that came for it; never removed
//! /elect/.data/ELECTION/value/KEY             what a leader keeps; never removed
//! ```
//!
//! Nodes above the candidates are made when they are needed, as containers, which ZooKeeper removes some
//! time after their last child. So the path of a URL is a path and no chroot, which would have to exist.
//! The fencing token is the transaction that made the candidate's node (its `czxid`): unlike the number in
//! its name it never begins anew.
//!
//! ## When a lease counts from
//!
//! W is the session timeout S that the server granted, and what matters is what it is counted from. The
//! library's pings prove nothing: a follower that its leader has lost goes on answering pings and reads
//! for ten seconds, and its clients are told of their end long after it. A write that the quorum
//! acknowledged proves that the node is there, but not that the session has S left: only the *leader*
//! ends sessions, and a follower tells it whom it has heard of every half tick, with its answers to the
//! leader's pings. So there are two anchors:
//!
//! - the connect of a fresh session, which the leader itself hears of;
//! - any acknowledged request, once a quorum write that was sent at least S/4 after its acknowledgement
//!   is acknowledged too. S is two ticks at the least, so the follower has told the leader by then.
//!
//! The write is a transaction of nothing but a check that our own node is there. A leader's refresh is one
//! such write, and each confirms those before it; as no clock is read here, a reply counts from the call
//! after it. With renewals every S/16 the anchor lags 5/16 S behind. A waiter's refresh is a `sync` and a
//! look at the queue; the one that finds itself first adds the write.
//!
//! What is left to trust is that all servers have the same limits of session timeouts. A session that
//! comes to a server with a smaller one ends earlier than it was told, and the library does not tell. So
//! the seat asks, after an interruption, what sessions are granted now, and is
//! [`Gone`](elect_api::Standing::Gone) if that is less.
//!
//! ## Keeping no lease by accident
//!
//! The library pings as long as the process lives. A watchdog closes the session when the engine has not
//! asked for S; so an engine that is stuck loses the election as it would anywhere else. Sessions are made
//! by the first refresh, none by `connect` or `open`: the guardian is forked in between.
//!
//! A server that gets a request keeps its session alive, whether the answer arrives or not, and the library goes on
//! asking for 7/5 S. So a client that hears nothing says nothing: soon after a connection was lost the library is made
//! to stand still, until a server has answered a question that touches no session. An entry that nobody can use then
//! ends as it does where nothing arrives, and a place outlives a silence that is shorter than S.
//!
//! A server that hangs up, or whose certificate is not trusted yet, has not answered: it is asked again soon, where the
//! library would leave ever longer pauses.
//!
//! ## Files that change
//!
//! The library makes each connection by the certificates that it has been given last. They are read anew before each
//! session, as one loses its connection, and with each look whether a server answers. The file of a password is read
//! before each session, and after each request that is refused; the session is then told of it, and keeps the rights
//! of the password before.
//!
//! ## One session
//!
//! The seats of one store that ask for the same TTL are in one session, and whoever looks uses it too: a session
//! that only looks is there only while no seat has one. It ends with the last seat that resigns or is dropped,
//! and is closed before that for nobody, whatever one of them finds: the others lead by it. What is the seats' own
//! is which session they are in: each stays in it until it has found its end itself, so that none proves an old
//! entry by a new session.
//!
//! A leader that leaves a last cell is done when its entry and the cell are, in one step: its session is closed
//! meanwhile, or ends by itself. To close it is a write of the quorum, which the next leader would wait for.
//!
//! Each seat knows of its own calls only that one began after the other, and so by when a request was acknowledged.
//! What it finds out is about the session, and counts for all: a seat that comes late, as one does with each shard
//! that moves and each slot that comes free, is not to begin with an anchor that lags and to wait for S/4 before it
//! has a newer one. What a write confirms is settled as its call begins: others call while it is on its way. The
//! newest instant that any of them has proven counts for none from later than its call. Each
//! tells the others what it has in the session. When it has not asked for S, dropped or stuck, they remove that.
//!
//! ## Which store it is
//!
//! The node `/elect/.store` holds an id, which the first entry makes. A session is of one store: to another it means
//! nothing and has ended. So the first session of a process learns the id, beside what it asks anyway, and each later
//! one, of whoever looks too, is asked for it before it is used. Where one leads to another store the servers of the
//! list are asked one by one, and only those are used that have ours. Where we lack the right to read the node
//! nothing is compared. As the client library begins with any server of the list, a process that belongs to no store
//! yet looks at all of them before, without a session; where they do not look like one ensemble it compares their ids.
//!
//! ## Lost replies
//!
//! The UUID in a node's name is chosen before the node is asked for, and is the ticket. When the reply to
//! the request is lost, the next refresh looks for it, after a `sync`, and takes it only if it belongs to the
//! present session; any other node with it is removed. A new entry always has a new UUID, and those of
//! entries that may still come to light are remembered, and removed when they do.
//!
//! ## Answers that no sound server gives
//!
//! The library panics over some of them. It works on a thread of its own, where answers are read, too; one on which it
//! panics stands still for good, and the requests of that moment fail. The next client, on another thread, goes on
//! with the session by its id and password, so that nobody loses a place; watches count as fired. A process has 32 such
//! threads at most, as nothing of what a stopped one had is given back.
//!
//! ## The control cell
//!
//! A refresh begins with a `sync` or with the quorum's write, and a server answers a session in order: what is
//! read behind them is as new as they are, and so is the silence of a watch. So the cell is read behind the
//! first of them, and again behind one before which its watch has fired. Its version is the transaction
//! that wrote it; that is compared before the node's own count of writes is swapped, so that only a cell that
//! was forgotten and made anew between those two requests is taken for another.
//!
//! # Sharing elections with other programs
//!
//! | `layout=` | shares with |
//! |---|---|
//! | `curator-latch`, the default | Curator's `LeaderLatch` |
//! | `curator-lock` | Curator's `LeaderSelector` and `InterProcessMutex` |
//! | `kazoo` | kazoo's `Election` and `Lock`, `__lock__` |
//!
//! `LeaderLatch` is the default because it is what programs in Java elect a leader with that leads until it
//! ends, as elect does, and because it takes what a node holds as the name of its participant.
//!
//! Each of these counts its own kind of node only, so two of them in one directory would both lead. A
//! directory in which there are candidates of another layout is refused, on entering and while waiting.
//! A program of another layout that comes when we lead cannot be kept from leading beside us.
//!
//! Numbers are compared as the 32-bit counter that they are, which goes from 2147483647 on to
//! -2147483648. Curator and kazoo would let the first one after that lead at once, beside a living leader.
//!
//! # Limits
//!
//! A survey shows no renewals. What keeps a session alive concerns nobody else in ZooKeeper, and a leader's check
//! changes no node. It could write to its own, but that would wake whoever waits behind it each time.
//!
//! A survey is a `sync` and reads behind it. A follower that is cut off cannot answer the `sync`; a leader that
//! has no quorum does, until it notices, at most `syncLimit` ticks later. Only a write would tell, which
//! whoever may only look cannot be asked for.
//!
//! ZooKeeper 3.5 or newer, for containers and for what a `create` returns. No SASL. The option
//! `server-name` is refused: the library takes the name from the URL.

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
mod look;
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

/// What elect knows of this kind of store before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "ZooKeeper",
    schemes: &[SCHEME, "zk+tls"],
    example: "zk://HOST",
    nicknames: &["zookeeper"],
    lacks: "a host is missing: write zk://HOST,HOST or zk+tls://HOST,HOST",
    manual: ("zookeeper", include_str!("manual.md")),
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Gets ready to use the store at a URL:
///
/// `zk://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/PATH][?OPTION=VALUE[&OPTION=VALUE]...]`, or
/// `zk+tls://` for TLS.
///
/// The port is 2181 where it is left out. The path is the directory of the elections, `/elect` if there is
/// none; it need not exist. Options:
///
/// - `user`, `password-file`: as in [`Credentials`](elect_api::remote::Credentials), for the scheme
///   `digest`;
/// - `acl`: who may do what with what we create: `open` is everybody, `creator` is whoever has the same
///   credentials, and the default where there are credentials;
/// - `store-id`: the store that is meant, as `elect doctor` prints it: another one, or one without an id, is refused;
/// - `layout`: how nodes are named: `curator-latch` (default), `curator-lock` or `kazoo`;
/// - with `zk+tls`, those of [`Tls`](elect_api::remote::Tls) but `server-name`. Without `ca` the authorities
///   count that the system trusts.
///
/// Nothing is sent, and no task is started, before the first call of the store that needs it.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) if the URL means no such store or a file that it names is not
/// what it should be; `Denied` if one may not be read.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let settings = settings::Settings::of(url, |name| std::env::var(name).ok())?;
    Ok(Box::new(store::ZkStore::new(settings)))
}
