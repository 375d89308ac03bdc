//! Steering: `elect resign`, `elect pause` and `elect resume`, on each store.

mod force;
mod foreign;
mod pause;
mod readme;
mod resign;
mod sidecar;
