//! The laws of the contract.

mod proxied;
mod three;
