//! elect's store on Kubernetes, on an API server of the test kit's.

mod bench;
mod conformance;
mod damaged;
mod odd_answers;
mod pod;
mod requests;
