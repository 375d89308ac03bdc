use std::collections::BTreeSet;

use elect_api::{Boottime, Standing, Token, Validity, never};
use elect_testkit::sim::{Effect, Kind, ManualClock, Op, Options, Rule, Sim};
use elect_testkit::{election, poll_n, poll_n_eagerly, run};

use super::*;
use crate::election::control::{Control as Asked, Request};

const TTL: Duration = Duration::from_secs(12);
/// More polls than any answered call needs.
const PATIENCE: usize = 500;

struct Ground {
    sim: Sim,
    clock: Arc<ManualClock>,
    slots: u16,
}

/// A candidate with its seat, as the engine sees it.
struct Contender {
    id: String,
    seat: Box<dyn Seat>,
    slot: Slot,
    standing: Standing,
    control: Versioned,
}

impl Ground {
    fn new(slots: u16) -> Self {
        let clock = Arc::new(ManualClock::default());
        let sim = Sim::new(Options::new(Kind::Queue), Arc::clone(&clock) as Arc<_>);
        Self { sim, clock, slots }
    }

    fn now(&self) -> Boottime {
        elect_testkit::sim::Clock::now(&*self.clock)
    }

    async fn open(&self, id: &str, is_in_haste: bool) -> Contender {
        let store = Slots::new(self.sim.connect(), &election(), self.slots, is_in_haste);
        let store = store.expect("a short name");
        let candidate = Candidate { host: "h".to_owned(), ..Candidate::foreign(id) };
        let seat = store.open(&election(), &candidate, TTL).await.expect("a seat");
        let standing = Standing::Waiting { ahead: 0, alive: true, wake: never() };
        let (id, slot, control) = (id.to_owned(), store.slot(), Versioned::default());
        Contender { id, seat, slot, standing, control }
    }

    async fn come(&self, id: &str) -> Contender {
        let mut contender = self.open(id, false).await;
        self.refresh_until_calm(&mut contender).await;
        contender
    }

    /// Refreshes as the engine does, again at once as long as that helps.
    async fn refresh_until_calm(&self, contender: &mut Contender) {
        for _ in 0..20 {
            contender.refresh(self.now()).await;
            if !contender.is_woken().await {
                return;
            }
        }
        panic!("{} is woken for ever", contender.id);
    }

    fn part(number: u16) -> ElectionName {
        Division::part(&election(), number).expect("a short name")
    }

    /// Returns the ids of all entries in each slot, and at the door.
    async fn entries(&self) -> Vec<Vec<String>> {
        let store = self.sim.connect();
        let mut all = Vec::new();
        for name in (0..self.slots).map(Self::part).chain([election()]) {
            let survey = store.survey(&name).await.expect("a survey");
            all.push(survey.entries().map(|entry| entry.candidate.id.clone()).collect());
        }
        all
    }

    async fn ask(&self, election: &ElectionName, asked: &Asked) {
        let store = self.sim.connect();
        let kept = store.read(election, Cell::Control).await.expect("an answer");
        let (text, unchanged) = (asked.to_bytes(), If::Version(kept.version));
        store.write(election, Cell::Control, &text, unchanged).await.expect("an answer");
    }
}

impl Contender {
    async fn refresh(&mut self, now: Boottime) {
        let refreshed = self.seat.refresh(now).await.expect("a standing");
        (self.standing, self.control) = (refreshed.standing, refreshed.control);
    }

    /// Runs what runs beside a wake, and returns whether the wake has ended.
    async fn is_woken(&mut self) -> bool {
        match &mut self.standing {
            Standing::Leading { wake, .. } | Standing::Waiting { wake, .. } => {
                let is_over = poll_n_eagerly(30, &mut *wake).await.is_some();
                if is_over {
                    *wake = never();
                }
                is_over
            }
            _ => false,
        }
    }

    /// Returns the slot in which the candidate may still run something.
    fn leads(&self, now: Boottime) -> Option<u16> {
        match self.standing {
            Standing::Leading { validity: Validity::Window { anchor, window }, .. } => {
                (anchor + window > now).then(|| self.slot.number()).flatten()
            }
            _ => None,
        }
    }

    fn waits_behind(&self) -> Option<usize> {
        match self.standing {
            Standing::Waiting { ahead, .. } => Some(ahead),
            _ => None,
        }
    }
}

fn paused() -> Asked {
    Asked::default().paused(Some(Request::new("me".into(), None)))
}

fn is_paused(contender: &Contender) -> bool {
    let text = contender.control.bytes.clone();
    Asked::read(text.as_deref()).expect("a cell of ours").pausing().is_some()
}

