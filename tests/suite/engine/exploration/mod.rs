//! Explores every way that the pure parts can go, within bounds: two or three machines and their ladders, and a queue
//! whose clock runs a tenth faster than theirs. Messages take their time, and a limited number of faults of any kind
//! strikes at any step.
//!
//! The order of steps is a choice only if it matters: when requests reach the store in the same instant. All other
//! steps of one instant commute.

mod figures;
pub(crate) mod random;

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;

use elect::election::control::Control;
use elect::election::timing::TimingOptions;
use elect::simulate::model::{
    Candidate as Simulated, Identity, Process, Proof, QueueSeat, Setup, candidacy,
};
use elect_api::{Boottime, Cadence, Candidate as Candidacy, Lease, Token};
use elect_simulation::queue::{Ask, Queue, Reply, Rounds};

/// The time that each message takes.
const TRANSIT: Duration = Duration::from_millis(10);
const TTL: Duration = Duration::from_secs(5);
/// The time within which a candidate leads after the last fault, in leases. A stopped process goes on after two.
const PATIENCE: u32 = 5;

/// The limits of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) candidates: usize,
    pub(crate) faults: u32,
    /// Within how many milliseconds from the start there are faults.
    pub(crate) window: u64,
    /// The candidates' priorities, in the order of their arrival.
    pub(crate) priorities: [u32; 3],
}

/// It does not matter who leads.
pub(crate) const NO_RANKS: [u32; 3] = [Candidacy::USUAL_PRIORITY; 3];

/// The findings.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// States in which there was a choice, each once.
    pub(crate) choices: usize,
    /// States in all.
    pub(crate) states: u64,
    /// Ways to the end.
    pub(crate) ends: u64,
}

/// The faults that may strike a candidate before its next step.
#[derive(Clone, Copy, Debug)]
enum Fault {
    KillWrapper,
    KillGuardian,
    KillBoth,
    StopWrapper(Duration),
    StopGuardian(Duration),
    StopBoth(Duration),
    EndCommand,
    TellToEnd,
    LoseRequest,
    LoseReply,
    LateRequest,
    LateReply,
}

const TO_PROCESSES: &[Fault] = &[
    Fault::KillWrapper,
    Fault::KillGuardian,
    Fault::KillBoth,
    Fault::StopWrapper(Duration::from_millis(2_500)),
    Fault::StopWrapper(Duration::from_secs(10)),
    Fault::StopGuardian(Duration::from_millis(2_500)),
    Fault::StopGuardian(Duration::from_secs(10)),
    Fault::StopBoth(Duration::from_secs(10)),
    Fault::EndCommand,
    Fault::TellToEnd,
];
const TO_LETTERS: &[Fault] =
    &[Fault::LoseRequest, Fault::LoseReply, Fault::LateRequest, Fault::LateReply];

type Candidate = Simulated<QueueSeat>;

/// A request on its way to the store.
#[derive(Clone, Debug)]
struct Letter {
    arrives: Boottime,
    ask: Ask,
    /// The number of the call that waits for the answer, and how long that takes; `None` if it gets lost.
    answer: Option<(u32, Duration)>,
}

/// A candidate, and what it has sent.
#[derive(Clone, Debug)]
struct Player {
    candidate: Candidate,
    letters: Vec<Letter>,
}

#[derive(Clone, Debug)]
struct State {
    now: Boottime,
    players: Vec<Player>,
    queue: Queue,
    faults: u32,
    newest: Option<Token>,
    /// The way here, for a person.
    story: Vec<(Boottime, usize, Fault)>,
}

/// A state's text becomes a number without being written down.
struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Returns the time by the store's clock, which runs a tenth faster.
fn store_time(now: Boottime) -> Duration {
    now.since(Boottime::from_boot(Duration::ZERO)) * 11 / 10
}

fn setup() -> Setup {
    Setup {
        options: TimingOptions { ttl: TTL, ..TimingOptions::default() },
        lease: Lease::Timed(Cadence::LEASE),
        stops_within: None,
    }
}

/// The next event.
enum Next {
    /// One of these letters arrives: of this candidate, and at that place among its letters.
    Letters(Vec<(usize, usize)>),
    Candidate(usize),
    Time(Boottime),
    Nothing,
}

