//! Candidates whose requests take any time, get lost or come late, in a random order.
//!
//! `CHAOS_FROM` and `CHAOS_COUNT` select the seeds.

mod events;
mod wires;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use elect_api::{Boottime, Candidate, Error, Seat, Standing, Store, Ticket, Token, Validity};
use elect_record::RecordStore;
use elect_testkit::election;

use self::events::Errand;
use self::wires::Net;

enum Outcome {
    Refreshed(Result<Standing, Error>),
    Resigned(Result<(), Error>),
}

type Call = Pin<Box<dyn Future<Output = Outcome>>>;

struct Actor {
    id: String,
    seat: Arc<tokio::sync::Mutex<Box<dyn Seat>>>,
    ttl: u64,
    /// The ticket that was shown before the newest call.
    ticket: Ticket,
    call: Option<(Call, u64)>,
    /// The token, and the end of the lease.
    leads: Option<(u64, u64)>,
    is_leaving: bool,
    due: u64,
    ahead: Option<usize>,
}

impl Actor {
    /// Takes in the report that this candidate leads.
    fn leads(&mut self, net: &Net, now: u64, token: Token, validity: Validity) -> String {
        let Validity::Window { anchor, window } = validity else { return "leads for ever".into() };
        let until = u64::try_from((anchor + window).since(at(0)).as_millis()).expect("soon");
        let token = token.get();
        if until <= now {
            self.is_leaving = true;
            return format!("led with {token} until {until}");
        }
        if self.leads.is_none_or(|(other, _)| other != token) {
            if net.with(|wires| token <= wires.greatest) {
                net.breach(format!("{} has the old token {token}", self.id));
            }
            net.with(|wires| {
                wires.wins += 1;
                wires.greatest = wires.greatest.max(token);
            });
        }
        self.leads = Some((token, until));
        format!("leads with {token} until {until}")
    }
}

struct Game {
    net: Net,
    actors: Vec<Actor>,
    /// The candidates that crashed without a redeemed ticket, and the time until which each may go on.
    ghosts: Vec<(String, u64)>,
    /// The actions of other programs, each with the nonce that it gives up.
    errands: Vec<(Errand, Option<u64>)>,
    born: usize,
    /// No newcomer comes before this time.
    closed: u64,
    wipes: bool,
    is_mixed: bool,
    wiped: usize,
}

fn at(millis: u64) -> Boottime {
    Boottime::from_boot(Duration::from_millis(millis))
}

fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T>>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(it) => Some(it),
        Poll::Pending => None,
    }
}

fn nonce(ticket: &Ticket) -> u64 {
    let digits = ticket.as_str().rsplit('-').next().expect("as it was made");
    u64::from_str_radix(digits, 16).expect("as it was made")
}

impl Game {
    fn new(seed: u64) -> Self {
        fastrand::seed(seed);
        let net = Net::default();
        net.with(|wires| {
            (wires.now, wires.races) = (1_000_000, seed % 8 == 3);
            wires.slow = if seed.is_multiple_of(3) { 900 } else { 0 };
        });
        let mut game = Self {
            net,
            actors: Vec::new(),
            ghosts: Vec::new(),
            errands: Vec::new(),
            born: 0,
            closed: 0,
            wipes: seed % 5 > 2,
            is_mixed: seed % 2 == 1,
            wiped: 0,
        };
        for _ in 0..fastrand::usize(2..7) {
            let actor = game.actor();
            game.actors.push(actor);
        }
        game
    }

    fn now(&self) -> u64 {
        self.net.with(|wires| wires.now)
    }

    fn store(&self) -> RecordStore {
        RecordStore::new(self.net.clone())
    }

