//! What goes wrong, done on purpose: to a process, to a machine, to the way to a store.
//!
//! Each injector is a value. What it does lasts until it is told to end it or is dropped, also by a
//! test that fails, and reaches nobody whom the test has not put into its way. Most take root; a test
//! without the right to inject fails and says what is missing, it never passes by doing nothing.
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
//! What came of it goes into a [`Table`].

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
pub(crate) use self::filter::enter as enter_filter;
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
