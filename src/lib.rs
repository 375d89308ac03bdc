//! `elect` leads an election: on exactly one machine at a time a program, or a command, does its work.
//!
//! As a program, it takes a lease on a store that its user already trusts, runs a command while it holds the
//! lease, and has the whole command tree dead *before* anybody else can hold it. As a library, it does the same
//! for work in Rust, which it cannot kill, and which is told in time instead.
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
//! What there is to know about it:
//!
//! - **At most one leads**, under the conditions that the manual gives for commands, provided that the program has
//!   stopped its work by the [deadline](Validity::deadline). Nothing of it can be killed: whoever goes on beyond that
//!   may do so beside the next leader. [`Validity::lost`] ends in time, with the [grace](Campaign::grace) left.
//! - **Work in a `select!` as above ends where it awaits**, which it has to do at least once within the grace. Work on
//!   threads asks before each step whether more time [remains](Validity::remaining) than the step takes.
//! - **A resource that others write, too, gets the [token](Leadership::token)**, and refuses a smaller one than it has
//!   seen. A process can be stopped between any check and the write behind it.
//! - **A store is a feature**: `etcd`, `file`, `kubernetes` and `zookeeper`, all of them by default.
//! - **Renewals need nothing of the program's**: a thread of elect's own makes them. Any executor will do.
//!
//! A whole program:
//!
//! ```no_run
#![doc = include_str!("library/example.rs")]
//! ```
//!
//! # Theory of operation
//!
//! ```text
//! elect (wrapper: command line, runtime, store, signals; a subreaper)
//!   └─ guardian   forked by a thread that lives as long as it does; one thread, no allocation, no network; a subreaper
//!        └─ command tree, in a process group of its own
//! ```
//!
//! **From words to a plan.** `cli` reads arguments and does no I/O. `config` finds the configuration file, whose
//! values become the defaults of the one grammar in which the words are then read again, and turns the result into a
//! plan that contradicts itself nowhere; what only the store can tell, as how long its leases may be, is checked once
//! it is open. `command` carries it out; `main` only maps the result to an exit code.
//!
//! **The candidacy.** `election` is the engine. Its machine (`election::machine`) is a pure function
//! of state, time and event; its driver (`election::driver`) is the one loop that waits for events and
//! executes what the machine says; its timing (`election::timing`) derives and checks all durations in
//! one place. A store (the crates under `backends/`) offers bounded steps only, by the laws of
//! [`elect_api`]; it never waits, renews or retries by itself, so that there is only one idea of
//! who leads. Stores that keep documents and know no time, as Kubernetes, share an adapter (`backends/record`): there
//! the candidates judge by their own clocks when a lease is over. What a user wants of a lease, `--ttl` and the rest,
//! becomes a timing in `config/campaign.rs`, and the store's answer makes it exact (`Timing::regrant`).
//!
//! **What comes in.** The driver waits for time and for three others: the store, by the answer to the one call of the
//! seat, by wakes, and by what is looked at beside that call; the tree, which runs the command
//! (`election::driver::Tree`), or a duty in its place where no process is to be killed (`election::driver::Duty`);
//! and the inbox, in which signals to elect stand, and what whoever drives the candidacy wants. A signal about a job
//! of the terminal, or about a child, goes by the tree first, and may end there. `machine/obeying.rs` says what any
//! other signal does. After a call without an answer all stays as it was, and the same is asked again while there is
//! time (`machine/patience.rs`). A refusal ends a candidate that the store has never let in. For any other candidate a
//! refusal is an outage, unless it tells what the store itself is (`elect_api::Error::may_pass`).
//!
//! **The win.** When a refresh says that we lead, every gate lets us pass (`election::machine::gates`), and the lease
//! leaves the command its grace, the engine has the guardian start the command, and hands over the descriptors that
//! hold the lease, where the store has any (a local lock). The guardian writes the token into `ELECT_TOKEN`
//! (`guard/image.rs`; hooks have theirs from `command/candidacy/hooks.rs`). It has the descriptors; the tree inherits a
//! mark only, which it can hide but not turn against the lease. So a local lease outlives every crash of elect.
//!
//! **The end of the command tree.** `guard` sees to it. A pure ladder (`guard/ladder.rs`) says when: what a command leaves
//! that ends by itself has a moment, and what is left of one that was asked to stop keeps the deadline of that. The
//! guardian asks, follows with CONT, and kills: all
//! descendants at any depth, also below those that are killed and not gone yet, as these keep their children. As a
//! subreaper it gets every orphan of the tree back, and it goes on killing until `wait` says that it has no child left.
//! Only then does the wrapper resign. If the wrapper dies, the guardian sees the end of its socket and does the same.
//! If the guardian dies, the kernel kills the command (PDEATHSIG) and its group (two death-pipes), and the wrapper, a
//! subreaper too, sweeps the rest. A guardian that does not act in time, as a tracer holds it, has the wrapper kill
//! below it; one that is stopped by then is killed. Where it is allowed to, whoever of the two kills runs at a
//! real-time priority (`guard/priority.rs`). System calls that this rests on are tried first, and elect starts nothing
//! if one is refused. What escapes from that when both die is held where it is asked for: by a pid namespace of the
//! command's own, whose first process dies with the guardian. The containments (`guard::Containment`) are ways to
//! start, to kill and to prove empty; what is tried and not to be had is refused before anything starts.
//!
//! **Deadlines.** Where leases end by time, each proof that we lead counts from before its request was sent, and
//! timing (`election::timing`) derives three instants from it: at the soft deadline the command is asked to stop, at
//! the hard one everything is killed, and a quarter of the margin later the kernel kills a guardian that could not
//! act, and the command's group with it. One that has killed all that it found by then, and goes on killing, has
//! longer: until a quarter of the margin before the end of the lease. The guardian keeps them by itself; the wrapper
//! only moves them on. A store that sees our entry vanish wakes the engine, which asks again: if it is gone
//! (`Standing::Gone`) everything is killed at once; if we were only put out, and nobody else can lead yet
//! (`Standing::Evicted`), the command has its grace. With `--after-loss campaign` elect then executes itself anew
//! (`guard/exec_handoff.rs`). A winner starts nothing by a proof that the next one cannot follow in time: in a store whose
//! proofs take two requests (`Cadence::SESSION`) one from before a silence is of no use (`Timing::will_be_proven`).
//!
//! **Tickets.** A store whose leases end by time has a ticket for each entry before the entry exists. The
//! guardian gets it first; if the wrapper dies, it executes `elect redeem` once the tree is proven empty,
//! so that the next candidate need not wait for the end of the lease.
//!
//! **A sidecar.** `elect sidecar` runs no command and has no guardian: in the place of the tree stands what
//! an application elsewhere is told, in the file of `--lease-file` and over HTTP. To the engine it is like a
//! command that takes the whole of its grace to end, as nobody can be killed. Whether the application is
//! well is asked beside the engine; a health command has a guardian of its own for as long as it runs.
//!
//! **A program of somebody else's.** A [`Campaign`] has no guardian either: in the place of the tree stands the work of
//! a program in Rust, over when that says so, or at the deadline that it was told.
//!
//! **Cells.** A store keeps small texts of an election apart from its entries ([`elect_api::Cell`]), and writes each
//! under a condition, in one step: that its writer leads, that nobody has written since it was read, or, for a value,
//! that the entry with a given token leads, whoever writes.
//!
//! **Once.** What `--once` names is done when a cell says so that only a leader's seat writes: a candidate reads it
//! before it joins, at each change, and again once it has won (a gate); a leader whose command has succeeded writes it
//! before it resigns (`machine/recording.rs`; the text is `election::once`). `--once-per` makes the key of the wall
//! clock as elect starts (`cli::Period`); a start after a loss keeps it. A second cell says how the runs of each key
//! went (`election::runs`). With `--once-attempts` a winner counts its run there before it starts, in one step with the
//! proof that it leads: so a crash counts as well. As it resigns it says how the run ended, or takes back what never
//! started. Only who leads writes either cell, so `elect done` leads for a moment to change them.
//!
//! **Steering.** What people ask of an election, that it be paused or that a leader hand over, is one
//! cell (`election::control`), which a candidate gets with each answer; one far behind may hear of it later. Asking
//! changes it and waits; who obeys is the engine of whoever it concerns. A winner in a paused election keeps
//! its place and starts nothing.
//!
//! **Ranks.** Where candidates have priorities, or `elect resign --to` names who is to lead next, that cell says that
//! it matters who leads (`Control::is_ranked`). Whoever is named comes before all others, whatever their priorities,
//! until the history shows that somebody has led since. The head of the queue is the only one that can lead all the
//! same; before it starts anything it looks who else is there (`election::ranking`), and for somebody better it gives
//! its place up and comes again behind. So no two candidates need to agree on anything: whoever is wrong about the
//! others leads too early or too late, and alone.
//!
//! **Divisions.** An election can be several under one name, `NAME:0` and so on, each of them an election like any
//! other. Each candidate says into what it takes the election to be divided, and the control cell keeps what all agree on:
//! whoever disagrees is refused before it starts anything (`election::division`). All that a process takes part in it
//! does over one store, whose seats share a session ([`elect_api::Store`]).
//!
//! **Slots.** To the engine a candidate for slots has one seat. It is made of one at the door, where all queue, and one
//! in each slot, where only the head of that queue waits (`election::slots`); the first slot to be won counts, and the
//! rest is given up beside.
//!
//! **Shards.** A member has an engine for the roster, the election that has the name, for which nothing runs, and an
//! engine, a guardian and a command for each shard that it is to hold. Whoever leads the roster writes into the control cell
//! who is to hold what (`election::spread`). That is advice: it settles who takes part in the election of a shard, and
//! nothing else does who leads it.
//!
//! Slots and shards are two mechanisms, as each would do the other's work badly. Slots as shards, one for each member
//! at most: after a crash nobody would lead in that slot before the coordinator had seen it and written, and another
//! had read that; and while the coordinator itself is replaced, nobody at all. At the door the next one waits in every
//! slot already. Shards as slots, of which a process takes many: nobody would give one up for a member that comes
//! later.
//!
//! **Fencing.** What a lease cannot stop a token can. A store keeps the greatest one that came for each resource
//! ([`elect_api::fence`](fn@elect_api::fence)), and values that are written only while the entry with a token leads
//! ([`elect_api::Cell::Value`]). Whoever asks is another process than the one that has the seat, and may stand still
//! between any two of its steps: so the store compares as it writes. `elect fence` then becomes its command; no
//! guardian holds that.
//!
//! **Looking on.** `status`, `observe` and `wait` take no part. A store tells [when something may have
//! changed](elect_api::Store::changed), a survey then what is so; while there is no answer nothing is made up, and
//! what is old says so. Where a store shows when a lease was renewed, the time since then is judged by the
//! intervals before it (`report::Suspicion`): for eyes and alerts, never for a decision.
//!
//! **The history.** Who has led, and how that ended, is a cell as well (`election::history`): a leader reads it once
//! its command runs, adds that it has begun, and as it resigns how it has ended, in the same step
//! (`machine/recording.rs` says when; `command/looking.rs` and `report/past.rs` show it). No renewal waits for it, and
//! what a leader does not live to say, its successor closes. A start waits for it in two cases. Where it matters who
//! leads, it says who led last. With a lock delay it is a mark: a winner reads it first, starts nothing for a while
//! where the last leadership has no clean end, and says that it begins before its command does.
//!
//! **What runs beside the command.** The hook that is run as leadership begins has a guardian of its own, with the
//! deadlines of the command's and what holds the lease. It lives on when the command is started again. The tree counts
//! as empty once that hook is dead as well, which it is asked to be where the leadership is to end, and whatever looks
//! at whether the command is well. While one of them runs the command's guardian has no ticket: it could redeem it
//! before the hook's own guardian is done. One owner (`command::candidacy::Company`) sees to that: it passes on what
//! the engine orders, to the tree and to the rest, as far as that concerns them. No other hook is protected so.
//!
//! **What people see.** `report` writes logs, the line that shows the waiting, tables, JSON and the
//! outcome file, and never blocks on a reader that does not read. A service manager, where one listens, is
//! told the same, with a sign of life as long as the engine's loop is in time and the guardian can act. With
//! `--http` a thread of its own answers (`report::http`) whoever asks, and works out for each answer whether
//! we still lead.
//!
//! **The self-test.** `elect selftest` has no machinery of its own to run commands: it starts real runs of this
//! very program as processes bound to it, does to them from outside what the promise has to survive, and
//! compares the instants at which the processes of their commands say that they ran.
//!
//! **The doctor.** `elect doctor` has each store [describe itself](elect_api::Store::examine), does in an election
//! of nobody else what `run` does in one, and tries out what this machine has for containing a command. Which
//! TTL fits what it saw, timing (`election::timing`) says.
//!
//! **The simulation.** `elect simulate` plays the machine and the ladder in a world of `backends/simulation`, with no
//! process, future or clock between them (`simulation/candidate.rs`), before a store whose members elect their
//! leader. Tests play every order of events of the same candidate, within bounds (`tests/suite/exploration`). A seed
//! gives the same run on every machine.
//!
//! **The terminal.** Wrapper and command are one job for the person at it, but two process groups: the command's has the
//! foreground, and what a key does to it alone the wrapper does to the rest of the job. With `--once`, a process of
//! elect's in the command's group notes a key that the command survives (`guard/key_witness.rs`).
//!
//! Time is `CLOCK_BOOTTIME`, read in `guard/clock.rs` alone. The engine and the stores get it as an argument; what else
//! needs it asks `guard::now`. Limits that no lease depends on go by the runtime's clock. Where
//! leases end by time, so does the clock's rate: a candidate whose clock is slewed further than its leases
//! allow for does not lead.
//! Wall clocks are for people, and never say whether a lease is over. Two things go by them: the end of a pause, which
//! each candidate compares with its own, and the key of `--once-per`. On the local disk alone no token is less
//! than what the wall clock says, so that tokens rise also after the files were removed.
//!
//! `is_off!(...)`, which stands beside many decisions, is false in every release. In builds for tests it turns one
//! guard of the promise off, to see that a test notices.
//!
//! # Where to add something
//!
//! | what | where |
//! |---|---|
//! | a flag of `run` | `cli/run.rs`, whose `MORE` lists some variables, or `cli/groups.rs` if a sidecar has it too, with `hide_short_help` if few need it, and `LIMITS` in `cli/grammar.rs` if more is run without it; plans hold it as it is given. If it needs or excludes another one, `config/conflicts.rs`; if the engine is to know it, `Rules`, which `command/run/terms.rs` fills (a field that is forgotten there has the value of `Rules::of`; the roster of shards has those of a run, but for what `roster_rules` resets); if it belongs to one run, `config/variables.rs` and the topic `environment` |
//! | a condition of a start | a gate in `election/machine/gates`, its field in `Gates`, and its place in their order; what people are told of it is a variant of `Block` in `election/machine/messages.rs`, its name in the topic `metrics`, and who does not want to wait for it leaves in `machine/obeying.rs`. If it asks the store: a `Call` and a `Reply` in `election/call.rs`, sent in `driver/requests.rs`, taken in by `machine/mod.rs`. A gate asks nobody but the store: what this machine knows comes with `Rules`, or as an event by the inbox. If it makes us leave: a `Verdict` |
//! | a hint for a slip | `cli/hints.rs`; where the command is none, `config/programs.rs`; for who names no store, `config/elsewhere.rs` |
//! | a health check | its flag in `HealthArgs` (`cli/groups.rs`), what it needs in `config/conflicts.rs`, and the look in `command/candidacy/health.rs`; that of a sidecar is `command/sidecar/health.rs` |
//! | what `status` shows | `report/status`; it is seen in `command/look/mod.rs` |
//! | a page of the manual | `manual/TOPIC.md`, and its name in `manual/order.txt`; that of a store is `manual.md` beside its code |
//! | a subcommand | its arguments in `cli`, its plan in `config` if that is more than they are, what it does in `command`, and a line in the `mod.rs` of each |
//! | a store | a crate in `backends` that passes all laws (`elect_testkit::conformance!`): one that keeps some of them is none. A dependency and a feature in `Cargo.toml`, its scheme in `config/stores.rs` and `cli/backend_url.rs`, what helps against its errors in `config/error.rs`, its page in `manual/mod.rs` and the topic `stores`, and what of it is fuzzed in `fuzzing.rs` |
//! | what `elect simulate` answers | a subcommand of it: its arguments in `cli/simulation/mod.rs`, what it plays in `command/simulate`, its keys in `report/simulation.rs`, and its part of `manual/simulate.md` |
//! | a kind of store in it | a `StoreKind` in `cli/simulation/mod.rs`, its leases in `config/simulation/mod.rs`, and what members keep of it in `simulation/kinds.rs` |
//! | a fault in it | a variant of `Fault` in `backends/simulation`, its flag in `FaultArgs`, what the flag takes in `cli/simulation/values.rs`, and `Cast::script` in `config/simulation/script.rs` |
//! | an election of others to compare with | `peers` in `backends/simulation`, and an `Entrant` in `command/simulate/compare.rs` |

#[cfg(not(target_os = "linux"))]
compile_error!(
    "elect needs Linux: it relies on PR_SET_PDEATHSIG, subreapers and signal-driven pipes"
);

#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod command;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod election;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod guard;
mod library;
#[doc(hidden)]
pub mod manual;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod simulation;

pub use elect_api::Boottime;
pub use library::{Campaign, Error, Leadership, Validity};
