//! The laws of the contract.

mod one;
mod proxied;
mod three;