#[test]
fn the_lowest_free_slot_goes_to_the_next_candidate() {
    run("slots", async {
        let ground = Ground::new(2);
        let mut a = ground.come("a").await;
        let b = ground.come("b").await;
        let mut c = ground.come("c").await;
        let d = ground.come("d").await;
        let now = ground.now();
        assert_eq!([a.leads(now), b.leads(now)], [Some(0), Some(1)]);
        assert_eq!([c.waits_behind(), d.waits_behind()], [Some(1), Some(2)]);
        assert_eq!(ground.entries().await, [vec!["a", "c"], vec!["b", "c"], vec!["c", "d"]]);
        a.seat.resign(None).await.expect("an answer");
        assert!(c.is_woken().await);
        ground.refresh_until_calm(&mut c).await;
        assert_eq!(c.leads(now), Some(0));
        assert_eq!(ground.entries().await, [vec!["c"], vec!["b"], vec!["d"]]);
    });
}

/// Law 4: a wake may be late or lost without breaking anything.
#[test]
fn a_candidate_without_its_wakes_leaves_the_door_by_refreshes() {
    run("lost wakes", async {
        let ground = Ground::new(2);
        let mut a = ground.open("a", false).await;
        for _ in 0..8 {
            a.refresh(ground.now()).await;
        }
        assert_eq!(ground.entries().await, [vec!["a"], vec![], vec![]]);
    });
}

/// Two slots come free at once.
#[test]
fn a_candidate_that_wins_two_slots_leads_in_the_lower_alone() {
    run("a surplus", async {
        let ground = Ground::new(2);
        let mut leaders = [ground.come("a").await, ground.come("b").await];
        let mut c = ground.come("c").await;
        for leader in &mut leaders {
            leader.seat.resign(None).await.expect("an answer");
        }
        ground.refresh_until_calm(&mut c).await;
        assert_eq!(c.leads(ground.now()), Some(0));
        assert_eq!(ground.entries().await, [vec!["c"], vec![], vec![]]);
    });
}

#[test]
fn an_error_elsewhere_hides_no_win() {
    for effect in [Effect::Break, Effect::LoseReply, Effect::Refuse] {
        run("errors", async {
            let ground = Ground::new(3);
            let mut leaders = Vec::new();
            for id in ["a", "b", "c"] {
                leaders.push(ground.come(id).await);
            }
            let mut d = ground.come("d").await;
            leaders[2].seat.resign(None).await.expect("an answer");
            // The first renewal is the one at the door.
            ground.sim.controls().add(Rule::new(effect).op(Op::Renew).client("d").times(1));
            let _ = poll_n_eagerly(PATIENCE, d.seat.refresh(ground.now())).await;
            ground.refresh_until_calm(&mut d).await;
            assert_eq!(d.leads(ground.now()), Some(2), "{effect:?}");
            assert_eq!(ground.entries().await, [vec!["a"], vec!["b"], vec!["d"], vec![]]);
        });
    }
}

#[test]
fn a_hasty_candidate_gets_a_free_slot_or_does_not_wait() {
    run("haste", async {
        let ground = Ground::new(2);
        // The candidate has won and does nothing more, so it still has the door.
        let mut a = ground.open("a", false).await;
        while a.leads(ground.now()).is_none() {
            a.refresh(ground.now()).await;
        }
        let mut b = ground.open("b", true).await;
        b.refresh(ground.now()).await;
        assert_eq!(b.waits_behind(), Some(0));
        a.is_woken().await;
        ground.refresh_until_calm(&mut b).await;
        assert_eq!(b.leads(ground.now()), Some(1));
        let mut c = ground.open("c", true).await;
        ground.refresh_until_calm(&mut c).await;
        assert_eq!(c.waits_behind(), Some(1));
    });
}

/// Holds for the leader, the head and a waiter at the door, wherever the wrapper has died.
#[test]
fn one_ticket_gives_up_all_that_there_is_of_a_candidate() {
    for cut in 0..PATIENCE {
        let is_over = run("a crash", async {
            let ground = Ground::new(2);
            let mut a = ground.come("a").await;
            let mut leader = ground.open("b", false).await;
            let mut ticket = None;
            let mut left = cut;
            // As in the driver, the ticket is kept before each call.
            let is_over = loop {
                ticket = leader.seat.ticket().or(ticket);
                let Some(standing) = poll_n(left.min(25), leader.seat.refresh(ground.now())).await
                else {
                    break false;
                };
                leader.standing = standing.expect("a standing").standing;
                if leader.leads(ground.now()).is_some() {
                    break true;
                }
                left = left.saturating_sub(25);
            };
            drop(leader);
            let store = ground.sim.connect();
            let ticket = ticket.expect("a ticket");
            redeem(&*store, &election(), &ticket).await.expect("an answer");
            assert_eq!(ground.entries().await, [vec!["a"], vec![], vec![]], "cut at {cut}");
            ground.refresh_until_calm(&mut a).await;
            assert_eq!(a.leads(ground.now()), Some(0));
            is_over || cut > 200
        });
        if is_over {
            return;
        }
    }
}

