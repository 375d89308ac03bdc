//! elect's store on Kubernetes: the Leases of a namespace.
#![allow(dead_code)]

mod client;
