//! The engine, whole, against a simulated store: one to five candidates, faults by a seed, virtual time.
//!
//! A seed that breaks an invariant is replayed by the command that its failure prints.

mod candidate;
pub(crate) mod crashes;
mod drift;
mod fate;
mod guardian;
mod herd;
mod host;
mod last_words;
#[cfg(feature = "sim")]
mod losses;
#[cfg(feature = "sim")]
pub(crate) mod mutations;
#[cfg(feature = "sim")]
mod orders;
pub(crate) mod plan;
mod records;
mod roll;
mod shirker;
mod stage;
mod steerer;
mod stores;
mod tests;
mod witness;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elect::election::machine::Counting;
use elect::election::runs::{Key, Runs};
use elect_api::{Boottime, Candidate, Cell, ElectionName};
use elect_testkit::sim::{Cause, Clock, Controls, Kind, Sim, TokioClock};

use self::plan::{Plan, Scene};
use self::stage::{Breach, Stage};

/// The time within which a candidate leads after the last fault, in leases. The old lease ends in it, and so do a
/// resignation under way and a pause between attempts.
const LEASES_TO_RECOVER: u32 = 3;
/// After how many leases without a fault nothing of them is felt any more.
const LEASES_TO_FORGET: u32 = 2;
/// A time longer than the slowest command takes to end by itself, with all that it leaves running.
const LONGEST_END: Duration = Duration::from_secs(200);

/// The number of faults of each kind.
pub(crate) type Faults = BTreeMap<&'static str, u32>;

/// The outcome of a game.
pub(crate) struct Outcome {
    /// The breaches, if any.
    pub(crate) broken: Vec<Breach>,
    pub(crate) trees: usize,
    /// The number of times that a command was started again.
    pub(crate) again: u32,
    pub(crate) faults: Faults,
}

/// A game that is being played.
struct Game {
    plan: Plan,
    sim: Sim,
    clock: Arc<TokioClock>,
    stage: Stage,
    election: ElectionName,
    faults: Mutex<Faults>,
    calm_since: Mutex<Option<Boottime>>,
    closing: AtomicBool,
    present: Arc<()>,
}

impl Game {
    fn new(plan: Plan) -> Self {
        let clock = Arc::new(TokioClock::new());
        let stage = Stage::default()
            .obeying_within(plan.ttl.mul_f64(1.2))
            .restarting(plan.restarts.is_some());
        Self {
            sim: Sim::new(plan.options.clone(), Arc::clone(&clock) as Arc<dyn Clock>),
            stage: if plan.scene == Scene::Ranks { stage.of_ranks() } else { stage },
            plan,
            clock,
            election: "game".parse().expect("a name"),
            faults: Mutex::default(),
            calm_since: Mutex::default(),
            closing: AtomicBool::new(false),
            present: Arc::new(()),
        }
    }

    fn controls(&self) -> Controls {
        self.sim.controls()
    }

    /// Returns a mark. Each task that takes part holds one.
    fn presence(&self) -> Arc<()> {
        Arc::clone(&self.present)
    }

    fn count(&self, what: &'static str) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() += 1;
    }

