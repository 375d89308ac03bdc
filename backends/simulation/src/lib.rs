//! Simulated elections: a world of messages, timers and faults, and election algorithms other than elect's.
//!
//! A [`Scenario`] has the number of candidates, the [network](Network) between them, and a [`Script`] of faults. A
//! [`Trial`] plays it with an [`Election`], one run for each seed. The [`History`] of a run has each leadership by true
//! time, and the number of messages. Many runs make a [`Summary`].
//!
//! ```
//! use std::time::Duration;
//! use elect_simulation::{Delay, End, Fault, Network, Progress, Scenario, Trial, Target};
//! use elect_simulation::peers::{Raft, RaftOptions};
//!
//! let ms = Duration::from_millis;
//! let raft = Raft::new(RaftOptions { pre_vote: true, ..RaftOptions::with_timeout(ms(300), ms(600)) });
//! let network = Network::new(Delay::uniform(ms(30), ms(40))?);
//! let mut scenario = Scenario::new(5, network, End::Replaced { limit: ms(60_000) })
//!     .with(ms(10_000), Fault::Kill(Target::Leader));
//! scenario.shift = ms(150); // at any phase of the heartbeats
//! let summary = Trial::new(&raft, &scenario)?.measure(1, 100, &Progress::default());
//! println!("half of the fail-overs took less than {:?}", summary.failovers.per_mille(500));
//! # assert_eq!((summary.runs, summary.unreplaced.len()), (100, 0));
//! # Ok::<(), elect_simulation::Senseless>(())
//! ```
//!
//! # The elections
//!
//! Each follows its paper, plus the parts that it needs among nodes that fail. Its page names these parts. There are
//! [Bully](peers::Bully), [Ring](peers::Ring), [Raft](peers::Raft), and two recipes on a store: ZooKeeper's
//! [queue](peers::Recipe::Queue) and the naive [herd](peers::Recipe::Herd). A node *leads* while it believes so,
//! because nothing here stops its work. So two lead at once from the time at which the second believes it until the
//! first learns of it.
//!
//! # Stores of several members
//!
//! [`replicas`] has a store whose members elect their leader among themselves, for the candidates that use it. It knows
//! nothing of its contents, which are a [`State`](replicas::State). [`History::served`] has the leaderships of members,
//! apart from those of candidates.
//!
//! A [`queue::Queue`] is the state of a store with leases. elect's own candidates and the stores of its tests use it.
//!
//! # Machines and processes
//!
//! A [`Fault`] hits a node's machine, or [processes](Process) on it. A node of several processes handles the loss of
//! one in [`Node::strike`]. Every other node is one process.
//!
//! # The same run everywhere
//!
//! A seed gives the same run on every machine:
//!
//! - Times are whole nanoseconds, and shares and rates are whole millionths. This crate has no floating-point number,
//!   so no C library and no compiler can change the order of two events by rounding.
//! - A normal deviate comes from comparisons of whole numbers, and an exponential from a series in whole numbers.
//! - Events of the same time happen in the order of their creation. No container here has an order of its own.
//! - Each run has one generator of random numbers, from which only `u64` are drawn. Runs on other threads have others.
//!
//! # What is not modelled
//!
//! - Reactions and disks take no time, and no disk is lost.
//! - No node joins or leaves for good.
//! - Nodes have no log, so in Raft all are equally up to date. The members of a store share its contents ([why one
//!   state is enough](replicas#why-one-state-will-do)). So none of them has to catch up, and none has old data.
//! - All that is under way in a store when its leader dies is lost.
//! - The store of the [recipes](peers::Recipe) is one node. It is reachable or not, and never forgets.
//! - Connections do not break. A client hears nothing from a dead node, and does not learn that it is dead.
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
pub mod queue;
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
    Script, Target,
};
