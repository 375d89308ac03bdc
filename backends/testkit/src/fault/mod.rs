//! Fault injectors for processes, machines, disks and connections to stores.
//!
//! Each injector is a value. Its fault lasts until the test ends it or drops the value, which a failing test does too.
//! It affects only what the test has put in its reach. Most injectors need root. A test that may not inject fails and
//! names what is missing. It never passes without the fault.
//!
//! | what fails | injector |
//! |---|---|
//! | a process stands still | `SIGSTOP` through [`Running::signal`](crate::program::Running::signal), [`Cgroup`], [`Traced`] |
//! | a process dies | `SIGKILL`, in the same way |
//! | descriptors, processes, sizes of files run out | [`Limits`] |
//! | a filter refuses a system call | [`Filter`] |
//! | a disk is full, or may only be read | [`Disk`] |
//! | a connection is slow, silent, stuttering, cut | [`TcpProxy`] |
//! | a reply has no end | [`Flood`] |
//! | a machine is out of reach, in one way or in both | [`Network`] |
//!
//! A [`Table`] collects the results.

mod disk;
mod exhaust;
mod filter;
mod flood;
mod frames;
mod freezer;
mod network;
mod proxy;
mod ptrace;
mod table;

pub use self::disk::Disk;
pub use self::exhaust::Limits;
pub use self::filter::{Filter, Refusal};
pub use self::flood::{Flood, Torrent};
pub use self::frames::Frames;
pub use self::freezer::Cgroup;
pub use self::network::{Direction, Network};
pub use self::proxy::{Count, Garbling, Mode, Spoil, TcpProxy, Traffic};
pub use self::ptrace::Traced;
pub use self::table::{Outcome, Row, Table};

#[cfg(test)]
mod tests;
