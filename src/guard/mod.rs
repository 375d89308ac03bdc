//! The guardian: the small process between `elect` and the command. It has the whole command tree dead before another
//! candidate can lead. It knows neither stores nor the engine.
//!
//! ```text
//! elect (wrapper)      a subreaper; holds one end of the socket
//!   ├─ elect-keys      in a terminal, with `--once`: notes the keys that the command gets (`key_witness`)
//!   └─ guardian        single-threaded, allocates nothing, a subreaper; alone holds both ends of the death-pipes
//!        ├─ command    leads a process group of its own; PDEATHSIG; inherits the mark of a local lease
//!        └─ elect-init with `pidns` only: the first process of the command's pid namespace; PDEATHSIG
//! ```
//!
//! Each row names what is dead or stopped, and what then kills the tree:
//!
//! | dead or stopped | what acts |
//! |---|---|
//! | nothing | the guardian: it signals, sends CONT, and in time kills everything in the [enclosure](Enclosure) until that is empty |
//! | wrapper dead | the guardian: it sees end-of-file on its socket, kills the tree, and has the entry given up by a ticket |
//! | guardian halted by a tracer | the wrapper: it kills the tree below the guardian (`takeover`) |
//! | guardian stopped when everything must be killed | the wrapper: it kills the guardian, and the next row applies |
//! | guardian dead | the kernel: PDEATHSIG kills the command, the death-pipes kill its group, the end of the init ends its namespace; the wrapper sweeps the rest |
//! | both dead | the kernel, as above; without a namespace a `setsid` escaper lives on, but it inherited the mark that keeps others from a local lease |
//! | any of them stopped or frozen | the kernel: at the last deadline the dead-man timer kills the guardian |
//!
//! A KILL is not yet an end: a killed process keeps its children until it is gone. So `descendants` are searched at any
//! depth, pass after pass (`kill_loop`). The system calls that this rests on are tried before anything starts
//! (`self_check`).
//!
//! The [`Containment`] says how surely descendants are held. The guardian and its loop are the same for all
//! containments. An enclosure knows how to start the command in it, how to kill everything in it, and how to see that
//! it is empty. Nothing else depends on the containment.
//!
//! The guardian is one-way: it starts one command, and once it has begun to kill it starts nothing. With
//! [restarts](Starts::Again) it starts the command again if that has ended by itself, and once its tree is empty. If
//! anything else ends a tree, there is no restart.
//! This is the only module of this crate with unsafe code. Each block says why it is sound.
#![allow(unsafe_code)]

mod allocator;
mod bound;
mod children;
mod clock;
mod dead_man;
mod descendants;
mod descriptors;
mod enclosure;
mod exec_handoff;
mod guardian;
mod handle;
mod image;
mod key_witness;
mod kill_loop;
pub mod ladder;
pub mod lease;
mod lease_file;
mod left;
mod limits;
pub(crate) mod locks;
mod outbox;
mod pass;
mod priority;
mod proc;
mod redeemer;
mod self_check;
mod signal_helper;
mod signals;
mod spawn;
mod takeover;
mod terminal;
mod view;
mod wire;

pub use allocator::NoAlloc;
#[cfg(all(not(debug_assertions), target_env = "musl"))]
pub use allocator::{Allocator, let_forks_allocate};
pub use bound::{adopt_orphans, bind_helpers, has_children, kill_descendants};
pub use children::{Ended, reap, reason, signal_name, told_to_end};
pub use clock::{Alarm, now, rate};
pub use enclosure::{Containment, Enclosure, Unavailable};
pub use exec_handoff::{ExecHandoff, HANDOFF};
pub use handle::{Forked, Guardian, Happened, Pulse, Settings, Starts};
pub use image::become_command;
#[cfg(feature = "cli")]
pub(crate) use image::{LEASE, PART, SLOT, TOKEN};
pub use key_witness::KeyWitness;
pub use ladder::{Deadlines, Leftover, Order};
pub use lease_file::LeaseFile;
pub use left::{Fate, Left};
pub use redeemer::Redeem;
pub use signals::{
    Incoming, Inherited, SignalTo, end_by, ends_command, ends_elect, make_ready, stop, suspend,
};
pub use spawn::Role;
pub use terminal::Terminal;
pub use view::{LeadershipView, Until};
pub use wire::FromGuardian;
#[cfg(feature = "fuzzing")]
pub use wire::fuzz as fuzz_wire;

/// Returns whether this `elect_testkit::switches::Part` is turned off. In builds with the feature `sim`, tests can turn
/// off each part that keeps the promise, to show that they would notice.
#[cfg(feature = "sim")]
macro_rules! is_off {
    ($part:ident) => {
        elect_testkit::switches::is_off(elect_testkit::switches::Part::$part)
    };
}

/// Always false: nothing can be turned off in this build.
#[cfg(not(feature = "sim"))]
macro_rules! is_off {
    ($part:ident) => {
        false
    };
}

pub(crate) use is_off;
