//! `elect` leads an election: a command, or a program, does its work on exactly one machine at a time.
//!
//! The program `elect` takes a lease on a store that its user already trusts, and runs a command while it holds the
//! lease. It has the whole command tree dead *before* another candidate can lead. The library does the same for work in
//! Rust. It cannot kill that work, and tells it in time to stop.
//!
//! # From Rust
//!
//! A [`Campaign`] waits until it leads. The [`Leadership`] has a fencing token, and a [`Validity`] that tells at any
//! time whether it may still be counted on:
//!
//! ```
//! use elect::Campaign;
//!
//! # let folder = tempfile::tempdir()?;
//! # let url = &format!("file://{}", folder.path().display());
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let campaign = Campaign::new(url, "report")?; // or "etcd://a,b,c", "zk://a,b,c", "kubernetes:"
//! let leadership = campaign.lead().await?;
//! let validity = leadership.validity();
//! let report = async { /* one await after another, with the token where others write, too */ };
//! tokio::select! {
//!     () = report => println!("reported with token {}", leadership.token()),
//!     why = validity.lost() => println!("stopped in the middle of it: {why}"),
//! }
//! leadership.resign().await?;
//! # assert!(!validity.is_valid());
//! # Ok::<(), elect::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Five rules:
//!
//! - **At most one candidate leads**, under the conditions that the manual gives for commands, if the program stops its
//!   work by the [deadline](Validity::deadline). elect cannot kill that work: beyond the deadline it may run beside the
//!   next leader's. [`Validity::lost`] resolves in time, with the [grace](Campaign::grace) left.
//! - **Work in a `select!` as above ends at an await**, and must reach one at least once within the grace. Work on
//!   threads asks before each step whether more time [remains](Validity::remaining) than the step takes.
//! - **A shared resource gets the [token](Leadership::token)**, and refuses a smaller token than it has seen. A process
//!   can be stopped between any check and the write that follows.
//! - **Each store is a feature**, such as `etcd` and `file` (`Cargo.toml`). So are `cli`, the program, `selftest` and
//!   `simulate`. All but `cloud` (DynamoDB and S3) are on by default; without these three, the library needs half as
//!   many crates.
//! - **A thread of elect's own renews the lease**, under any executor.
//!
//! A whole program:
//!
//! ```no_run
#![doc = include_str!("library/example.rs")]
//! ```
//!
//! # Theory of operation
//!
//! A *candidate* is one `elect run` that takes part in an *election*. It has an *entry* in a *store*, which it
//! reaches through a *seat* ([`elect_api::Seat`]). One candidate at a time is the *leader*: it holds the *lease*, has
//! a *token*, and runs its command. Paths begin in `src` or are of crates; `machine` and `driver` are in `election`.
//!
//! ```text
//! elect (wrapper: command line, runtime, store, signals; a subreaper)
//!   └─ guardian   one thread, no allocation, no network; a subreaper
//!        └─ command tree, in a process group of its own
//!
//! which part uses which:
//! main → command, cli      command → config → cli      command, library → election → guard, elect_api
//! stores → backends/* → elect_api      stores with servers → elect_remote → elect_system
//! ```
//!
//! ## From the command line to a plan
//! `cli` parses arguments and variables, and opens nothing. `config` finds the configuration file and uses its values
//! as the defaults of the same grammar. It returns a plan that contradicts itself nowhere. `command` carries the plan
//! out (`command/mod.rs`); `report/outcome.rs` has the exit code of a run. A limit that only the store knows, such as
//! its longest lease, is checked once the store is open.
//!
//! ## The engine
//! **The machine** (`election/machine`) decides. It is a pure function of state, time and event, and returns
//! commands. **The driver** (`election/driver`) is the one loop. It waits for time, for the store, for the tree and
//! for the inbox, asks the machine, and executes the commands. The inbox brings signals to elect, and requests of
//! `command` and `library`.
//!
//! **A store** (a crate in `backends`) offers bounded steps by the laws of [`elect_api`]. It never waits, renews or
//! retries by itself, so only the engine decides who leads. Stores such as Kubernetes and PostgreSQL keep documents,
//! and end no lease by time. Candidates then judge by their own clocks when one is over (`backends/record/src/seat`).
//!
//! **A call without an answer** changes nothing. The machine asks the same again while there is time
//! (`machine/patience.rs`). A refusal ends a candidate that the store has never let in. For any other candidate a
//! refusal is an outage, unless it tells what the store itself is (`elect_api::Error::may_pass`).
//!
//! ## Time
//! All time is `CLOCK_BOOTTIME`, read in `guard/clock.rs` alone. The engine and the stores get it as an argument.
//! Limits that no lease depends on use the runtime's clock. Wall clocks never say whether a lease is over. The end of
//! a pause, the key of `--once-per` and the least token on the local disk do go by wall clocks.
//!
//! **Timing** (`election/timing.rs`) derives and checks all durations. `config/campaign.rs` makes a timing of `--ttl`
//! and its like; the store's answer makes it exact (`Timing::regrant`). A *proof* is an answer of the store that the
//! candidate leads. It counts from *before* its request was sent. The *margin* is a fifteenth of the lease, at least
//! 500 ms. The *counted end* is earlier than the store's, by what `--max-clock-drift` allows (`Timing::end`). The hard
//! deadline is a margin before the counted end, the soft one a grace earlier:
//!
//! | instant | what happens | who acts |
//! |---|---|---|
//! | soft deadline | the command is asked to stop | the guardian, by its ladder |
//! | hard deadline | all processes of the command are killed | the guardian, by its ladder |
//! | dead-man instant, a quarter of the margin later | the guardian is killed; its death kills the command and its group | the kernel, by a timer (`guard/dead_man.rs`) |
//!
//! The guardian keeps these deadlines by itself. After each proof the wrapper sends it later ones (`Order::Renewed`,
//! by `guard/handle.rs`). A proof after the soft deadline does not undo the request to stop. Once the guardian has
//! killed all that it found, its dead-man instant moves to a quarter of the margin before the counted end. Local
//! leases do not end by time. A candidate whose clock is slewed further than its leases allow for does not lead. A
//! winner starts nothing if its next proof would come too late (`Timing::will_be_proven`).
//!
//! ## From the win to the command
//! **Gates** (`machine/gates`) stand between a win and a start, in one order: the division, `--once`, a pause,
//! priorities, the lock delay, the count of attempts. A winner that a gate holds back keeps its place, or leaves, and
//! starts nothing. A start also needs the whole grace left on the lease.
//!
//! **The token** reaches the command as `ELECT_TOKEN`. The store returns it with the win; `guard/handle.rs` sends it
//! over the socket, and the guardian writes it into the command's environment (`guard/image.rs`). Hooks get theirs from
//! `command/candidacy/hooks.rs`. `elect check` reads token and deadline from memory that the guardian writes
//! (`guard/lease.rs`), or from the file of `--lease-file` (`guard/lease_file.rs`).
//!
//! **A local lease** is a lock on a file of the local disk, which a descriptor of the guardian holds. The command tree
//! inherits a second one, the *mark*, which does not hold the lock. The next candidate waits while a process has it. So
//! the lease outlives a crash of elect, and the command cannot give it away.
//!
//! **A ticket** names an entry before the entry exists. The guardian gets it before the store makes the entry. If the
//! wrapper dies, the guardian kills the tree and then executes `elect redeem`, which removes the entry. The next
//! candidate need not wait for the end of the lease.
//!
//! ## From the end of the lease to the KILL
//! **The ladder** (`guard/ladder.rs`) decides when to signal and when to kill. It is pure as well. The guardian asks
//! with TERM (or `--signal`) and CONT. Then it kills pass after pass (`guard/kill_loop.rs`, `guard/descendants.rs`),
//! until it has no child left and the containment is empty. Only then does the machine let the wrapper resign.
//!
//! **If the wrapper dies**, the guardian sees the end of its socket and kills the tree. **If the guardian dies**, the
//! kernel kills the command (PDEATHSIG, `guard/spawn.rs`) and its group (death-pipes, `guard/dead_man.rs`). The wrapper
//! is a subreaper too, and kills the rest. When it is time to kill, it also kills a guardian that is stopped, and the
//! tree below a guardian that a tracer holds (`guard/takeover.rs`). The table in `guard/mod.rs` has all cases.
//!
//! **Containments** (`guard::Containment`) are ways to start a command, to kill all of its tree, and to prove the
//! tree empty. `group` reaches the command's process group only; the others reach descendants at any depth. When
//! wrapper and guardian are both dead, only a pid namespace still kills descendants that have left the group. elect
//! tries the system calls first (`guard/self_check.rs`), and starts nothing if the kernel refuses one.
//!
//! **A lost entry** is found by a refresh, often after a wake. `Standing::Gone` means that another candidate may
//! lead: everything is killed at once. `Standing::Evicted` means that none can lead yet: the command has its grace.
//! With `--after-loss campaign` elect then executes itself anew (`guard/exec_handoff.rs`).
//!
//! ## What the store keeps beside entries
//! **A cell** ([`elect_api::Cell`]) is a small text of an election. A write has a condition that the store checks in
//! the same step: the writer leads, the text is unchanged since it was read, or the entry with a given token leads.
//!
//! | cell | what it holds | code |
//! |---|---|---|
//! | once | which keys of `--once` are done; only a leader writes it, before it resigns | `election/once.rs`, `driver/requests.rs` |
//! | runs | how the runs of each key went, for `--once-attempts` | `election/runs.rs` |
//! | history | each leadership with its start and end; a successor closes one that a crash left open | `election/history.rs` |
//! | control | what people ask: a pause, a hand-over, priorities; what candidates settle: the division, who holds which shard | `election/control.rs` |
//! | fence, value | the greatest token seen; what a leader has stored | [`elect_api::fence`](fn@elect_api::fence) |
//!
//! Candidates read the control cell with each answer, and obey it themselves. The history delays no renewal. A start
//! waits for it only with priorities, a lock delay, or `--once` without attempts on a remote store.
//!
//! **Priorities** (`election/ranking.rs`) need no agreement. Only the head of the queue can lead. Before it starts
//! anything, it looks for a better candidate, and if there is one it moves to the end of the queue. A candidate that
//! is wrong about the others may lead too early or too late, but never beside another leader.
//!
//! ## Several leaders under one name
//! **Slots** (`election/slots`) are places of which a candidate may win any one. Its seat combines a seat at a door,
//! where all candidates queue, with a seat in each slot, where only the head of that queue waits.
//!
//! **Shards** (`command/run/shards`) are elections `NAME:0`, `NAME:1`, and so on, of which a process takes many. The
//! leader of the *roster* advises who takes part in which shard (`election/spread.rs`); the shard's own election
//! decides who leads it. Slots fill at once after a crash, as the next candidate waits there; shards move to newcomers.
//!
//! ## Without a command
//! **A sidecar** (`command/sidecar`) tells an application in another process who leads, by a file and over HTTP. **A
//! [`Campaign`]** (`library`) tells a program in Rust. Neither has a guardian: a `Duty` (`election/driver/duty.rs`)
//! stands in the place of the tree, and takes the whole grace to end, because elect can kill nothing there.
//!
//! **`status`, `observe` and `wait`** (`command/survey`) take no part. [`elect_api::Store::changed`] wakes them, and a
//! survey shows the state. Without an answer they show the last state and its age.
//!
//! **`fence`, `put` and `get`** (`command/data.rs`) may be stopped between two steps. So the store compares tokens.
//!
//! ## Around the command
//! **Hooks and health checks** (`command/candidacy`) run beside the command. The hook that runs as leadership begins
//! has a guardian of its own with the same deadlines. One owner, `HookSupervisor`, passes the engine's orders to the tree
//! and to them, and reports the tree as empty once they are dead too.
//!
//! **The terminal** (`guard/terminal.rs`) sees one job, which is two process groups. The command's group has the
//! foreground. `guard/key_witness.rs` notes that the command has survived a key such as Ctrl-C, for `--once`.
//!
//! **`report`** writes logs, tables, JSON and the outcome file, answers HTTP on its own thread, and waits for no reader.
//!
//! ## Trials
//! `elect selftest` starts real runs, injects faults from outside, and compares the times at which their commands
//! ran. `elect doctor` examines each store ([`elect_api::Store::examine`]) and this machine. `elect simulate` plays
//! the same machine and ladder in a simulated world (`simulate/model`, `backends/simulation`); a seed gives the same run
//! everywhere. `is_off!(...)` beside a decision is false in releases. Test builds use it to remove one guard of the
//! promise, and to see that a test notices.
//!
//! # Where to add something
//!
//! | to add | change |
//! |---|---|
//! | a flag of `run` | `cli/run.rs`, or `cli/groups.rs` if a sidecar has the flag too; its `env` is `ELECT_` and its name, and one that an `elect` inside the command must not inherit is in `OF_ONE_RUN` (`config/variables.rs`) and in `cli/help/run.txt`; its field in the plan (`config/plan.rs`, or `config/campaign.rs`). `hide_short_help` hides a flag that few need. A flag that limits what runs is in `LIMITS` (`cli/grammar.rs`); one that needs or excludes another is in `config/conflicts.rs`, and one that yields to another in `RunArgs::overrule`. A flag of the engine has its field in `Rules` instead, which `config/plan.rs` fills, and `CampaignPlan::rules` if a sidecar has the flag too. `cargo run -- completions --dir completions` makes the completions anew |
//! | a variable that replaces no flag | `config/variables.rs`, and the topic `environment` |
//! | a condition of a start | a gate in `election/machine/gates`, its field in `Gates`, and its place in their order. `Block` (`election/machine/messages.rs`) names the gate for people, and the topic `metrics` lists the name. `machine/obeying.rs` has the candidates leave that do not wait for it. A gate may ask the store, by a `Call` and a `Reply` (`election/call.rs`, `driver/requests.rs`). It learns all else from `Rules`, or from an event of the inbox |
//! | a hint for a slip | `cli/hints.rs` for flags; `config/programs.rs` for a command that does not exist; `config/elsewhere.rs` for a store that was not named |
//! | a health check | its flag in `HealthArgs` (`cli/groups.rs`), its field in `HealthPlan` (`config/campaign.rs`), its conflicts in `config/conflicts.rs`, and the check in `command/candidacy/health.rs`; for a sidecar, `command/sidecar/health.rs` |
//! | a field of `status` | `report/status/mod.rs` has its key, `report/status/table.rs` its column, `ElectionStatus::new` or `LeaderStatus::new` fills it from the survey, and `command/survey/mod.rs` adds what a survey lacks; the topic `status` lists it |
//! | a page of the manual | `manual/TOPIC.md`, and its name in `manual/mod.rs`; a store has its page, `manual.md`, beside its code |
//! | a subcommand | its arguments in `cli`, the end of its help in `cli/help`, its plan in `config` if it needs one, its work in `command`; its line in `Command` (`cli/mod.rs`) and in `carry_out` (`command/mod.rs`) |
//! | a store | a crate in `backends`, on `elect_remote` if it has servers, that passes all laws (`elect_testkit::conformance!`); a profile that is `weak` if two candidates may lead at a time in it; one of rows as `elect_record::table::add_a_store` says; with one constant `KIND` of [`elect_api::StoreKind`]; a dependency and a feature in `Cargo.toml`; its line in `stores/mod.rs`; its row in the topic `stores` |
//! | a question for `elect simulate` | a subcommand of it: arguments in `simulate/args`, runs in a file of `simulate`, keys in `simulate/report.rs`, and its part of `manual/simulate.md` |
//! | a kind of store in it | a `Simulated` in `simulate/args`, its leases in `simulate/plan`, and the state of its members in `simulate/model/kinds.rs` |
//! | a fault in it | a variant of `Fault` in `backends/simulation`, its flag in `FaultArgs`, a variant of `What` in `simulate/args/values.rs`, and `Cast::fault` in `simulate/plan/script.rs` |
//! | a peer's election to compare with | `peers` in `backends/simulation`, and an `Entrant` in `simulate/compare.rs` |

#[cfg(not(target_os = "linux"))]
compile_error!(
    "elect needs Linux: it relies on PR_SET_PDEATHSIG, subreapers and signal-driven pipes"
);

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod command;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod election;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod guard;
#[doc(hidden)]
pub mod identity;
mod library;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod manual;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod report;
#[cfg(feature = "selftest")]
#[doc(hidden)]
pub mod selftest;
#[cfg(feature = "simulate")]
#[doc(hidden)]
pub mod simulate;
#[doc(hidden)]
pub mod stores;

pub use elect_api::Boottime;
pub use library::{Campaign, Error, Leadership, Validity};
