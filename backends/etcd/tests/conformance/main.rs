//! The laws of the contract, on etcd.

mod common;

mod three_members;
mod through_a_proxy;
