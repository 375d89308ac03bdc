//! Tests beyond the laws of the contract: other programs, other members, and users with other rights.

mod support;

mod credentials;
mod crowds;
mod divided;
mod golden;
mod interplay;
mod listings;
mod losses;
mod members;
mod messages;
mod nesting;
mod proofs;
mod sharing;
mod tls;
