//! What `elect run --http` shows, to whom it shows it, and whom it does not let hold up the engine.

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
