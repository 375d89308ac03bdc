//! What the laws of the contract do not ask: other programs, other members, other people's rights.

mod support;

mod credentials;
mod crowds;
mod interplay;
mod losses;
mod members;
mod messages;
mod nesting;
mod sharing;
mod tls;