    fn actor(&mut self) -> Actor {
        self.born += 1;
        let id = format!("c{}", self.born);
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(&id) };
        let ttl =
            if self.is_mixed { [6000, 12_000, 24_000][fastrand::usize(0..3)] } else { 12_000 };
        let (store, name) = (self.store(), election());
        let mut open: Pin<Box<dyn Future<Output = _>>> = Box::pin(async move {
            store.open(&name, &candidate, Duration::from_millis(ttl)).await.expect("a seat")
        });
        let seat = poll(&mut open).expect("as it was made");
        let ticket = seat.ticket().expect("a ticket");
        let seat = Arc::new(tokio::sync::Mutex::new(seat));
        let due = self.now() + fastrand::u64(0..5000);
        Actor {
            id,
            seat,
            ttl,
            ticket,
            call: None,
            leads: None,
            is_leaving: false,
            due,
            ahead: None,
        }
    }

    fn check(&self) {
        let now = self.now();
        let leaders = self.actors.iter().filter_map(|it| Some((&it.id, it.leads?.1)));
        let ghosts = self.ghosts.iter().map(|(id, until)| (id, *until));
        let all: Vec<_> = leaders.chain(ghosts).filter(|(_, until)| *until > now).collect();
        if all.len() > 1 {
            self.net.breach(format!("{all:?} lead"));
        }
    }

    fn begin(&mut self, number: usize) {
        let now = self.now();
        let actor = &mut self.actors[number];
        let Ok(mut seat) = Arc::clone(&actor.seat).try_lock_owned() else { return };
        actor.ticket = seat.ticket().expect("a ticket");
        let call: Call = if actor.is_leaving {
            actor.leads = None;
            Box::pin(async move { Outcome::Resigned(seat.resign(None).await) })
        } else {
            Box::pin(async move {
                Outcome::Refreshed(seat.refresh(at(now)).await.map(|refreshed| refreshed.standing))
            })
        };
        actor.call = Some((call, now));
    }

    fn step(&mut self, number: usize) {
        let now = self.now();
        let actor = &mut self.actors[number];
        if actor.leads.is_some_and(|(_, until)| until <= now) {
            (actor.leads, actor.is_leaving, actor.call, actor.due) = (None, true, None, now);
        }
        let Some((call, begun)) = &mut actor.call else {
            if actor.due <= now {
                self.begin(number);
            }
            return;
        };
        let begun = *begun;
        let Some(outcome) = poll(call) else {
            // The engine drops the call and tries again.
            if now - begun > actor.ttl / 3 {
                (actor.call, actor.due) = (None, now + fastrand::u64(0..1000));
            }
            return;
        };
        actor.call = None;
        actor.due = begun + actor.ttl / 6;
        self.heard(number, outcome);
    }

    /// Takes in the outcome of a call.
    fn heard(&mut self, number: usize, outcome: Outcome) {
        let now = self.now();
        let actor = &mut self.actors[number];
        let said = match outcome {
            Outcome::Refreshed(Ok(Standing::Leading { token, validity, .. })) => {
                actor.leads(&self.net, now, token, validity)
            }
            Outcome::Refreshed(Ok(Standing::Waiting { ahead, .. })) => {
                actor.ahead = Some(ahead);
                if actor.leads.is_some() {
                    self.net.breach(format!("{} leads and waits", actor.id));
                }
                if fastrand::u8(0..4) == 0 {
                    actor.due = now + fastrand::u64(0..500);
                }
                format!("waits, {ahead} before it")
            }
            Outcome::Refreshed(Ok(Standing::Gone(_) | Standing::Evicted(_))) => {
                (actor.leads, actor.is_leaving, actor.due) = (None, true, now);
                "gone".into()
            }
            Outcome::Refreshed(Err(error)) | Outcome::Resigned(Err(error)) => {
                actor.due = now + fastrand::u64(0..1000);
                format!("{:?}", error.kind())
            }
            Outcome::Resigned(Ok(())) => {
                let given_up = nonce(&actor.ticket);
                self.net.with(|wires| wires.given_up.insert(given_up));
                actor.is_leaving = false;
                actor.due = now + fastrand::u64(0..10_000);
                format!("has resigned {given_up:x}")
            }
        };
        let said = format!("{} {said}", actor.id);
        self.net.say(&said);
        self.check();
    }

    fn tick(&mut self, longest: u64) {
        for number in 0..self.actors.len() {
            self.step(number);
        }
        self.errands();
        for _ in 0..fastrand::usize(0..4) {
            self.net.deliver();
        }
        self.net.with(|wires| wires.now += fastrand::u64(0..=longest));
    }

    /// From now on all requests are answered at once.
    fn calm(&mut self, millis: u64) {
        self.net.with(|wires| (wires.calm, wires.slow) = (true, 0));
        let end = self.now() + millis;
        while self.now() < end {
            for _ in 0..40 {
                for number in 0..self.actors.len() {
                    self.step(number);
                }
                self.net.deliver();
            }
            self.errands();
            self.net.with(|wires| wires.now += 250);
        }
    }

    fn play(&mut self, steps: usize) {
        for _ in 0..steps {
            if fastrand::u8(0..12) == 0 {
                self.event();
            }
            self.tick(300);
            if self.net.with(|wires| wires.breach.is_some()) {
                return;
            }
        }
    }

    /// Checks that a candidate leads a few leases after all faults have ended. Then checks that the
    /// candidates follow one another as each leader resigns.
    fn ends(&mut self) {
        self.calm(4 * 24_000);
        for _ in 0..self.actors.len() {
            let leader = self.actors.iter().position(|it| it.leads.is_some());
            let Some(leader) = leader else {
                self.net.breach("nobody leads".into());
                return;
            };
            let ahead: Vec<_> = self.actors.iter().map(|it| (it.id.clone(), it.ahead)).collect();
            self.net.say(&format!("{ahead:?}"));
            let next = self.actors.iter().enumerate();
            let next = next.filter(|(number, it)| *number != leader && it.ahead == Some(1));
            let next: Vec<String> = next.map(|(_, it)| it.id.clone()).collect();
            let gone = self.actors.remove(leader);
            self.net.say(&format!("{} resigns", gone.id));
            let mut resign: Pin<Box<dyn Future<Output = _>>> = Box::pin(async move {
                gone.seat.lock().await.resign(None).await.expect("all is well");
            });
            drop(gone.call);
            while poll(&mut resign).is_none() {
                self.net.deliver();
            }
            if self.actors.is_empty() {
                return;
            }
            self.calm(13_000);
            let leads = self.actors.iter().find(|it| it.leads.is_some()).map(|it| it.id.clone());
            if !self.is_mixed && leads.as_ref() != next.first() {
                self.net.breach(format!("{leads:?} leads, {next:?} was next"));
                return;
            }
        }
    }

    fn fail(&self, seed: u64) {
        let (breach, log) = self.net.with(|wires| (wires.breach.clone(), wires.log.clone()));
        if let Some(breach) = breach {
            let from = log.len().saturating_sub(60);
            panic!("seed {seed}: {breach}\n{}", log[from..].join("\n"));
        }
    }
}

fn seeds(most: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let from = number("CHAOS_FROM").unwrap_or(0);
    from..from + number("CHAOS_COUNT").unwrap_or(most)
}

#[test]
fn no_order_of_events_makes_two_lead() {
    #[cfg(feature = "guards")]
    elect_record::judge_by(|guard| {
        std::env::var("CHAOS_OFF").is_ok_and(|off| off == format!("{guard:?}"))
    });
    let (mut wins, mut wiped) = (0, 0);
    for seed in seeds(40) {
        let mut game = Game::new(seed);
        game.play(3000);
        if game.net.with(|wires| wires.breach.is_none()) {
            game.ends();
        }
        game.fail(seed);
        wins += game.net.with(|wires| wires.wins);
        wiped += game.wiped;
    }
    println!("{wins} leaderships, {wiped} removed");
    assert!(wins > 100 && wiped > 10);
}
