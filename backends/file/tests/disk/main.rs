//! What only the local disk can do to an election: damage, planted files, full disks, other users.
//!
//! Some of it takes root: changing owners and users, and mounting a small file system.

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