impl State {
    fn new(bound: Bound) -> Self {
        let now = Boottime::from_boot(Duration::from_secs(1000));
        let is_ranked = bound.priorities != NO_RANKS;
        let control = || is_ranked.then(|| Control::default().ranked());
        let player = |id: usize| {
            let (name, priority) = (format!("c{id}-"), bound.priorities[id]);
            let (nonce, seed) = (id as u64 * 1000, id as u64);
            let identity = Identity { id: &name, priority, seed };
            let seat = QueueSeat::new(candidacy(&name, priority), TTL, nonce, Proof::Renewal);
            let candidate = Candidate::new(identity, seat, control(), &setup(), now);
            Player { candidate: candidate.expect("the defaults fit"), letters: Vec::new() }
        };
        Self {
            now,
            players: (0..bound.candidates).map(player).collect(),
            queue: Queue::new(Rounds::default()),
            faults: bound.faults,
            newest: None,
            story: Vec::new(),
        }
    }

    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.players.iter().map(|player| &player.candidate)
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest(DefaultHasher::new());
        let Self { now, players, queue, faults, newest, .. } = self;
        write!(digest, "{now:?}{players:?}{queue:?}{faults}{newest:?}").expect("no I/O");
        digest.0.finish()
    }

    fn next(&self) -> Next {
        let letters = || {
            let each = self.players.iter().enumerate();
            each.flat_map(|(of, player)| {
                player.letters.iter().enumerate().map(move |(place, letter)| (of, place, letter))
            })
        };
        let due: Vec<(usize, usize)> = letters()
            .filter(|(.., letter)| letter.arrives <= self.now)
            .map(|(of, place, _)| (of, place))
            .collect();
        if !due.is_empty() {
            return Next::Letters(due);
        }
        let steps = self.players.iter().map(|player| player.candidate.next(self.now));
        let first = steps.enumerate().filter_map(|(of, at)| Some((at?, of))).min();
        let arrival = letters().map(|(.., letter)| letter.arrives).min();
        match first {
            Some((at, of)) if at <= self.now => Next::Candidate(of),
            _ => {
                let at = [first.map(|(at, _)| at), arrival].into_iter().flatten().min();
                at.map_or(Next::Nothing, Next::Time)
            }
        }
    }

    /// The queue's hints to the candidates behind are lost: they are no more than hints.
    fn arrive(&mut self, of: usize, place: usize) {
        let Letter { ask, answer, .. } = self.players[of].letters.remove(place);
        let (reply, _) = self.queue.answer(store_time(self.now), &ask);
        if let Some((call, takes)) = answer {
            self.players[of].candidate.deliver(call, self.now + takes, reply);
        }
    }

    /// Has a candidate do what is due. Says whether it has sent something.
    fn step(&mut self, of: usize) -> bool {
        let Player { candidate, letters } = &mut self.players[of];
        assert!(candidate.step(self.now), "{of} has nothing to do: {self:#?}");
        Self::post(letters, candidate, self.now)
    }

    fn post(letters: &mut Vec<Letter>, candidate: &mut Candidate, now: Boottime) -> bool {
        let before = letters.len();
        candidate.has_given_up = false;
        letters.extend(candidate.letters.drain(..).map(|letter| Letter {
            arrives: now + TRANSIT,
            ask: letter.ask,
            answer: letter.call.map(|call| (call, TRANSIT)),
        }));
        letters.len() > before
    }

    /// Returns the states after each fault that may strike before the next step of this candidate.
    fn faults_for(&self, of: usize, until: Boottime) -> impl Iterator<Item = State> {
        let may = self.faults > 0 && self.now < until;
        let faults = may.then_some(TO_PROCESSES).into_iter().flatten();
        faults.filter(move |fault| self.is_felt(of, **fault)).map(move |&fault| {
            let mut state = self.clone();
            state.befall(of, fault);
            state
        })
    }

    /// Returns true if the fault makes a difference.
    fn is_felt(&self, of: usize, fault: Fault) -> bool {
        let Candidate { wrapper, guardian, tree, is_done, .. } = &self.players[of].candidate;
        let (wrapper, guardian) = (*wrapper == Process::Runs, *guardian == Process::Runs);
        match fault {
            Fault::KillWrapper | Fault::StopWrapper(_) | Fault::TellToEnd => wrapper && !is_done,
            Fault::KillGuardian | Fault::StopGuardian(_) => guardian,
            Fault::KillBoth | Fault::StopBoth(_) => wrapper && guardian,
            Fault::EndCommand => tree.is_some_and(|tree| tree.dies.is_none()),
            _ => true,
        }
    }

    fn befall(&mut self, of: usize, fault: Fault) {
        self.faults -= 1;
        self.story.push((self.now, of, fault));
        let (now, Player { candidate, letters }) = (self.now, &mut self.players[of]);
        let stopped = |span| Process::StoppedUntil(now + span);
        match fault {
            Fault::KillWrapper => candidate.kill_wrapper(),
            Fault::KillGuardian => candidate.kill_guardian(now),
            Fault::KillBoth => {
                candidate.kill_guardian(now);
                candidate.kill_wrapper();
            }
            Fault::StopWrapper(span) => candidate.wrapper = stopped(span),
            Fault::StopGuardian(span) => candidate.guardian = stopped(span),
            Fault::StopBoth(span) => {
                (candidate.wrapper, candidate.guardian) = (stopped(span), stopped(span));
            }
            Fault::EndCommand => candidate.end_command(now),
            Fault::TellToEnd => candidate.tell_to_end(),
            Fault::LoseRequest => _ = letters.pop(),
            Fault::LoseReply => {
                if let Some(letter) = letters.last_mut() {
                    letter.answer = None;
                }
            }
            Fault::LateRequest => {
                if let Some(letter) = letters.last_mut() {
                    letter.arrives = now + TTL / 2;
                }
            }
            Fault::LateReply => {
                if let Some((_, takes)) = letters.last_mut().and_then(|it| it.answer.as_mut()) {
                    // Just before a leader gives up on it.
                    *takes = TTL / 7;
                }
            }
        }
    }

    /// Panics if a law is broken.
    fn judge(&mut self) {
        let trees: Vec<Token> =
            self.candidates().filter_map(|candidate| Some(candidate.tree?.token)).collect();
        assert!(trees.len() < 2, "two command trees, {trees:?}: {self:#?}");
        if let Some(&token) = trees.first() {
            assert!(self.newest.is_none_or(|newest| newest <= token), "tokens fall: {self:#?}");
            self.newest = Some(token);
            self.queue.advance(store_time(self.now));
            let leads = self.queue.leader();
            assert!(
                leads == Some(token),
                "the lease of {token} is over, {leads:?} leads: {self:#?}"
            );
        }
        let observes = |candidate: &&Candidate| candidate.priority == 0 && candidate.tree.is_some();
        let leads = self.candidates().find(observes);
        assert!(leads.is_none(), "a candidate of priority 0 leads: {self:#?}");
        for candidate in self.candidates() {
            assert!(candidate.broken.is_none(), "{:?}: {self:#?}", candidate.broken);
        }
    }

    fn judge_the_end(&mut self) {
        let is_there =
            |candidate: &&Candidate| candidate.wrapper != Process::Dead && !candidate.is_done;
        let leads = self.candidates().any(|candidate| candidate.tree.is_some());
        let there: Vec<u32> =
            self.candidates().filter(is_there).map(|candidate| candidate.priority).collect();
        if !there.is_empty() {
            let wants = there.iter().any(|priority| *priority > 0);
            assert_eq!(leads, wants, "who leads in the end: {self:#?}");
            return;
        }
        let (left, _) = self.queue.answer(store_time(self.now), &Ask::Survey);
        let is_empty = matches!(&left, Reply::Survey(survey) if survey.entries().next().is_none());
        assert!(is_empty, "all have left, and there is {left:?}: {self:#?}");
    }
}

