//! What most tests begin with.

pub(crate) use std::fs;
pub(crate) use std::net::SocketAddr;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Stdio};
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::thread;
pub(crate) use std::time::Duration;

pub(crate) use elect_api::Boottime;
pub(crate) use elect_testkit::oracle::{Oracle, Stamper, now};
pub(crate) use elect_testkit::program::{Elect, Ended, Running, eventually};
pub(crate) use elect_testkit::servers::{ApiServer, Etcd, ZooKeeper};
pub(crate) use nix::sys::signal::Signal;
pub(crate) use nix::unistd::Pid;
pub(crate) use serde_json::{Value, json};
pub(crate) use tempfile::TempDir;

pub(crate) use crate::support::Ground;

/// The program.
pub(crate) const ELECT: &str = env!("CARGO_BIN_EXE_elect");
