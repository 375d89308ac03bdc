//! elect's store on Kubernetes: the Leases of a namespace.
//!
//! # Theory of operation
//!
//! It is a store of documents, which `elect_record` makes a store of the contract: who leads, for how long, and what
//! was lost on the way is told there. Each document is a Lease of `coordination.k8s.io/v1`:
//!
//! ```text
//! NAME             the record: its spec as client-go writes it, ours in the annotation elect/record
//! NAME.<nonce>     one who waits; the label elect/election finds it
//! NAME.data        fences and values
//! ```
//!
//! **Shared with Go programs**: the spec decides who holds a Lease. Another program that takes it leaves our
//! annotation as it was, which says of which holder it was written: see `lease`. An election under coordinated leader
//! election, whose holders Kubernetes names itself, is refused.
//!
//! **Token**: versions are `resourceVersion`s, which rise with each write to the API server's store. One that is no number
//! is refused.
//!
//! **Writing** sends the whole Lease as it was read, with its version and its uid: the API server compares both. A Lease
//! that is gone would be made again otherwise, whatever the version.
//!
//! **Unknown outcomes**: a request without an answer may have been done, and so may one that was answered with 5xx: the
//! API server had no answer of etcd in time. One that was answered with 429 was not.
//!
//! **The pod's label**, by which a Service finds the leader, is no part of the store: see [`PodLabel`].
//!
//! **Reading** asks without a `resourceVersion`, so that the API server asks its own store; only watches, which are hints,
//! come from what it remembers.

mod address;
mod api;
mod client;
mod error;
mod events;
mod examine;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod lease;
mod leases;
mod name;
mod pod;
mod watch;

use elect_api::{Error, Store, StoreKind};
use elect_record::RecordStore;

pub use pod::PodLabel;

/// The scheme of this store's URLs; `k8s` is the same.
pub const SCHEME: &str = "kubernetes";

/// What elect knows of this kind of store before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "Kubernetes",
    schemes: &[SCHEME, "k8s"],
    example: "kubernetes:///NAMESPACE",
    nicknames: &[],
    lacks: "a colon is missing: write kubernetes: for the namespace of your context or pod, or kubernetes:///NAMESPACE",
    manual: ("kubernetes-store", include_str!("manual.md")),
    knows_pods: true,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Gets ready to use the store at a URL: `kubernetes:///[NAMESPACE][?OPTION=VALUE[&OPTION=VALUE]...]`.
///
/// Without a namespace it is that of the context, or of the pod, or else `default`. The options are `kubeconfig`, a
/// file; `context`, one of its contexts; and `order`, `queue` or `race`.
///
/// Nothing is sent before the first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no
/// such store, or no kubeconfig can be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let address = address::Address::parse(url)?.at_home(std::env::var("HOME").ok())?;
    let (kubeconfig, context) = (address.kubeconfig.as_deref(), address.context.as_deref());
    let access = client::Access::find(kubeconfig, context, |name| std::env::var(name).ok())?;
    Ok(Box::new(RecordStore::new(leases::Leases::new(&address, access)?)))
}
