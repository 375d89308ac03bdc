//! Kubernetes on a real API server, and beside Go programs of client-go.

mod answers;
mod crowd;
mod laws;
mod manifests;
mod scene;
mod stops;
mod turns;
