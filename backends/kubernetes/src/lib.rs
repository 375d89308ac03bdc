//! elect's store on Kubernetes: the Leases of a namespace.

mod client;
