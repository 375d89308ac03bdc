//! Candidates on a simulated store whose requests take any time, get lost or come late, in a random order.
//!
//! `CHAOS_FROM` and `CHAOS_COUNT` select the seeds, and `ELECT_TEST_WITHOUT` names a guard to turn off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use elect_api::{
    Boottime, Candidate, Cell, If, Key, Removal, Seat, Standing, Ticket, Token, Validity, Wake,
    awake, never,
};
use elect_testkit::election;
use elect_testkit::sim::{Clock, Effect, Kind, Op, Options, Rule, Sim, TokioClock};
use tokio::time::{sleep, timeout};

const TTL: Duration = Duration::from_secs(12);
/// The time for which requests get lost, and others interfere.
const PLAY: Duration = Duration::from_secs(450);
/// A time after which no late request is under way, and each candidate has seen the leader.
const SETTLED: Duration = Duration::from_secs(110);

fn up_to(longest: u64) -> Duration {
    Duration::from_millis(fastrand::u64(0..longest))
}

#[derive(Default)]
struct Board {
    born: usize,
    /// The token of each candidate that may believe that it leads, and until when.
    leads: BTreeMap<String, (u64, Boottime)>,
    /// When each entry was given up, by its nonce.
    given_up: BTreeMap<u64, Boottime>,
    greatest: u64,
    wins: usize,
    /// No candidate comes, goes or stands still before this time.
    closed: Option<Boottime>,
    /// How many are before each candidate that waits.
    ahead: BTreeMap<String, usize>,
    /// The candidate that leaves for good.
    goes: Option<String>,
    breach: Option<String>,
    log: Vec<String>,
}

struct Game {
    sim: Sim,
    clock: Arc<TokioClock>,
    is_mixed: bool,
    board: Mutex<Board>,
}

struct Actor {
    id: String,
    seat: Box<dyn Seat>,
    ttl: Duration,
    is_leaving: bool,
}

impl Actor {
    fn nonce(&self) -> u64 {
        nonce(&self.seat.ticket().expect("a ticket"))
    }
}

fn nonce(ticket: &Ticket) -> u64 {
    let digits = ticket.as_str().rsplit('-').next().expect("as it was made");
    u64::from_str_radix(digits, 16).expect("as it was made")
}

impl Game {
    fn new(seed: u64) -> Self {
        fastrand::seed(seed);
        let kind = if seed % 8 == 3 { Kind::Race } else { Kind::Record };
        let latency = if seed.is_multiple_of(3) { 450 } else { 10 };
        let options = Options::new(kind).seed(seed).latency(Duration::from_millis(latency));
        let clock = Arc::new(TokioClock::new());
        let sim = Sim::new(options, Arc::clone(&clock) as Arc<dyn Clock>);
        Self { sim, clock, is_mixed: seed % 2 == 1, board: Mutex::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Board) -> T) -> T {
        act(&mut self.board.lock().expect("as it was made"))
    }

    fn say(&self, what: &str) {
        let now = self.clock.now();
        self.with(|board| board.log.push(format!("{now:?}: {what}")));
    }

    fn breach(&self, what: String) {
        self.say(&what);
        self.with(|board| _ = board.breach.get_or_insert(what));
    }

    fn is_sound(&self) -> bool {
        self.with(|board| board.breach.is_none())
    }

    fn is_open(&self) -> bool {
        let now = self.clock.now();
        self.with(|board| board.closed.is_none_or(|until| until <= now))
    }

