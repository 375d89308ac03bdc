//! The laws of the contract, on etcd.

mod common;

mod one_member;
mod three_members;
mod through_a_proxy;
