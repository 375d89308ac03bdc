//! The guardian: the small process between `elect` and the command that has the whole command tree
//! dead before anybody else can lead. It knows neither stores nor the engine.
//!
//! ```text
//! elect (wrapper)      a subreaper; holds one end of the socket
//!   ├─ elect-keys      in a terminal, with `--once`: hears the keys that the command gets (`key_witness`)
//!   └─ guardian        single-threaded, allocates nothing, a subreaper; alone has the death-pipes, both ends
//!        ├─ command    leads a process group of its own; PDEATHSIG; inherits the mark of a local lease
//!        └─ elect-init with `pidns` only: the first process of the command's pid namespace; PDEATHSIG
//! ```
//!
//! What may die or stop, and what then kills the tree:
//!
//! | gone or stopped | what acts |
//! |---|---|
//! | nothing | the guardian: signal, CONT, then, in time, KILL of all that the [enclosure](Enclosure) holds until it is empty |
//! | wrapper dead | the guardian sees end-of-file on its socket, kills the tree, and has the entry given up by a ticket |
//! | guardian before a tracer | the wrapper kills below it (`takeover`) |
//! | guardian stopped when all is to be killed | the wrapper kills the guardian, and then it is as if that were dead |
//! | guardian dead | the kernel: PDEATHSIG for the command, the death-pipes for its group, the end of the init for its namespace; the wrapper sweeps the rest |
//! | both dead | the kernel, as above; without a namespace a `setsid` escaper lives on, but it inherited the mark that keeps others from a local lease |
//! | any of them stopped or frozen | the kernel: at the last deadline the dead-man timer kills the guardian |
//!
//! A KILL is not yet an end, and what is killed keeps its children until it is gone. So `descendants` are looked for at any
//! depth, pass after pass (`hunt`). What all of this rests on is tried before anything starts (`self_check`).
//!
//! How surely descendants are held is the [`Containment`]. The guardian and its loop are the same for all: an
//! enclosure knows how the command comes into it, how all in it are killed, and how it is known to be empty.
//! Nothing but that depends on the containment.
//!
//! The guardian is one-way: it starts one command, and once it began to kill it starts nothing. With
//! [restarts](Starts::Again) it starts a command again that has ended by itself, once the tree that it
//! had is empty; whatever else ends a tree ends that.
//! This is the only module with unsafe code; each block says why it is sound.
#![allow(unsafe_code)]

mod allocator;
mod birth;
mod bound;
mod children;
mod clock;
mod courier;
mod dead_man;
mod descendants;
mod descriptors;
mod enclosure;
mod exec_handoff;
mod guardian;
mod handle;
mod hunt;
mod image;
mod key_witness;
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
mod signals;
mod takeover;
mod terminal;
mod view;
mod wire;

pub use allocator::NoAlloc;
#[cfg(all(not(debug_assertions), target_env = "musl"))]
pub use allocator::{Allocator, let_forks_allocate};
pub use birth::Role;
pub use bound::{adopt_orphans, bind_helpers, has_children, kill_descendants};
pub use children::{Ended, reap, reason, signal_name, told_to_end};
pub use clock::{Alarm, now, rate};
pub use enclosure::{Containment, Enclosure, Unavailable};
pub use exec_handoff::{ExecHandoff, HANDOFF};
pub use handle::{Forked, Guardian, Pulse, Settings, Starts};
pub use image::become_command;
pub use key_witness::KeyWitness;
pub use ladder::{Deadlines, Leftover, Order};
pub use lease_file::LeaseFile;
pub use left::{Fate, Left};
pub use redeemer::Redeem;
pub use signals::{Incoming, Inherited, Whom, end_by, make_ready, stop};
pub use terminal::Terminal;
pub use view::{LeadershipView, Until};
pub use wire::FromGuardian;
#[cfg(feature = "fuzzing")]
pub use wire::fuzz as fuzz_wire;

/// Whether this `elect_testkit::switches::Part` is turned off: in builds with the feature `sim` each guard that keeps the
/// promise can be, so that tests can show that they would notice.
#[cfg(feature = "sim")]
macro_rules! is_off {
    ($part:ident) => {
        elect_testkit::switches::is_off(elect_testkit::switches::Part::$part)
    };
}

/// Nothing can be turned off in this build.
#[cfg(not(feature = "sim"))]
macro_rules! is_off {
    ($part:ident) => {
        false
    };
}

pub(crate) use is_off;
