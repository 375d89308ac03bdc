//! Steering: `elect resign`, `elect pause`, `elect resume` and `elect priority`, on each store.

mod force;
mod foreign;
mod forget;
mod names;
mod pause;
mod priority;
mod readme;
mod resign;
mod sidecar;
