//! Elections simulated: one world of messages, timers and faults, and what others than elect do in it.
//!
//! A [`Scenario`] says how many candidates there are, what the [network](Network) between them is like, and what goes wrong
//! ([`Script`]). A [`Trial`] plays it with an [`Election`]: one run for each seed. A run is a [`History`] of who led when
//! by true time, and of what was said; many runs make a [`Summary`].
//!
//! ```
//! use std::time::Duration;
//! use elect_simulation::{Delay, End, Fault, Network, Progress, Scenario, Trial, Who};
//! use elect_simulation::peers::{Raft, RaftOptions};
//!
//! let ms = Duration::from_millis;
//! let raft = Raft::new(RaftOptions { pre_vote: true, ..RaftOptions::with_timeout(ms(300), ms(600)) });
//! let network = Network::new(Delay::uniform(ms(30), ms(40))?);
//! let mut scenario = Scenario::new(5, network, End::Replaced { limit: ms(60_000) })
//!     .with(ms(10_000), Fault::Kill(Who::Leader));
//! scenario.shift = ms(150); // at any phase of the heartbeats
//! let summary = Trial::new(&raft, &scenario)?.measure(1, 100, &Progress::default());
//! println!("half of the fail-overs took less than {:?}", summary.failovers.per_mille(500));
//! # assert_eq!((summary.runs, summary.unreplaced.len()), (100, 0));
//! # Ok::<(), elect_simulation::Senseless>(())
//! ```
//!
//! # The elections
//!
//! Each is as its paper has it, with what one needs to run it among nodes that fail; its page says what was added. They are
//! [Bully](peers::Bully), [Ring](peers::Ring), [Raft](peers::Raft), and two recipes on a store: ZooKeeper's
//! [queue](peers::Recipe::Queue) and the naive [herd](peers::Recipe::Herd). A node that *leads* believes so: nothing here
//! stops what it does as the leader. So two lead at once from when the second believes it until the first learns of it.
//!
//! # Stores of several members
//!
//! [`replicas`] has a store whose members elect their leader among themselves, for candidates that meet on one. It knows
//! nothing of what it stores: that is a [`State`](replicas::State). When it had a leader is in [`History::served`], apart from
//! when a candidate led.
//!
//! # Machines and processes
//!
//! A [`Fault`] hits a node's machine, or [processes](Process) on it. A node of several processes says in
//! [`Node::strike`] what becomes of it without one of them. All others are one process.
//!
//! # The same run everywhere
//!
//! A seed gives the same run on every machine:
//!
//! - Times are whole nanoseconds, and shares and rates are whole millionths. There is no floating-point number in this
//!   crate, so that no C library and no compiler can round the order of two events.
//! - A normal deviate comes from comparisons of whole numbers, and an exponential from a series in whole numbers.
//! - Events of the same time come in the order in which they were made. No container here has an order of its own making.
//! - All chance of a run is one generator, from which `u64` are drawn and nothing else. Runs on other threads have
//!   others.
//!
//! # What is not modelled
//!
//! - Reactions and disks take no time, and no disk is lost.
//! - Nobody joins or leaves for good.
//! - Nodes have no log: in Raft all are equally up to date. The members of a store share what they have stored
//!   ([why that will do](replicas#why-one-state-will-do)). So none of them has to catch up, and none has old data.
//! - What is under way in a store when its leader dies is lost as a whole.
//! - The store of the [recipes](peers::Recipe) is one node: it is reachable or not, and never forgets.
//! - Connections do not break: a client does not learn that a node is dead, but hears nothing.
//!
//! # Where to add something
//!
//! | what | where |
//! |---|---|
//! | an election | a file in `peers` with a [`Node`] and a [`Protocol`] |
//! | a store of several members | a [`State`](replicas::State), and nodes with a [`Member`](replicas::Member) |
//! | what Raft does, as candidates and as members | `peers/elector.rs` |
//! | a fault | a variant of [`Fault`], and what it does in `world/mod.rs` |
//! | what becomes of a node without one of its processes | [`Node::strike`] |
//! | a distribution of delays | `delay.rs` |
//! | what is measured | [`History`] if it is of one run, [`Summary`] if of many |

mod chance;
mod delay;
mod measure;
pub mod peers;
mod per_million;
pub mod replicas;
mod senseless;
mod trial;
mod world;

pub use chance::Chance;
pub use delay::Delay;
pub use measure::{Progress, Summary, Times, over};
pub use per_million::PerMillion;
pub use senseless::Senseless;
pub use trial::{Election, End, Protocol, Scenario, Trial};
pub use world::{
    Blow, Context, Drift, Fault, History, Host, Lead, Network, Node, NodeId, Overlap, Process,
    Script, Who,
};