    async fn actor(&self) -> Actor {
        let born = self.with(|board| {
            board.born += 1;
            board.born
        });
        let id = format!("c{born}-");
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(&id) };
        let ttl = if self.is_mixed { TTL * [1, 2, 4][fastrand::usize(0..3)] / 2 } else { TTL };
        let seat = self.sim.connect().open(&election(), &candidate, ttl).await.expect("a seat");
        Actor { id, seat, ttl, is_leaving: false }
    }

    /// Has requests get lost, fail and take long from now on.
    fn trouble(&self) {
        let controls = self.sim.controls();
        controls.lift_all();
        // Wins come late more often than the rest.
        let late = Rule::new(Effect::DelayRequest(up_to(9000))).op(Op::Enter);
        controls.add(late.chance_per_mille(200));
        for (effect, chance) in [
            (Effect::DelayRequest(up_to(90_000)), 50),
            (Effect::DelayRequest(up_to(6000)), 100),
            (Effect::DelayRequest(up_to(1500)), 200),
            (Effect::DelayReply(up_to(3000)), 50),
            (Effect::Duplicate(up_to(60_000)), 30),
            (Effect::Refuse, 30),
            (Effect::LoseRequest, 30),
            (Effect::Break, 40),
            (Effect::LoseReply, 40),
        ] {
            controls.add(Rule::new(effect).chance_per_mille(chance));
        }
    }

    /// One candidate, and after its death another one, until it is told to go.
    async fn take_part(self: Arc<Self>) {
        let mut actor = self.actor().await;
        sleep(up_to(5000)).await;
        while self.with(|board| board.goes.as_ref() != Some(&actor.id)) {
            match fastrand::u8(0..100) {
                _ if !self.is_open() => {}
                0..2 => {
                    let other = self.actor().await;
                    self.crash(&std::mem::replace(&mut actor, other));
                }
                2..5 => actor.is_leaving = true,
                5 => sleep(up_to(40_000)).await,
                _ => {}
            }
            let (pause, wake) = self.step(&mut actor).await;
            let _ = timeout(pause, wake).await;
        }
        self.with(|board| board.leads.remove(&actor.id));
        actor.seat.resign(None).await.expect("all is well");
        self.with(|board| board.goes = None);
    }

    /// The candidate dies. Either its ticket is redeemed, when nothing of it runs any more, or it may go on until its
    /// lease ends.
    fn crash(self: &Arc<Self>, gone: &Actor) {
        let redeems = fastrand::u8(0..4) == 0;
        self.say(&format!("{} crashes, redeemed: {redeems}", gone.id));
        self.with(|board| board.ahead.remove(&gone.id));
        if redeems {
            self.with(|board| board.leads.remove(&gone.id));
            let ticket = gone.seat.ticket().expect("a ticket");
            tokio::spawn(Arc::clone(self).redeem(ticket));
        }
    }

    async fn redeem(self: Arc<Self>, ticket: Ticket) {
        let (store, name) = (self.sim.connect(), election());
        for _ in 0..3 {
            let redeemed = store.remove(&name, Removal::Crashed(&ticket));
            if let Ok(Ok(())) = timeout(TTL, redeemed).await {
                return self.give_up(nonce(&ticket));
            }
        }
    }

    fn give_up(&self, nonce: u64) {
        let now = self.clock.now();
        self.say(&format!("{nonce:x} is given up"));
        self.with(|board| board.given_up.insert(nonce, now));
    }

    /// One call of a candidate, which it may drop. Returns the pause until the next one, and what ends it early.
    async fn step(&self, actor: &mut Actor) -> (Duration, Wake) {
        let now = self.clock.now();
        let until = self.with(|board| board.leads.get(&actor.id).map(|(_, until)| *until));
        actor.is_leaving |= until.is_some_and(|until| until <= now);
        let patience =
            if self.is_open() && fastrand::u8(0..25) == 0 { up_to(500) } else { actor.ttl / 3 };
        if actor.is_leaving {
            self.with(|board| board.leads.remove(&actor.id));
            let nonce = actor.nonce();
            let Ok(Ok(())) = timeout(patience, actor.seat.resign(None)).await else {
                return (up_to(1000), never());
            };
            self.give_up(nonce);
            actor.is_leaving = false;
            return (up_to(10_000), never());
        }
        // The engine drops the call and tries again.
        let patience = until.map_or(patience, |until| patience.min(until.since(now)));
        let Ok(Ok(found)) = timeout(patience, actor.seat.refresh(now)).await else {
            actor.is_leaving |= self.is_open() && fastrand::u8(0..4) == 0;
            return (up_to(1000), never());
        };
        let wake = self.heard(actor, found.standing);
        ((now + actor.ttl / 6).since(self.clock.now()), wake)
    }

    fn heard(&self, actor: &mut Actor, standing: Standing) -> Wake {
        let (now, id) = (self.clock.now(), &actor.id);
        self.with(|board| board.ahead.remove(id));
        match standing {
            Standing::Leading { token, validity: Validity::Window { anchor, window }, wake } => {
                actor.is_leaving = anchor + window <= now;
                if !actor.is_leaving {
                    self.leads(id, token.get(), anchor + window);
                }
                wake
            }
            Standing::Leading { .. } => panic!("it leads for ever"),
            Standing::Waiting { ahead, wake, .. } => {
                self.say(&format!("{id} waits, {ahead} before it"));
                self.with(|board| board.ahead.insert(id.clone(), ahead));
                if self.with(|board| board.leads.contains_key(id)) {
                    self.breach(format!("{id} leads and waits"));
                }
                wake
            }
            Standing::Gone(_) | Standing::Evicted(_) => {
                actor.is_leaving = true;
                awake()
            }
        }
    }

    fn leads(&self, id: &str, token: u64, until: Boottime) {
        let now = self.clock.now();
        self.say(&format!("{id} leads with {token} until {until:?}"));
        let (before, greatest) = self.with(|board| {
            let before = board.leads.insert(id.to_owned(), (token, until));
            let greatest = board.greatest;
            board.greatest = greatest.max(token);
            (before, greatest)
        });
        if before.is_none_or(|(other, _)| other != token) {
            self.with(|board| board.wins += 1);
            if token <= greatest {
                self.breach(format!("{id} has the old token {token}"));
            }
        }
        let all = self.with(|board| {
            board.leads.retain(|_, (_, until)| *until > now);
            board.leads.clone()
        });
        if all.len() > 1 {
            self.breach(format!("{all:?} lead"));
        }
    }

    /// Other programs write cells, forget the election and remove documents.
    async fn interfere(self: &Arc<Self>, wipes: bool) -> usize {
        let (end, mut removals, mut seen) = (self.clock.now() + PLAY, 0, (None, 0));
        while self.clock.now() < end && self.is_sound() {
            self.trouble();
            sleep(up_to(3600)).await;
            match fastrand::u8(0..100) {
                0..10 => _ = tokio::spawn(Arc::clone(self).ask()),
                10..25 => _ = tokio::spawn(Arc::clone(self).put()),
                25..28 => {
                    let store = self.sim.connect();
                    tokio::spawn(async move {
                        let all = Removal::Everything { fences: true };
                        timeout(TTL, store.remove(&election(), all)).await
                    });
                }
                28..31 => self.remove_a_waiter(),
                31..35 if wipes => {
                    self.wipe().await;
                    removals += 1;
                }
                _ => {}
            }
            self.look_at_value(&mut seen).await;
        }
        removals
    }

    async fn ask(self: Arc<Self>) {
        let store = self.sim.connect();
        let Ok(Ok(found)) = timeout(TTL, store.read(&election(), Cell::Control)).await else {
            return;
        };
        let asks = If::Version(found.version);
        let _ = timeout(TTL, store.write(&election(), Cell::Control, b"x", asks)).await;
    }

    /// Writes a value, whose text is the token, for a candidate that leads.
    async fn put(self: Arc<Self>) {
        let Some((token, _)) = self.with(|board| board.leads.values().next().copied()) else {
            return;
        };
        let (store, key) = (self.sim.connect(), key());
        let (text, leads) = (token.to_string(), If::Leads(Token::new(token)));
        let _ = store.write(&election(), Cell::Value(&key), text.as_bytes(), leads).await;
    }

    /// Removes the document of a candidate that does not hold the record.
    fn remove_a_waiter(&self) {
        let controls = self.sim.controls();
        let leader = controls.leader(&election()).map(|leader| leader.candidate);
        let id = format!("c{}-", fastrand::usize(0..=self.with(|board| board.born)));
        if leader.as_ref() != Some(&id) && controls.remove(&election(), &id) > 0 {
            self.say(&format!("{id} loses its place"));
        }
    }

    /// A person removes all documents by hand, after all candidates have seen them.
    async fn wipe(&self) {
        let now = self.clock.now();
        self.with(|board| board.closed = Some(now + SETTLED + TTL * 5));
        self.sim.controls().lift_all();
        sleep(SETTLED).await;
        self.say("all is removed");
        self.sim.controls().wipe(&election());
    }

    /// Asserts that no value of an earlier leader comes to light.
    async fn look_at_value(&self, (seen, greatest): &mut (Option<u64>, u64)) {
        let (store, name, key) = (self.sim.connect(), election(), key());
        let now_greatest = self.with(|board| board.greatest);
        let found = loop {
            let read = store.read(&name, Cell::Value(&key));
            if let Ok(Ok(found)) = timeout(Duration::from_secs(2), read).await {
                break found.bytes;
            }
        };
        let found = found.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
        if let Some(token) = found.filter(|_| found != *seen)
            && token < *greatest
        {
            self.breach(format!("the value of {token} comes to light"));
        }
        (*seen, *greatest) = (found, now_greatest);
    }

    /// Checks that the candidates follow one another as each leader resigns.
    async fn follow(&self, size: usize) {
        let mut next: Option<String> = None;
        for _ in 0..size {
            sleep(TTL).await;
            let now = self.clock.now();
            let leads = |board: &mut Board| {
                board.leads.retain(|_, (_, until)| *until > now);
                Some(board.leads.first_key_value()?.0.clone())
            };
            let Some(leader) = self.with(leads) else {
                return self.breach("no candidate leads".into());
            };
            if !self.is_mixed && next.as_ref().is_some_and(|next| *next != leader) {
                return self.breach(format!("{leader} leads, {next:?} was next"));
            }
            next = self.with(|board| {
                board.ahead.remove(&leader);
                board.ahead.iter().find(|(_, ahead)| **ahead == 1).map(|(id, _)| id.clone())
            });
            self.with(|board| board.goes = Some(leader));
            while self.with(|board| board.goes.is_some()) {
                sleep(TTL / 100).await;
            }
        }
    }

    /// Asserts that no entry led after it was given up.
    fn compare(&self) {
        for led in self.sim.controls().history() {
            let given_up = self.with(|board| board.given_up.get(&led.nonce).copied());
            if given_up.is_some_and(|at| at < led.from) {
                self.breach(format!("{:x} was given up, and leads: {led:?}", led.nonce));
            }
        }
    }
}

