//! This file runs elect as an election of the simulated world: its candidates, and the members of a store.

use std::time::Duration;

use elect_api::{Boottime, Candidate as Candidacy, Division};
use elect_simulation::replicas::{Member, Message, Replicas, Timer as MemberTimer};
use elect_simulation::{
    Blow, Chance, Context, Node as Simulated, NodeId, Process as Which, Protocol, Senseless,
};

use super::candidate::{Candidate, Process};
use super::kinds::{Kind, first_nonce};
use super::seat::{Seat, Told};
use super::setup::{Identity, Setup};

/// The uptime of a machine when a run begins.
const UP: Duration = Duration::from_secs(1000);
/// The time between the starts of two candidates.
const BETWEEN_STARTS: Duration = Duration::from_millis(100);
/// A stop without a known end.
const FOR_GOOD: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The election of elect on a store of this kind.
#[derive(Clone, Debug)]
pub struct Leases<K> {
    /// The kind of store.
    pub kind: K,
    /// The setup of each candidate.
    pub setup: Setup,
    /// The members of the store.
    pub replicas: Replicas,
}

impl<K: Kind> Protocol for Leases<K> {
    type Node = Node<K>;

    fn servers(&self) -> usize {
        self.replicas.members
    }

    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        self.replicas.check()
    }

    fn nodes(&self, candidates: usize, chance: &mut Chance) -> Vec<Node<K>> {
        // The seed serves the random numbers of the store's adapter, too.
        fastrand::seed(chance.below(u64::MAX));
        let player = |_| Node::Candidate(Box::new(Player::new(self, chance)));
        let players: Vec<Node<K>> = (0..candidates).map(player).collect();
        let state = self.kind.state(chance);
        let members = self.replicas.nodes(candidates, state);
        players
            .into_iter()
            .chain(members.into_iter().map(|it| Node::Member(Box::new(it))))
            .collect()
    }
}

/// A node of [`Leases`].
#[derive(Debug)]
pub enum Node<K: Kind> {
    /// A candidate.
    Candidate(Box<Player<K>>),
    /// A member of the store.
    Member(Box<Member<K::State>>),
}

/// The timer of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// The timer of a candidate: its next due time.
    Due,
    /// The timer of a member.
    Member(MemberTimer),
}

impl From<MemberTimer> for Timer {
    fn from(timer: MemberTimer) -> Self {
        Self::Member(timer)
    }
}

type In<'a, K> = Context<'a, Node<K>>;

/// A candidate on a machine of the world.
#[derive(Debug)]
pub struct Player<K: Kind> {
    kind: K,
    setup: Setup,
    seed: u64,
    members: usize,
    /// The number of the member that it asks, from 0.
    member: usize,
    starts: u64,
    /// The candidate; `None` before it starts.
    candidate: Option<Candidate<K::Seat>>,
    /// True if it starts again once all of its processes are gone.
    is_to_restart: bool,
}

impl<K: Kind> Player<K> {
    fn new(leases: &Leases<K>, chance: &mut Chance) -> Self {
        let members = leases.replicas.members;
        Self {
            kind: leases.kind.clone(),
            setup: leases.setup.clone(),
            seed: chance.below(u64::MAX),
            members,
            member: usize::try_from(chance.below(members as u64)).unwrap_or_default(),
            starts: 0,
            candidate: None,
            is_to_restart: false,
        }
    }

    fn now(context: &In<'_, K>) -> Boottime {
        Boottime::from_boot(UP + context.now())
    }

    /// Starts the candidate. A lease that leaves no time was refused earlier, so the start does not fail.
    fn begin(&mut self, context: &mut In<'_, K>) {
        let id = (context.me() + 1).to_string();
        let nonce = first_nonce(context.me(), self.starts);
        let seed = self.seed.wrapping_add(self.starts);
        let candidate = candidacy(&id, Candidacy::USUAL_PRIORITY);
        let identity = Identity { id: &id, priority: candidate.priority, seed };
        let seat = self.kind.seat(candidate, &self.setup, nonce);
        self.starts += 1;
        self.candidate = Candidate::new(identity, seat, None, &self.setup, Self::now(context)).ok();
    }

    /// Does everything that is due.
    fn act(&mut self, context: &mut In<'_, K>) {
        let now = Self::now(context);
        if self.candidate.is_none() {
            self.begin(context);
        }
        let Some(candidate) = &mut self.candidate else { return };
        while candidate.step(now) {}
        if std::mem::take(&mut candidate.has_given_up) {
            self.member = (self.member + 1) % self.members;
        }
        let member = context.candidates() + self.member;
        for letter in candidate.letters.drain(..) {
            context.send(member, Message::Ask(letter));
        }
        if self.is_to_restart && is_gone(candidate) {
            self.is_to_restart = false;
            self.begin(context);
            return self.act(context);
        }
        match candidate.next(now) {
            Some(at) => context.set(Timer::Due, at.since(now)),
            None => context.cancel(Timer::Due),
        }
    }

