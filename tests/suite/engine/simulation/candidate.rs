//! A computer that runs `elect` again and again: wrapper, guardian, redeemer.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use elect::election::CallEnd;
use elect::election::driver::{self, Candidacy, Once};
use elect::election::machine::{Counting, Event, Machine, News, Rules, Verdict};
use elect::election::timing::{Timing, TimingOptions};
use elect_api::{Candidate, Removal, Store, Ticket};
use elect_testkit::sim::Clock;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use super::Game;
use super::fate::ANOTHERS_TURN;
use super::guardian::{self, Strings};
use super::host::{EngineClock, Host};
use super::plan::{Scene, Victims};
use super::stores::SeenStore;
use super::witness::Witness;

/// A fault that strikes a wrapper as it goes on after its nth await.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doom {
    Kill(Victims),
    Stop(Duration),
}

/// The number of awaits until a fault strikes a wrapper, and the fault.
pub(crate) type Fate = Arc<Mutex<Option<(u32, Doom)>>>;

/// The handles by which fate takes hold of one `elect run`.
pub(crate) struct Run {
    pub(crate) wrapper: AbortHandle,
    pub(crate) strings: Strings,
    /// True while the wrapper is stopped.
    pub(crate) stopped: Arc<watch::Sender<bool>>,
    pub(crate) fate: Fate,
}

/// Tells the story of a seed that is played again with `ELECT_SIM_STORY` set.
pub(crate) struct Narrator {
    id: String,
    host: Arc<Host>,
    is_heard: bool,
}

impl Narrator {
    pub(crate) fn new(id: &str, host: Arc<Host>) -> Self {
        let is_heard = std::env::var_os("ELECT_SIM_STORY").is_some();
        Self { id: id.to_owned(), host, is_heard }
    }

    fn say(&self, what: &dyn std::fmt::Debug) {
        if self.is_heard {
            println!("{:?} {} by {:?}: {what:?}", self.host.world.now(), self.id, self.host.now());
        }
    }
}

impl driver::Observer for Narrator {
    fn news(&mut self, news: News) {
        self.say(&news);
    }

    fn happened(&mut self, event: &Event) {
        self.say(event);
    }

    fn called(&mut self, called: &CallEnd) {
        self.say(called);
    }
}

/// The key under which all runs are counted.
pub(crate) const KEY: &str = "k";

/// Who runs.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) id: String,
    pub(crate) priority: u32,
}

/// Starts one `elect run` of this candidate; the handle ends with its wrapper.
pub(crate) fn start(
    game: &Arc<Game>,
    host: &Arc<Host>,
    name: Name,
    seed: u64,
    fate: Option<(u32, Doom)>,
) -> (Run, JoinHandle<()>) {
    let chance = fastrand::Rng::with_seed(seed);
    let punctual = game.plan.scene == Scene::Removals;
    let witness = Witness::new(
        Arc::clone(host),
        game.stage.clone(),
        name.clone(),
        punctual.then_some(game.plan.dying),
        game.plan.counting,
    );
    let (tree, inbox, strings, process) = guardian::pair(Arc::clone(&witness), chance, &game.plan);
    tokio::spawn({
        let (game, host, presence) = (Arc::clone(game), Arc::clone(host), game.presence());
        let (orders, giving_up) = (strings.guardian.clone(), Arc::clone(&witness));
        async move {
            if let Some(ticket) = process.run().await {
                // The wrapper has the only lasting end of what the guardian reads.
                if orders.upgrade().is_some() {
                    giving_up.blame("a guardian gives up the entry of a wrapper that lives", "");
                }
                let (_never, stops) = watch::channel(false);
                on(&host, &stops, &Fate::default(), redeem(&game, &ticket)).await;
            }
            drop(presence);
        }
    });
    let (stopped, stops) = watch::channel(false);
    let stopped = Arc::new(stopped);
    let fate: Fate = Arc::new(Mutex::new(fate));
    let wrapper = tokio::spawn({
        let (game, host, presence) = (Arc::clone(game), Arc::clone(host), game.presence());
        let (fate, brake) = (Arc::clone(&fate), Arc::clone(&stopped));
        let guardian = strings.guardian.clone();
        async move {
            let work = campaign(&game, name, seed, (tree, inbox), witness);
            let mut work = pin!(work);
            while let Some(doom) = on(&host, &stops, &fate, work.as_mut()).await {
                match doom {
                    Doom::Kill(victims) => {
                        // In the end all that come yet are killed, which is no fault.
                        if !game.is_closing() {
                            game.count(victims.what());
                        }
                        if victims.has_guardian() {
                            guardian::kill(&guardian);
                        }
                        if victims.has_wrapper() {
                            break;
                        }
                    }
                    Doom::Stop(span) => stop(&brake, span),
                }
            }
            drop(presence);
        }
    });
    (Run { wrapper: wrapper.abort_handle(), strings, stopped, fate }, wrapper)
}

