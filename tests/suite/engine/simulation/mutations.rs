//! For each guard that keeps the promise: without it the simulation finds a violation, and with it none in the
//! same games. The table is `tests/mutations.md`.

use elect_testkit::switches::{Part, without};

use super::plan::{Plan, Scene};
use super::stage::Breach;
use super::{drift, losses, orders, records};
use crate::store::real::GUARDS;

/// The world in which a missing guard shows.
#[derive(Clone, Copy)]
enum World {
    Game(Scene),
    /// The same, with all faults, where runs are counted.
    Counting,
    Orders,
    Records,
    Losses,
    Drift,
}

const FAULTS: World = World::Game(Scene::Faults);
const REMOVALS: World = World::Game(Scene::Removals);
const TERMS: World = World::Game(Scene::Terms);
const STALE: World = World::Game(Scene::Stale);
const RANKS: World = World::Game(Scene::Ranks);
const SHIRKER: World = World::Game(Scene::Shirker);
const HERD: World = World::Game(Scene::Herd);

/// A guard and where it is missed.
pub(crate) struct Row {
    part: Part,
    pub(crate) guard: &'static str,
    scene: World,
}

const fn row(part: Part, scene: World, guard: &'static str) -> Row {
    Row { part, guard, scene }
}

pub(crate) const ROWS: &[Row] = &[
    row(Part::Anchor, FAULTS, "a lease counts from the send of its renewal, not from the reply"),
    row(
        Part::Confirmation,
        FAULTS,
        "in ZooKeeper it counts from a request that a quorum write has confirmed S/4 later",
    ),
    row(
        Part::Term,
        TERMS,
        "in etcd it counts only in a term of etcd's leader that its member had shown before",
    ),
    row(
        Part::WriteProof,
        STALE,
        "in etcd whose reads may be stale leadership is proven by a write",
    ),
    row(Part::Drift, FAULTS, "of a lease only W / (1 + drift) is counted on"),
    row(
        Part::TwoClocks,
        World::Drift,
        "where candidates judge, the clock of each may be off by half of the drift",
    ),
    row(Part::Margin, FAULTS, "everything is dead K before that is over"),
    row(Part::Suspend, FAULTS, "the clock goes on during a suspend"),
    row(Part::DeadMan, FAULTS, "the kernel's timer kills a guardian that is stopped"),
    row(Part::DeathPipe, FAULTS, "the kernel kills the tree of a guardian that is dead"),
    row(Part::Reproof, FAULTS, "a win that was proven too long ago is proven again"),
    row(Part::LateStart, FAULTS, "the guardian refuses a start that comes too late"),
    row(
        Part::OneWay,
        World::Orders,
        "the guardian starts one command, and none once it has killed",
    ),
    row(
        Part::Rising,
        World::Orders,
        "deadlines only rise, and do not return once they have passed",
    ),
    row(Part::EmptyTree, FAULTS, "leadership is resigned only once the tree is empty"),
    row(Part::RenewToEnd, FAULTS, "renewing goes on until the tree is empty"),
    row(Part::KillAtOnce, REMOVALS, "a tree whose entry is gone is killed at once"),
    row(Part::LossIsFinal, REMOVALS, "what is lost is not renewed"),
    row(Part::Token, REMOVALS, "a renewal counts only with the token of the start"),
    row(Part::Rejoin, FAULTS, "who wins and loses before the start joins again"),
    row(Part::TicketFirst, FAULTS, "the guardian has the ticket before the entry can exist"),
    row(
        Part::EndOfFile,
        FAULTS,
        "a ticket is redeemed at the end of the wrapper only, not when it is silent",
    ),
    row(Part::TicketAfter, FAULTS, "a ticket is redeemed only once the tree is empty"),
    row(Part::TicketOwn, FAULTS, "a ticket gives up no entry but its own"),
    row(Part::Ambiguity, FAULTS, "a lost reply is no refusal: the same entry is asked for again"),
    row(
        Part::SecondLook,
        World::Records,
        "a record counts as unchanged from the second look on, not from the first",
    ),
    row(
        Part::Removed,
        World::Records,
        "who saw the holder of a record waits for it, though the record is gone",
    ),
    row(Part::LateWrite, World::Records, "what may be under way as it is given up is written over"),
    row(
        Part::Epoch,
        World::Records,
        "a new leader's token stands where values are before it leads",
    ),
    row(
        Part::Doubt,
        World::Losses,
        "a record that may have lost writes is waited for as long as the longest lease",
    ),
    row(
        Part::Lapsed,
        World::Losses,
        "a leader does not prove a lease that is over in such a record",
    ),
    row(
        Part::TokenLeap,
        World::Losses,
        "the next token leaps ahead of the clock where tokens may be lost",
    ),
    row(Part::OneWake, FAULTS, "a change wakes the next waiter only"),
    row(Part::Backoff, HERD, "pauses between requests that fail grow"),
    row(Part::Jitter, HERD, "and differ from candidate to candidate"),
    row(
        Part::CountFirst,
        World::Counting,
        "a run of which there may be so many is counted before it starts",
    ),
    row(Part::Comparison, RANKS, "who wins looks whether a better one is there"),
    row(Part::StandBackOnce, SHIRKER, "a candidate does not stand back for another twice"),
    row(Part::Sinking, SHIRKER, "the longer there is no leader, the less a better one counts"),
];