    fn hear(&mut self, told: Told<<K::Seat as Seat>::Reply>, context: &mut In<'_, K>) {
        let now = Self::now(context);
        if let Some(candidate) = &mut self.candidate {
            match told {
                Told::Answer(call, reply) => candidate.deliver(call, now, reply),
                Told::Woken(nonce) => candidate.wake(nonce),
            }
            self.act(context);
        }
    }

    fn strike(&mut self, blow: Blow, which: Which, context: &mut In<'_, K>) {
        let now = Self::now(context);
        let Some(candidate) = &mut self.candidate else { return };
        let (wrapper, guardian) = (which != Which::Guardian, which != Which::Wrapper);
        match blow {
            Blow::Kill => {
                if guardian {
                    candidate.kill_guardian(now);
                }
                if wrapper {
                    candidate.kill_wrapper();
                }
            }
            Blow::Pause => {
                let hit = [(wrapper, &mut candidate.wrapper), (guardian, &mut candidate.guardian)];
                for (_, process) in hit.into_iter().filter(|(is_hit, _)| *is_hit) {
                    if *process != Process::Dead {
                        *process = Process::StoppedUntil(now + FOR_GOOD);
                    }
                }
            }
            Blow::Resume => {
                for process in [&mut candidate.wrapper, &mut candidate.guardian] {
                    if matches!(process, Process::StoppedUntil(_)) {
                        *process = Process::Runs;
                    }
                }
            }
            Blow::Restart => self.is_to_restart = candidate.wrapper == Process::Dead,
        }
        self.act(context);
    }
}

/// Returns the description of a simulated candidate for the store.
pub fn candidacy(id: &str, priority: u32) -> Candidacy {
    Candidacy {
        id: id.to_owned(),
        host: "simulated".to_owned(),
        pid: 1,
        command: String::new(),
        containment: String::new(),
        priority,
        division: Division::Whole,
        work: None,
    }
}

fn is_gone<S: Seat>(candidate: &Candidate<S>) -> bool {
    candidate.tree.is_none() && candidate.guardian == Process::Dead
}

impl<K: Kind> Simulated for Node<K> {
    type Message = Message<K::State>;
    type Timer = Timer;

    fn start(&mut self, context: &mut In<'_, K>) {
        match self {
            Self::Candidate(_) => {
                let before = BETWEEN_STARTS * u32::try_from(context.me()).unwrap_or(u32::MAX);
                let more = context.chance().between(Duration::ZERO, BETWEEN_STARTS / 2);
                context.set(Timer::Due, before + more);
            }
            Self::Member(member) => member.start(context),
        }
    }

    fn restart(&mut self, context: &mut In<'_, K>) {
        match self {
            Self::Candidate(player) => {
                player.candidate = None;
                player.act(context);
            }
            Self::Member(member) => member.restart(context),
        }
    }

    fn receive(&mut self, from: NodeId, message: Message<K::State>, context: &mut In<'_, K>) {
        match (self, message) {
            (Self::Candidate(player), Message::Reply(told)) => player.hear(told, context),
            (Self::Candidate(_), _) => {}
            (Self::Member(member), message) => member.receive(from, message, context),
        }
    }

    fn expire(&mut self, timer: Timer, context: &mut In<'_, K>) {
        match (self, timer) {
            (Self::Candidate(player), Timer::Due) => player.act(context),
            (Self::Member(member), Timer::Member(timer)) => member.expire(timer, context),
            (Self::Candidate(_), Timer::Member(_)) | (Self::Member(_), Timer::Due) => {}
        }
    }

    /// Makes a member suspect its leader. A candidate ignores this, because it trusts only the store.
    fn suspect(&mut self, context: &mut In<'_, K>) {
        if let Self::Member(member) = self {
            member.suspect(context);
        }
    }

    /// Returns the token of the running command.
    fn leads(&self) -> Option<u64> {
        match self {
            Self::Candidate(player) => Some(player.candidate.as_ref()?.tree?.token.get()),
            Self::Member(_) => None,
        }
    }

    fn serves(&self) -> Option<u64> {
        match self {
            Self::Candidate(_) => None,
            Self::Member(member) => member.serves(),
        }
    }

    fn strike(&mut self, blow: Blow, which: Which, context: &mut In<'_, K>) -> bool {
        let Self::Candidate(player) = self else { return false };
        player.strike(blow, which, context);
        true
    }

    fn kind(message: &Message<K::State>) -> &'static str {
        message.kind()
    }
}