/// Stops a wrapper for some time.
pub(crate) fn stop(brake: &Arc<watch::Sender<bool>>, span: Duration) {
    let brake = Arc::clone(brake);
    brake.send_replace(true);
    tokio::spawn(async move {
        tokio::time::sleep(span).await;
        brake.send_replace(false);
    });
}

async fn campaign(
    game: &Game,
    Name { id, priority }: Name,
    seed: u64,
    (mut tree, mut inbox): (guardian::SimTree, driver::Inbox),
    witness: Arc<Witness>,
) {
    let host = Arc::clone(&witness.host);
    let store = SeenStore {
        inner: game.sim.connect(),
        witness: Arc::clone(&witness),
        confirms: game.plan.confirms,
        returns: game.plan.returns,
    };
    let options = TimingOptions { ttl: game.plan.ttl, ..TimingOptions::default() };
    let timing =
        Timing::new(&options, store.profile().lease).expect("the default grace fits every TTL");
    let rules = Rules {
        restarts: game.plan.restarts,
        counting: game.plan.counting,
        insists: true,
        ..Rules::of(&id, priority)
    };
    let mut narrator = Narrator::new(&id, Arc::clone(&host));
    let candidate = Candidate {
        id,
        host: "sim".into(),
        pid: 1,
        command: "job".into(),
        containment: "scan".into(),
        priority,
        division: elect_api::Division::Whole,
        work: None,
    };
    let candidacy = Candidacy {
        store: &store,
        election: &game.election,
        candidate: &candidate,
        once: (game.plan.counting == Counting::BeforeStart)
            .then_some(Once { key: KEY, attempts: Some(u32::MAX) }),
        surveys: None,
    };
    let machine = Machine::new(rules, timing, host.now(), seed);
    let clock = EngineClock(host);
    let verdict =
        driver::drive(&candidacy, machine, &clock, &mut tree, &mut inbox, &mut narrator).await;
    let was_asked = matches!(&verdict, Verdict::SteppedDown(why) if why == ANOTHERS_TURN);
    let is_usual = was_asked || matches!(verdict, Verdict::Ended(_) | Verdict::Interrupted(_));
    if game.is_long_calm() && !is_usual {
        let how = format!("{verdict:?}");
        witness.blame("without any fault leadership is lost", &how);
    }
}

/// As `elect redeem` does.
async fn redeem(game: &Game, ticket: &Ticket) {
    let store = game.sim.connect();
    for _ in 0..8 {
        let attempt = store.remove(&game.election, Removal::Crashed(ticket));
        if let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(5), attempt).await {
            return;
        }
    }
}

/// Lets a process of this computer work until it is done or doomed. The process makes no step while it is stopped or
/// the computer is suspended.
async fn on(
    host: &Host,
    stops: &watch::Receiver<bool>,
    fate: &Fate,
    work: impl Future<Output = ()>,
) -> Option<Doom> {
    let (mut stops, mut suspends) = (stops.clone(), host.suspends());
    let mut work = pin!(work);
    loop {
        let (stopped, suspended) = (*stops.borrow_and_update(), *suspends.borrow_and_update());
        let is_still = stopped || suspended;
        let mut change = pin!(async {
            tokio::select! {
                // Once both senders are gone, no stop can come any more.
                Ok(()) = stops.changed() => {}
                Ok(()) = suspends.changed() => {}
                else => std::future::pending().await,
            }
        });
        let end = poll_fn(|cx| {
            if !is_still {
                if let Some(doom) = next_doom(fate) {
                    return Poll::Ready(Some(Some(doom)));
                }
                if work.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Some(None));
                }
            }
            change.as_mut().poll(cx).map(|()| None)
        })
        .await;
        if let Some(end) = end {
            return end;
        }
    }
}

/// Counts one await more.
fn next_doom(fate: &Fate) -> Option<Doom> {
    let mut fate = fate.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *fate {
        Some((0, doom)) => {
            let doom = *doom;
            *fate = None;
            Some(doom)
        }
        Some((awaits, _)) => {
            *awaits -= 1;
            None
        }
        None => None,
    }
}
