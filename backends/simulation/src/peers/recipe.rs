//! A candidate on a store: its session, and the recipe by which it queues or races.

use std::time::Duration;

use super::steps::{Herd, Queue, Step};
use super::store::{Ask, Reply, Store, StoreMessage, StoreTimer};
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// The behaviour of candidates on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// `ZooKeeper`'s queue: each candidate watches the one before it.
    Queue,
    /// The naive herd: all candidates watch the leader.
    Herd,
}

/// An election on a [`Store`], which is the node after the candidates.
///
/// A client pings after each third of the session's time-out. It gives up leadership when it hears that its session is
/// over. It also does so when the store has been silent for two thirds of the time-out. Curator's `LeaderLatch` does
/// the same when its connection is suspended. So two lead if a client stands still, or has a clock that is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipes {
    /// The recipe.
    pub recipe: Recipe,
    /// The time without a request after which the store ends a session.
    pub session_timeout: Duration,
}

impl Protocol for Recipes {
    type Node = RecipesNode;

    fn servers(&self) -> usize {
        1
    }

    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        Senseless::if_too_short("a third of the session's time-out", self.session_timeout / 3)
    }

    fn nodes(&self, candidates: usize, _chance: &mut Chance) -> Vec<RecipesNode> {
        let candidate = |_| RecipesNode::Candidate(Candidate::new(*self));
        let store = RecipesNode::Store(Store::new(self.session_timeout));
        (0..candidates).map(candidate).chain([store]).collect()
    }
}

#[derive(Clone, Debug)]
enum State {
    Queue(Queue),
    Herd,
}

impl State {
    fn new(recipe: Recipe) -> Self {
        match recipe {
            Recipe::Queue => Self::Queue(Queue::default()),
            Recipe::Herd => Self::Herd,
        }
    }

    const fn enter(&self) -> Ask {
        match self {
            Self::Queue(_) => Queue::enter(),
            Self::Herd => Herd::enter(),
        }
    }

    const fn recheck(&self) -> Ask {
        match self {
            Self::Queue(_) => Queue::recheck(),
            Self::Herd => Herd::enter(),
        }
    }

    fn hear(&mut self, reply: &Reply) -> Step {
        match self {
            Self::Queue(queue) => queue.hear(reply),
            Self::Herd => Herd::hear(reply),
        }
    }
}

/// A candidate with its session.
#[derive(Clone, Debug)]
pub struct Candidate {
    rules: Recipes,
    state: State,
    session: Option<u64>,
    /// The number of the request that waits for an answer, and the request.
    asked: Option<(u64, Ask)>,
    requests: u64,
    watched: Option<u64>,
    leads: Option<u64>,
    /// Whether the store has been silent for too long.
    is_suspended: bool,
}

type In<'a> = Context<'a, RecipesNode>;

impl Candidate {
    fn new(rules: Recipes) -> Self {
        Self {
            rules,
            state: State::new(rules.recipe),
            session: None,
            asked: None,
            requests: 0,
            watched: None,
            leads: None,
            is_suspended: false,
        }
    }

    /// Returns the store's node, which comes after the candidates.
    fn store(context: &In<'_>) -> NodeId {
        context.candidates()
    }

    fn connect(&mut self, context: &mut In<'_>) {
        let requests = self.requests;
        *self = Self { requests, ..Self::new(self.rules) };
        context.cancel(StoreTimer::Silence);
        context.send(Self::store(context), StoreMessage::Connect);
        context.set(StoreTimer::Ping, self.rules.session_timeout / 3);
    }

    fn ask(&mut self, ask: Ask, context: &mut In<'_>) {
        self.requests += 1;
        self.asked = Some((self.requests, ask));
        self.send(self.requests, ask, context);
    }

    fn send(&self, number: u64, ask: Ask, context: &mut In<'_>) {
        if let Some(session) = self.session {
            context.send(Self::store(context), StoreMessage::Ask(session, number, ask));
        }
    }

    /// Handles a sign of the store about this session.
    fn hear(&mut self, context: &mut In<'_>) {
        context.set(StoreTimer::Silence, self.rules.session_timeout * 2 / 3);
        if std::mem::take(&mut self.is_suspended) {
            self.ask(self.state.recheck(), context);
        }
    }

