//! The faults that strike candidates and the store: crashes, stops, suspends, losses, delays, partitions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect::election::machine::Event;
use elect_testkit::sim::{Clock, Effect, Rule};

use super::Game;
use super::candidate::{self, Doom, Name, Run};
use super::guardian::{self, Order};
use super::host::Host;
use super::plan::{Scene, Victims};
use super::shirker;

/// Why a leader is asked to hand over. Its command may take its time to end.
pub(crate) const ANOTHERS_TURN: &str = "it is another's turn";

/// Within how many awaits of its wrapper a run may be doomed: an entry takes some ten.
const AWAITS: u32 = 60;

/// A computer, and what runs on it at present.
pub(crate) struct Berth {
    host: Arc<Host>,
    run: Mutex<Option<Run>>,
}

impl Berth {
    pub(crate) fn run(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) type Crew = Vec<Arc<Berth>>;

/// The candidates' ids begin like this, so that rules can be about one of them.
fn label(machine: usize) -> String {
    format!("c{machine}-")
}

/// Sets up the computers: on each, one run follows another.
pub(crate) fn crew(game: &Arc<Game>) -> Crew {
    let setting_up = |(machine, &rate): (usize, &u32)| {
        let host = Host::new(Arc::clone(&game.clock), rate);
        let berth = Arc::new(Berth { host, run: Mutex::new(None) });
        let seed = game.plan.seed.wrapping_mul(31).wrapping_add(machine as u64);
        let chance = fastrand::Rng::with_seed(seed);
        tokio::spawn(keep_running(Arc::clone(game), machine, chance, Arc::clone(&berth)));
        berth
    };
    game.plan.rates.iter().enumerate().map(setting_up).collect()
}

/// Runs one candidate after another on a computer. Once the game closes, one last run starts, and its wrapper is killed
/// early.
async fn keep_running(
    game: Arc<Game>,
    machine: usize,
    mut chance: fastrand::Rng,
    berth: Arc<Berth>,
) {
    let _presence = game.presence();
    for count in 0_u32.. {
        let id = format!("{}{count}", label(machine));
        let is_last = game.is_closing();
        let doom = match chance.u8(0..12) {
            _ if is_last => Some(Doom::Kill(Victims::Wrapper)),
            _ if game.plan.scene != Scene::Faults || game.is_calm() => None,
            0 => Some(Doom::Kill(Victims::Wrapper)),
            1..4 => Some(Doom::Stop(span(&game, &mut chance))),
            _ => None,
        };
        let mut fate = doom.map(|doom| (chance.u32(0..AWAITS), doom));
        if let Some(crash) = game.plan.crash.filter(|crash| count == 0 && crash.machine == machine)
        {
            fate = Some((crash.awaits, Doom::Kill(crash.victims)));
        }
        let name = Name { id, priority: game.plan.priorities[machine] };
        let (run, wrapper) = candidate::start(&game, &berth.host, name, chance.u64(..), fate);
        *berth.run() = Some(run);
        // An abort is a crash, and comes out as an error.
        let _ = wrapper.await;
        if is_last {
            return;
        }
        tokio::time::sleep(Duration::from_millis(chance.u64(1..2_000))).await;
    }
}

fn span(game: &Game, chance: &mut fastrand::Rng) -> Duration {
    game.plan.ttl.mul_f64(chance.f64() * f64::from(game.plan.longest_stop))
}

/// Plays on until the time is over. Processes that are stopped go on in time.
pub(crate) async fn play(game: &Arc<Game>, crew: &Crew) {
    let mut chance = fastrand::Rng::with_seed(!game.plan.seed);
    let end = game.clock.now() + game.plan.play;
    while game.clock.now() < end && game.stage.is_sound() {
        tokio::time::sleep(Duration::from_millis(chance.u64(10..6_000))).await;
        match game.plan.scene {
            Scene::Herd | Scene::Crash => {}
            Scene::Ranks | Scene::Shirker => expect_leader(game),
            Scene::Terms | Scene::Stale => stand_still(game, &mut chance).await,
            Scene::Removals => _ = game.controls().remove(&game.election, ""),
            Scene::Faults if chance.bool() => {
                let berth = &crew[chance.usize(..crew.len())];
                if let Some(run) = &*berth.run() {
                    befall_process(game, &berth.host, run, &mut chance);
                }
            }
            Scene::Faults => befall_store(game, &mut chance),
        }
    }
}

/// Asserts that no vacancy is longer than the best candidate takes to come forward.
fn expect_leader(game: &Game) {
    let now = game.clock.now();
    let since = game.stage.vacant_since(now);
    if since.is_some_and(|since| since + shirker::patience(&game.plan) < now) {
        game.stage.blame("no candidate leads for too long", format!("{since:?} until {now:?}"));
    }
}

fn befall_process(game: &Game, host: &Arc<Host>, run: &Run, chance: &mut fastrand::Rng) {
    let span = span(game, chance);
    let tell_guardian = |order| {
        if let Some(guardian) = run.strings.guardian.upgrade() {
            let _ = guardian.send(order);
        }
    };
    let tell_wrapper = |event| {
        let _ = run.strings.inbox.send(event);
    };
    let stop_wrapper = || candidate::stop(&run.stopped, span);
    let kill = |victims: Victims| {
        if victims.has_wrapper() {
            run.wrapper.abort();
        }
        if victims.has_guardian() {
            guardian::kill(&run.strings.guardian);
        }
        victims.what()
    };
    let pause = || Order::PauseUntil(game.clock.now() + span);
    let what = match chance.u8(0..9) {
        0 => kill(Victims::Wrapper),
        1 => kill(Victims::Both),
        2 => kill(Victims::Guardian),
        3 => {
            stop_wrapper();
            "wrapper stopped"
        }
        4 => {
            stop_wrapper();
            tell_guardian(pause());
            "wrapper and guardian stopped"
        }
        5 => {
            tell_guardian(pause());
            "guardian stopped"
        }
        6 => {
            let host = Arc::clone(host);
            tokio::spawn(async move { host.suspend(span).await });
            "machine suspended"
        }
        7 => {
            tell_wrapper(Event::Signal(libc::SIGTERM));
            "told to end"
        }
        _ => {
            tell_wrapper(Event::StepDown(ANOTHERS_TURN.into()));
            "asked to step down"
        }
    };
    game.count(what);
}

fn befall_store(game: &Game, chance: &mut fastrand::Rng) {
    let delay = game.plan.ttl.mul_f64(chance.f64() * 1.5);
    let span = game.plan.ttl.mul_f64(chance.f64() * 2.0);
    let one = label(chance.usize(..game.plan.rates.len()));
    let controls = game.controls();
    let (what, effects): (_, &[_]) = match chance.u8(0..14) {
        0 | 1 => ("requests lost", &[Effect::LoseRequest]),
        2 | 3 => ("replies lost", &[Effect::LoseReply]),
        4 => ("requests late", &[Effect::DelayRequest(delay)]),
        5 => ("replies late", &[Effect::DelayReply(delay)]),
        6 => ("requests twice", &[Effect::Duplicate(delay)]),
        7 => ("connections refused", &[Effect::Refuse]),
        8 => ("connections broken", &[Effect::Break]),
        9 | 10 => return change_store_leader(game, span, chance),
        11 => ("cut off", &[Effect::Deafen, Effect::LoseRequest]),
        12 => ("cut off from the store's answers", &[Effect::Deafen]),
        _ => {
            // The member dies, and there is no other for some time.
            controls.lose_member(&one);
            ("member lost", &[Effect::Deafen, Effect::LoseRequest])
        }
    };
    game.count(what);
    for &effect in effects {
        let is_cut = effects.contains(&Effect::Deafen);
        let mut rule = Rule::new(effect);
        if !is_cut {
            rule = rule.chance_per_mille(chance.u32(100..=1000));
        }
        if is_cut || chance.u8(0..4) > 0 {
            rule = rule.client(&one);
        }
        impose(game, rule, span);
    }
}

/// For some time the store has no leader. Leases go on being counted, or last for their whole time from the
/// end of that on.
fn change_store_leader(game: &Game, span: Duration, chance: &mut fastrand::Rng) {
    game.count("store without a leader");
    let effects = [Effect::Refuse, Effect::LoseRequest, Effect::Hold, Effect::Break];
    impose(game, Rule::new(effects[chance.usize(..effects.len())]), span);
    game.controls().change_leader(chance.bool().then_some(span));
}

/// The member that leads the store, and that a candidate talks to, stands still until after the others have
/// chosen another leader. Then it goes on, and is cut off, perhaps.
async fn stand_still(game: &Game, chance: &mut fastrand::Rng) {
    game.count("the store's leader stood still");
    let controls = game.controls();
    let one = label(chance.usize(..game.plan.rates.len()));
    let leaderless = game.plan.ttl.mul_f64(0.1 + chance.f64() * 0.2);
    let still = controls.add(Rule::new(Effect::Stand).client(&one));
    let undecided = controls.add(Rule::new(Effect::Hold));
    tokio::time::sleep(leaderless).await;
    controls.change_leader(Some(Duration::ZERO));
    controls.lift(undecided);
    tokio::time::sleep(game.plan.ttl.mul_f64(chance.f64())).await;
    controls.lift(still);
    if chance.bool() {
        let reply_comes = game.plan.options.latency * 2;
        tokio::time::sleep(reply_comes).await;
        impose(game, Rule::new(Effect::LoseRequest).client(&one), game.plan.ttl);
    }
}

fn impose(game: &Game, rule: Rule, span: Duration) {
    let controls = game.controls();
    let id = controls.add(rule);
    tokio::spawn(async move {
        tokio::time::sleep(span).await;
        controls.lift(id);
    });
}

/// Nothing befalls anybody from now on.
pub(crate) fn spare(crew: &Crew) {
    for run in crew.iter().filter_map(|berth| berth.run().as_ref().map(|run| run.fate.clone())) {
        *run.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// All are told to end, or crash.
pub(crate) fn close(game: &Game, crew: &Crew) {
    let mut chance = fastrand::Rng::with_seed(game.plan.seed ^ 0x5eed);
    for berth in crew {
        let run = berth.run();
        let Some(run) = &*run else { continue };
        if chance.bool() {
            run.wrapper.abort();
        } else {
            let _ = run.strings.inbox.send(Event::Signal(libc::SIGTERM));
        }
    }
}