#[test]
fn a_pause_of_all_reaches_each_slot_and_that_of_one_only_that() {
    run("pauses", async {
        let ground = Ground::new(2);
        let mut both = [ground.come("a").await, ground.come("b").await];
        let mut c = ground.come("c").await;
        assert!(!both.iter().any(is_paused));
        ground.ask(&election(), &paused()).await;
        for contender in both.iter_mut().chain([&mut c]) {
            assert!(contender.is_woken().await, "{}", contender.id);
            ground.refresh_until_calm(contender).await;
            assert!(is_paused(contender), "{}", contender.id);
        }
        ground.ask(&election(), &Asked::default()).await;
        ground.ask(&Ground::part(1), &paused()).await;
        for contender in both.iter_mut().chain([&mut c]) {
            ground.refresh_until_calm(contender).await;
        }
        assert_eq!([is_paused(&both[0]), is_paused(&both[1]), is_paused(&c)], [false, true, false]);
    });
}

#[test]
fn no_candidate_has_a_rank_in_a_slot() {
    run("ranks", async {
        let ground = Ground::new(2);
        let to = Some("x".to_owned());
        let asked = Asked::default().ranked().handing_over(
            Token::new(7),
            to,
            Request::new("me".into(), None),
        );
        ground.ask(&election(), &asked).await;
        ground.ask(&Ground::part(0), &asked).await;
        let a = ground.come("a").await;
        let known = Asked::read(a.control.bytes.as_deref()).expect("a cell of ours");
        assert!(known.ends(Token::new(7)) && !known.is_ranked());
    });
}

/// Plays random events of several candidates, and checks what must always be true.
async fn play(seed: u64) {
    const CONTENDERS: usize = 5;
    const SLOTS: u16 = 3;
    let mut chance = fastrand::Rng::with_seed(seed);
    let ground = Ground::new(SLOTS);
    let controls = ground.sim.controls();
    let mut contenders = Vec::new();
    for number in 0..CONTENDERS {
        contenders.push(ground.open(&format!("c{number}"), false).await);
    }
    for _ in 0..120 {
        let one = chance.usize(0..CONTENDERS);
        let contender = &mut contenders[one];
        match chance.u8(0..20) {
            0..=11 => {
                let polls = if chance.bool() { PATIENCE } else { chance.usize(1..30) };
                let refresh = contender.seat.refresh(ground.now());
                if let Some(Ok(refreshed)) = poll_n_eagerly(polls, refresh).await {
                    contender.standing = refreshed.standing;
                }
                if matches!(contender.standing, Standing::Gone(_) | Standing::Evicted(_)) {
                    let _ = poll_n_eagerly(PATIENCE, contender.seat.resign(None)).await;
                }
            }
            12 | 13 => _ = contender.is_woken().await,
            14 => {
                // The tree is empty first.
                contender.standing = Standing::Waiting { ahead: 0, alive: true, wake: never() };
                let _ = poll_n_eagerly(chance.usize(1..40), contender.seat.resign(None)).await;
            }
            15 | 16 => {
                let effects = [Effect::LoseReply, Effect::LoseRequest, Effect::Break, Effect::Hold];
                let effect = effects[chance.usize(0..effects.len())];
                controls.add(Rule::new(effect).chance_per_mille(300));
            }
            17 => controls.lift_all(),
            18 => ground.clock.advance(Duration::from_secs(chance.u64(0..4))),
            _ => {
                let duplicate = Effect::Duplicate(Duration::from_secs(chance.u64(0..9)));
                controls.add(Rule::new(duplicate).times(2));
            }
        }
        let now = ground.now();
        let led: Vec<u16> = contenders.iter().filter_map(|one| one.leads(now)).collect();
        let slots: BTreeSet<u16> = led.iter().copied().collect();
        assert_eq!(led.len(), slots.len(), "seed {seed}: two lead in one slot: {led:?}");
    }
    controls.lift_all();
    // Lost entries end, and each candidate that refreshes gets its turn.
    for _ in 0..40 {
        ground.clock.advance(Duration::from_secs(1));
        for contender in &mut contenders {
            for _ in 0..20 {
                match contender.seat.refresh(ground.now()).await {
                    Ok(refreshed) => contender.standing = refreshed.standing,
                    Err(_) => continue,
                }
                if matches!(contender.standing, Standing::Gone(_) | Standing::Evicted(_)) {
                    contender.seat.resign(None).await.expect("an answer");
                } else if !contender.is_woken().await {
                    break;
                }
            }
        }
    }
    let now = ground.now();
    let led: BTreeSet<u16> = contenders.iter().filter_map(|one| one.leads(now)).collect();
    assert_eq!(led.len(), usize::from(SLOTS), "seed {seed}: not all lead: {led:?}");
    let entries = ground.entries().await;
    let at_the_door = entries.last().map(Vec::len);
    assert_eq!(at_the_door, Some(CONTENDERS - usize::from(SLOTS)), "seed {seed}: {entries:?}");
    assert!(entries[..usize::from(SLOTS)].iter().all(|slot| slot.len() == 2), "{entries:?}");
}

#[test]
fn lost_or_dropped_requests_leave_one_leader_in_each_slot() {
    for seed in 0..30 {
        run("slots at random", play(seed));
    }
}
