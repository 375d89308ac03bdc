//! Tests of the store on real servers.
//!
//! They require Debian's packages `zookeeper` and `default-jre-headless`.

mod common;
mod conformance;
mod divided;
mod golden;
mod layouts;
mod lost_replies;
mod members;
mod passwords;
mod refusals;
mod sharing;
mod silence;
mod stage;
mod support;
mod tls;
mod unreadable;
mod validity;