    fn calm_since(&self) -> Option<Boottime> {
        *self.calm_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if no fault strikes any more.
    fn is_calm(&self) -> bool {
        self.calm_since().is_some()
    }

    /// Returns true if no process is stopped any more either, and the last fault is too long ago to have effects.
    fn is_long_calm(&self) -> bool {
        let forgotten = self.calm_since().map(|since| since + self.plan.ttl * LEASES_TO_FORGET);
        forgotten.is_some_and(|at| at < self.clock.now())
    }

    /// Returns true if the faults are over, even if they still have effects.
    fn is_over(&self) -> bool {
        self.calm_since.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Asserts that every tree was dead when its lease was over, for any cause of its end.
    fn compare_with_the_store(&self) {
        let trees = self.stage.trees();
        for tenure in self.controls().history() {
            let Some(tree) = trees.iter().find(|tree| tree.token.get() == tenure.token) else {
                continue;
            };
            // A record that is not taken over stays its holder's, so its end is no limit there.
            let Some((over, Cause::Expired | Cause::Replaced)) = tenure.over else { continue };
            if tree.dead.is_none_or(|dead| dead > over) {
                let how = format!("{tenure:?}, {tree:?}");
                self.stage.blame("a lease ends before its tree", how);
            }
        }
        let tally = self.controls().tally();
        if tally.woken_at_once > 1 {
            self.stage.blame("one change wakes several waiters", format!("{tally:?}"));
        }
        if tally.doubles > 0 {
            self.stage.blame("a candidate has two entries", format!("{tally:?}"));
        }
        if tally.reordered > 0 {
            self.faults
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert("requests reordered", tally.reordered);
        }
    }

    /// Asserts that no more trees ran than were counted.
    async fn compare_with_the_count(&self) {
        let cell = self.sim.connect().read(&self.election, Cell::Runs).await.expect("an answer");
        let runs = Runs::read(cell.bytes.as_deref()).expect("what was written here");
        let counted = runs.of(candidate::KEY).map_or(0, Key::tries);
        let ran = self.stage.trees().len();
        if usize::try_from(counted).unwrap_or_default() < ran {
            self.stage.blame("more runs than were counted", format!("{ran}, counted {counted}"));
        }
    }

    /// Lets time pass, unless something is wrong already.
    async fn pass(&self, span: Duration) {
        let end = self.clock.now() + span;
        while self.clock.now() < end && self.stage.is_sound() {
            self.clock.until(end.min(self.clock.now() + self.plan.ttl / 4)).await;
        }
    }

    /// Asserts that a candidate leads soon once the faults are over.
    async fn recover(&self, crew: &fate::Crew) {
        self.controls().lift_all();
        fate::spare(crew);
        // By then the process that was stopped last goes on.
        let still = self.plan.ttl * self.plan.longest_stop;
        let calm = self.clock.now() + still;
        *self.calm_since.lock().unwrap_or_else(PoisonError::into_inner) = Some(calm);
        if self.plan.steers {
            steerer::end(self).await;
        }
        self.pass(still).await;
        let leads =
            || self.stage.trees().iter().any(|tree| tree.dead.is_none_or(|dead| dead >= calm));
        let is_enough = || self.plan.crash.is_some() && leads();
        let end = self.clock.now() + self.plan.ttl * LEASES_TO_RECOVER;
        while self.clock.now() < end && self.stage.is_sound() && !is_enough() {
            self.pass(self.plan.ttl / 4).await;
        }
        if !leads() {
            self.stage.blame("no candidate leads after the last fault", format!("{calm:?}"));
        }
    }

    /// Waits until the entries of dead candidates are gone. If candidates judge leases, one has to look for long
    /// enough.
    async fn outlast_the_dead(&self) {
        let ttl = self.plan.ttl;
        let visitor = Candidate { host: "sim".into(), ..Candidate::foreign("visitor") };
        let store = self.sim.connect();
        let mut seat = store.open(&self.election, &visitor, ttl).await.expect("a seat");
        // Of those who were far behind a waiter counts for four leases.
        let end = self.clock.now() + ttl * 6;
        while self.clock.now() < end && self.stage.is_sound() {
            seat.refresh(self.clock.now()).await.expect("a standing");
            self.pass(ttl / 6).await;
        }
        seat.resign(None).await.expect("a resign");
    }

    /// Asserts that all candidates leave and that no entry is left of them.
    async fn close(&self, crew: &fate::Crew) {
        self.stage.close_the_roll();
        self.closing.store(true, Ordering::Relaxed);
        fate::close(self, crew);
        let patience = self.clock.now() + LONGEST_END + self.plan.ttl * 2;
        while Arc::strong_count(&self.present) > 1 && self.stage.is_sound() {
            if self.clock.now() > patience {
                return self.stage.blame("a candidate does not leave", String::new());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if self.plan.options.kind != Kind::Queue {
            self.outlast_the_dead().await;
        }
        match self.sim.connect().survey(&self.election).await {
            Ok(survey) if survey.leader.is_none() && survey.waiting.is_empty() => {}
            other => self.stage.blame("all have left, and an entry is there", format!("{other:?}")),
        }
    }
}

/// Plays one game.
pub(crate) fn play(plan: Plan) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    // Stores draw their nonces from the thread.
    fastrand::seed(plan.seed);
    runtime.block_on(async {
        let game = Arc::new(Game::new(plan));
        if game.plan.scene == Scene::Herd {
            herd::play(&game).await;
        } else {
            let crew = fate::crew(&game);
            if game.plan.scene == Scene::Shirker {
                tokio::spawn(shirker::shirk(Arc::clone(&game)));
            }
            if game.plan.steers {
                tokio::spawn(steerer::steer(Arc::clone(&game)));
            }
            if game.plan.crash.is_some() {
                game.pass(game.plan.play).await;
            } else {
                fate::play(&game, &crew).await;
            }
            game.recover(&crew).await;
            game.close(&crew).await;
            game.compare_with_the_store();
            if game.plan.counting == Counting::BeforeStart {
                game.compare_with_the_count().await;
            }
        }
        Outcome {
            broken: game.stage.broken(),
            trees: game.stage.trees().len(),
            again: game.stage.again(),
            faults: game.faults.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    })
}
