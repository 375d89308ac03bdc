//! The store on Kubernetes: the Leases of a namespace.
//!
//! # Theory of operation
//!
//! This crate stores documents. `elect_record` builds an election store on top of them, and documents who leads, for
//! how long, and how lost requests are handled. Each document is a Lease of `coordination.k8s.io/v1`:
//!
//! ```text
//! NAME             the record: its spec as client-go writes it, elect's part in the annotation elect/record
//! NAME.<nonce>     a waiting candidate; the label elect/election finds it
//! NAME.data        fences and values
//! ```
//!
//! **Shared with Go programs**: the spec decides who holds a Lease. Another program that takes the Lease leaves elect's
//! annotation unchanged. The annotation names the holder for which it was written: see `lease`. The store refuses a
//! Lease under coordinated leader election, because Kubernetes itself chooses its holders.
//!
//! **Token**: versions are `resourceVersion`s, which rise with each write to the API server's store. The store
//! refuses a `resourceVersion` that is not a number.
//!
//! **Writing** sends the whole Lease as it was read, with its version and its uid. The API server compares both.
//! Otherwise it would create a deleted Lease again, whatever the version.
//!
//! **Unknown outcomes**: a request without an answer may have been carried out. So may a request answered with 5xx: the
//! API server got no answer from etcd in time. A request answered with 429 was not carried out.
//!
//! **The pod's label**, by which a Service finds the leader, is no part of the store: see [`PodLabel`].
//!
//! **Reading** sends no `resourceVersion`, so that the API server reads from its own store. Only watches, which are
//! hints, are served from the API server's cache.

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

/// The description of this kind of store, which elect needs before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: "Kubernetes",
    schemes: &[SCHEME, "k8s"],
    example: "kubernetes:///NAMESPACE",
    nicknames: &[],
    lacks: "a colon is missing: write kubernetes: for the namespace of your context or pod, or kubernetes:///NAMESPACE",
    manual: ("kubernetes-store", include_str!("manual.md")),
    credentials: Some("credentials come from the kubeconfig or the pod"),
    knows_pods: true,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Prepares to use the store at a URL: `kubernetes:///[NAMESPACE][?OPTION=VALUE[&OPTION=VALUE]...]`.
///
/// Without a namespace in the URL, the store uses the context's, or the pod's, or else `default`. The options are
/// `kubeconfig`, a file; `context`, one of its contexts; and `order`, `queue` or `race`.
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