    fn answered(&mut self, number: u64, reply: &Reply, context: &mut In<'_>) {
        self.hear(context);
        if let Reply::Pong(gone) = reply {
            self.gone(*gone, context);
            return;
        }
        // A second answer means that the request was sent twice.
        let Some((_, ask)) = self.asked.take_if(|(asked, _)| *asked == number) else { return };
        if let (Ask::Watch(entry), Reply::Watching(true)) = (ask, reply) {
            self.watched = Some(entry);
        }
        match self.state.hear(reply) {
            Step::Ask(ask) => self.ask(ask, context),
            Step::Lead(entry) => self.leads = Some(entry),
            Step::Wait => {}
        }
    }

    fn gone(&mut self, entry: Option<u64>, context: &mut In<'_>) {
        if entry.is_some() && self.watched == entry {
            self.watched = None;
            self.ask(self.state.recheck(), context);
        }
    }

    fn receive(&mut self, message: &StoreMessage, context: &mut In<'_>) {
        match message {
            StoreMessage::Connected(session) if self.session.is_none() => {
                self.session = Some(*session);
                self.hear(context);
                self.ask(self.state.enter(), context);
            }
            StoreMessage::Reply(session, number, reply) if self.session == Some(*session) => {
                self.answered(*number, reply, context);
            }
            StoreMessage::Expired(session) if self.session == Some(*session) => {
                self.connect(context);
            }
            StoreMessage::Event(entry) => self.gone(Some(*entry), context),
            StoreMessage::Connected(_)
            | StoreMessage::Reply(..)
            | StoreMessage::Expired(_)
            | StoreMessage::Connect
            | StoreMessage::Ask(..) => {}
        }
    }

    fn expire(&mut self, timer: StoreTimer, context: &mut In<'_>) {
        match timer {
            StoreTimer::Ping if self.session.is_none() => self.connect(context),
            StoreTimer::Ping => {
                let (number, ask) = self.asked.unwrap_or((0, Ask::Ping(self.watched)));
                self.send(number, ask, context);
                context.set(StoreTimer::Ping, self.rules.session_timeout / 3);
            }
            StoreTimer::Silence => {
                self.leads = None;
                self.is_suspended = true;
            }
            StoreTimer::Session(_) => {}
        }
    }
}

/// A node of [`Recipes`].
#[derive(Clone, Debug)]
pub enum RecipesNode {
    /// A candidate.
    Candidate(Candidate),
    /// The store that they use.
    Store(Store),
}

impl Node for RecipesNode {
    type Message = StoreMessage;
    type Timer = StoreTimer;

    fn start(&mut self, context: &mut In<'_>) {
        if let Self::Candidate(candidate) = self {
            candidate.connect(context);
        }
    }

    fn restart(&mut self, context: &mut In<'_>) {
        match self {
            Self::Candidate(candidate) => candidate.connect(context),
            Self::Store(store) => store.restart(context),
        }
    }

    fn receive(&mut self, from: NodeId, message: StoreMessage, context: &mut In<'_>) {
        match self {
            Self::Candidate(candidate) => candidate.receive(&message, context),
            Self::Store(store) => store.receive(from, &message, context),
        }
    }

    fn expire(&mut self, timer: StoreTimer, context: &mut In<'_>) {
        match (self, timer) {
            (Self::Candidate(candidate), timer) => candidate.expire(timer, context),
            (Self::Store(store), StoreTimer::Session(session)) => store.expire(session, context),
            (Self::Store(_), StoreTimer::Ping | StoreTimer::Silence) => {}
        }
    }

    /// Only the store knows whether the leader lives, so the candidate asks there again.
    fn suspect(&mut self, context: &mut In<'_>) {
        if let Self::Candidate(candidate) = self
            && candidate.session.is_some()
            && candidate.leads.is_none()
        {
            candidate.ask(candidate.state.recheck(), context);
        }
    }

    /// The number of its entry, which rises with each entry.
    fn leads(&self) -> Option<u64> {
        match self {
            Self::Candidate(candidate) => candidate.leads,
            Self::Store(_) => None,
        }
    }

    fn kind(message: &StoreMessage) -> &'static str {
        match message {
            StoreMessage::Connect | StoreMessage::Connected(_) | StoreMessage::Expired(_) => {
                "session"
            }
            StoreMessage::Ask(_, _, Ask::Ping(_)) | StoreMessage::Reply(_, _, Reply::Pong(_)) => {
                "ping"
            }
            StoreMessage::Ask(..) => "request",
            StoreMessage::Reply(..) => "answer",
            StoreMessage::Event(_) => "watch event",
        }
    }
}
