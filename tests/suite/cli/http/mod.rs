//! The server of `elect run --http`: what it shows, which clients it serves, and that no client holds up the engine.

mod after_loss;
mod again;
mod basics;
mod change;
pub(crate) mod client;
mod dashboard;
mod hostile;
mod manual;
mod prometheus;
mod truth;
mod vanished;
