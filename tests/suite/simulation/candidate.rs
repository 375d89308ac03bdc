//! A machine that runs `elect` again and again: wrapper, guardian, redeemer.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use elect::election::driver::{self, Candidacy};
use elect::election::machine::{Event, Machine, News, Rules, Wait};
use elect::election::timing::{Timing, Wishes};
use elect_api::{Boottime, Candidate, Store, Survey, Ticket};
use elect_testkit::sim::{Clock, TokioClock};
use tokio::sync::mpsc::WeakUnboundedSender;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use super::Game;
use super::guardian::{self, Order};
use super::stores::LateStore;

/// The handles by which fate takes hold of one `elect run`.
pub(crate) struct Run {
    pub(crate) wrapper: AbortHandle,
    /// Does not keep the guardian from seeing that its wrapper is gone.
    pub(crate) guardian: WeakUnboundedSender<Order>,
    /// Whether the wrapper is stopped.
    pub(crate) stopped: Arc<watch::Sender<bool>>,
}

struct EngineClock(Arc<TokioClock>);

#[async_trait]
impl driver::Clock for EngineClock {
    fn now(&self) -> Boottime {
        self.0.now()
    }

    async fn until(&self, at: Option<Boottime>) {
        guardian::until(&self.0, at).await;
    }
}

struct Nobody;

impl driver::Observer for Nobody {
    fn news(&mut self, _news: News) {}

    fn turns(&mut self, _next: Option<Boottime>) {}

    fn wants_surveys(&self) -> bool {
        false
    }

    fn survey(&mut self, _survey: &Survey) -> Option<Event> {
        None
    }
}

/// Starts one `elect run` of the candidate with this id; the handle ends with its wrapper.
pub(crate) fn start(game: &Arc<Game>, id: String, seed: u64) -> (Run, JoinHandle<()>) {
    let chance = fastrand::Rng::with_seed(seed);
    let (tree, guardian, process) =
        guardian::pair(Arc::clone(&game.clock), game.stage.clone(), chance, game.switches);
    tokio::spawn({
        let game = Arc::clone(game);
        async move {
            if let Some(ticket) = process.run().await {
                redeem(&game, &ticket).await;
            }
        }
    });
    let (stopped, stops) = watch::channel(false);
    let game = Arc::clone(game);
    let wrapper =
        tokio::spawn(async move { stoppable(stops, campaign(&game, id, seed, tree)).await });
    (Run { wrapper: wrapper.abort_handle(), guardian, stopped: Arc::new(stopped) }, wrapper)
}

async fn campaign(game: &Game, id: String, seed: u64, mut tree: guardian::SimTree) {
    let store: Box<dyn Store> = if game.switches.anchor_at_send {
        game.sim.connect()
    } else {
        Box::new(LateStore(game.sim.connect(), Arc::clone(&game.clock)))
    };
    let wishes = Wishes { ttl: game.ttl, ..Wishes::default() };
    let timing =
        Timing::new(&wishes, store.profile().lease).expect("the default grace fits every TTL");
    let rules = Rules {
        wait: Wait::Forever,
        signal: libc::SIGTERM,
        stop_timeout: None,
        hold: None,
        insists: false,
        once: false,
    };
    let candidate = Candidate {
        id,
        host: "sim".into(),
        pid: 1,
        command: "job".into(),
        containment: "scan".into(),
    };
    let candidacy = Candidacy {
        store: &*store,
        election: &game.election,
        candidate: &candidate,
        ttl: game.ttl,
        once: None,
    };
    let machine = Machine::new(rules, timing, game.clock.now(), seed);
    let clock = EngineClock(Arc::clone(&game.clock));
    driver::drive(&candidacy, machine, &clock, &mut tree, &mut Nobody).await;
}

/// As `elect redeem` does.
async fn redeem(game: &Game, ticket: &Ticket) {
    let store = game.sim.connect();
    for _ in 0..8 {
        let attempt = store.redeem(&game.election, ticket);
        if let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(5), attempt).await {
            return;
        }
    }
}

/// The same future, which makes no step while it is stopped.
async fn stoppable(mut stops: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    let mut work = pin!(work);
    loop {
        let is_stopped = *stops.borrow_and_update();
        let mut change = pin!(stops.changed());
        let is_over = poll_fn(|cx| {
            if !is_stopped && work.as_mut().poll(cx).is_ready() {
                return Poll::Ready(true);
            }
            match change.as_mut().poll(cx) {
                Poll::Ready(Ok(())) => Poll::Ready(false),
                // Nobody is left to stop or continue us.
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
            }
        })
        .await;
        if is_over {
            return;
        }
    }
}