/// Goes every way there is, and panics on one that breaks a law.
pub(crate) fn explore(bound: Bound) -> Seen {
    let first = State::new(bound);
    let until = first.now + Duration::from_millis(bound.window);
    let end = until + TTL * PATIENCE;
    let (mut seen, mut known, mut open) = (Seen::default(), HashSet::new(), vec![first]);
    while let Some(mut state) = open.pop() {
        loop {
            seen.states += 1;
            state.judge();
            match state.next() {
                Next::Letters(due) => {
                    if let [(of, place)] = due[..] {
                        state.arrive(of, place);
                        continue;
                    }
                    if known.insert(state.digest()) {
                        open.extend(due.into_iter().map(|(of, place)| {
                            let mut next = state.clone();
                            next.arrive(of, place);
                            next
                        }));
                    }
                    break;
                }
                Next::Candidate(of) => {
                    if state.faults > 0 && state.now < until {
                        if !known.insert(state.digest()) {
                            break;
                        }
                        open.extend(state.faults_for(of, until));
                    }
                    if state.step(of) && state.faults > 0 && state.now < until {
                        open.extend(TO_LETTERS.iter().map(|&fault| {
                            let mut next = state.clone();
                            next.befall(of, fault);
                            next
                        }));
                    }
                }
                Next::Time(at) if at <= end => state.now = at,
                Next::Time(_) | Next::Nothing => {
                    seen.ends += 1;
                    state.now = state.now.max(end);
                    state.judge_the_end();
                    break;
                }
            }
        }
    }
    seen.choices = known.len();
    seen
}

/// More of them are played by `tests/deep`.
#[test]
fn two_candidates_and_a_fault() {
    println!(
        "{:?}",
        explore(Bound { candidates: 2, faults: 1, window: 2_000, priorities: NO_RANKS })
    );
}

#[test]
fn three_candidates_and_a_fault_at_the_start() {
    println!("{:?}", explore(Bound { candidates: 3, faults: 1, window: 50, priorities: NO_RANKS }));
}

#[test]
fn two_candidates_of_different_priorities_and_a_fault() {
    println!(
        "{:?}",
        explore(Bound { candidates: 2, faults: 1, window: 500, priorities: [50, 200, 0] })
    );
}

#[test]
fn an_observer_before_two_others_and_a_fault_at_the_start() {
    println!(
        "{:?}",
        explore(Bound { candidates: 3, faults: 1, window: 50, priorities: [0, 50, 100] })
    );
}