/// A guard that takes longer to be missed is hardly guarded by tests.
const MOST_SEEDS: u64 = 400;

impl Row {
    fn play(&self, seed: u64) -> Option<Breach> {
        match self.scene {
            World::Game(scene) => super::play(Plan::new(scene, seed)).broken.into_iter().next(),
            World::Counting => {
                let plan = Plan::new(Scene::Faults, seed).counting();
                super::play(plan).broken.into_iter().next()
            }
            World::Orders => orders::play(seed),
            World::Records => records::play(seed),
            World::Losses => losses::play(seed).0,
            World::Drift => drift::play(seed),
        }
    }

    /// The first seed, from 1 on, that shows that the guard is missing, and what it shows.
    pub(crate) fn found(&self) -> Option<(u64, &'static str)> {
        without(Some(self.part), || {
            (1..=MOST_SEEDS).find_map(|seed| Some((seed, self.play(seed)?.law)))
        })
    }
}

/// Returns the number of seeds that the table records for a guard.
fn recorded(guard: &str) -> Option<u64> {
    let table = include_str!("../../../mutations.md");
    let row = table.lines().find(|line| line.starts_with(&format!("| {guard} |")))?;
    row.trim_end_matches(" |").rsplit("| ").next()?.parse().ok()
}

#[test]
fn every_guard_has_a_row() {
    let listed = |part: &Part| {
        ROWS.iter().any(|row| row.part == *part) || GUARDS.iter().any(|guard| guard.part == *part)
    };
    assert!(Part::ALL.iter().all(listed), "a guard has no row");
    let missing: Vec<&str> =
        ROWS.iter().map(|row| row.guard).filter(|guard| recorded(guard).is_none()).collect();
    let page = include_str!("../../../mutations.md");
    assert!(GUARDS.iter().all(|guard| page.contains(guard.words)), "a guard has no row");
    assert_eq!(missing, [""; 0], "tests/deep/run every_guard_is_missed writes them down");
}

/// Another engine makes other games of the same seeds, so some more may be needed.
fn expect_missed(part: Part) {
    let row = ROWS.iter().find(|row| row.part == part).expect("a row");
    let known = recorded(row.guard).expect("a number of seeds");
    let (seeds, law) = row.found().expect("a breach, as a guard is missing");
    println!("{}: {law}, after {seeds} seeds", part.name());
    assert!(seeds <= 2 * known + 30, "{seeds} seeds, {known} are on record");
    let breach = row.play(seeds);
    assert!(breach.is_none(), "with the guard seed {seeds} breaks as well: {breach:?}");
}

macro_rules! each {
    ($($name:ident: $part:ident,)+) => {
        $(
            #[test]
            fn $name() {
                expect_missed(Part::$part);
            }
        )+
    };
}

each! {
    anchor: Anchor,
    confirmation: Confirmation,
    term: Term,
    write_proof: WriteProof,
    drift: Drift,
    two_clocks: TwoClocks,
    margin: Margin,
    suspend: Suspend,
    dead_man: DeadMan,
    death_pipe: DeathPipe,
    reproof: Reproof,
    late_start: LateStart,
    one_way: OneWay,
    rising: Rising,
    empty_tree: EmptyTree,
    renew_to_end: RenewToEnd,
    kill_at_once: KillAtOnce,
    loss_is_final: LossIsFinal,
    token: Token,
    rejoin: Rejoin,
    ticket_first: TicketFirst,
    end_of_file: EndOfFile,
    ticket_after: TicketAfter,
    ticket_own: TicketOwn,
    ambiguity: Ambiguity,
    second_look: SecondLook,
    removed: Removed,
    late_write: LateWrite,
    epoch: Epoch,
    doubt: Doubt,
    lapsed: Lapsed,
    token_leap: TokenLeap,
    one_wake: OneWake,
    backoff: Backoff,
    jitter: Jitter,
    count_first: CountFirst,
    comparison: Comparison,
    stand_back_once: StandBackOnce,
    sinking: Sinking,
}
