//! What the laws of the contract do not ask: other programs, other members, other people's rights.

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
