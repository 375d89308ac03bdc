//! Faults that only the local disk can cause: damage, planted files, full disks, other users.
//!
//! Some tests need root, to change owners and users, and to mount a small file system.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod door;
mod full;
mod golden;
mod leases;
mod planted;
mod support;
mod users;