fn key() -> Key {
    "k".parse().expect("a key")
}

/// Plays a game. Returns what was broken, the leaderships, and how often all was removed.
async fn play(seed: u64) -> (Option<String>, usize, usize) {
    let game = Arc::new(Game::new(seed));
    let size = fastrand::usize(2..7);
    for _ in 0..size {
        tokio::spawn(Arc::clone(&game).take_part());
    }
    let wiped = game.interfere(seed % 5 > 2).await;
    let now = game.clock.now();
    game.with(|board| board.closed = Some(now + PLAY));
    game.sim.controls().lift_all();
    sleep(SETTLED).await;
    game.follow(size).await;
    game.compare();
    let breach = game.with(|board| {
        let from = board.log.len().saturating_sub(60);
        Some(format!("seed {seed}: {}\n{}", board.breach.take()?, board.log[from..].join("\n")))
    });
    (breach, game.with(|board| board.wins), wiped)
}

#[test]
fn no_order_of_events_makes_two_lead() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let from = number("CHAOS_FROM").unwrap_or(0);
    let (mut all_wins, mut all_wiped) = (0, 0);
    for seed in from..from + number("CHAOS_COUNT").unwrap_or(40) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
        let (breach, wins, wiped) = runtime.block_on(play(seed));
        assert!(breach.is_none(), "{}", breach.unwrap_or_default());
        (all_wins, all_wiped) = (all_wins + wins, all_wiped + wiped);
    }
    println!("{all_wins} leaderships, {all_wiped} removed");
    assert!(all_wins > 100 && all_wiped > 10);
}
