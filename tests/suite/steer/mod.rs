//! Steering: `elect resign`, `elect pause`, `elect resume` and `elect priority`, on each store.

mod force;
mod foreign;
mod pause;
mod priority;
mod readme;
mod resign;
mod sidecar;
