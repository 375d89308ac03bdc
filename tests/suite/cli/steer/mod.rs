//! Steering: `elect resign`, `elect pause`, `elect resume` and `elect priority`, on each store.

mod force;
mod foreign;
mod forget;
mod manual;
mod names;
mod pause;
mod priority;
mod resign;
mod sidecar;
