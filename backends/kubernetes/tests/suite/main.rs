//! Tests of the store on Kubernetes, on the test kit's API server.

mod bench;
mod conformance;
mod damaged;
mod odd_answers;
mod pod;
mod requests;
