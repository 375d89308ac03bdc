//! A candidate on a store: its session, and the recipe by which it queues or runs.

use std::time::Duration;

use super::steps::{Herd, Queue, Step};
use super::store::{Ask, Reply, Store, StoreMessage, StoreTimer};
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// What candidates do on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// `ZooKeeper`'s queue: each watches the one before it.
    Queue,
    /// The naive herd: all watch the leader.
    Herd,
}

/// An election on a [`Store`], which is the node behind the candidates.
///
/// A client pings after each third of the session's time-out. It gives up leadership where nothing has come from the store
/// for two thirds of it, as Curator's `LeaderLatch` does when its connection is suspended, or when it hears that the session
/// is over. So two lead if a client stands still, or has a clock that is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipes {
    /// What candidates do.
    pub recipe: Recipe,
    /// After how long without a request the store ends a session.
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

    const fn look(&self) -> Ask {
        match self {
            Self::Queue(_) => Queue::look(),
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
    /// The request that waits for its answer, and its number.
    asked: Option<(u64, Ask)>,
    requests: u64,
    watched: Option<u64>,
    leads: Option<u64>,
    /// Nothing has come from the store for too long.
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

    /// The store is the node behind the candidates.
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

    /// Something has come from the store about our session.
    fn hear(&mut self, context: &mut In<'_>) {
        context.set(StoreTimer::Silence, self.rules.session_timeout * 2 / 3);
        if std::mem::take(&mut self.is_suspended) {
            self.ask(self.state.look(), context);
        }
    }

    fn answered(&mut self, number: u64, reply: &Reply, context: &mut In<'_>) {
        self.hear(context);
        if let Reply::Pong(gone) = reply {
            self.gone(*gone, context);
            return;
        }
        // What is answered twice was asked twice.
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
            self.ask(self.state.look(), context);
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
    /// One that wants to lead.
    Candidate(Candidate),
    /// What they meet on.
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

    /// Whether the leader lives is for the store to say: a candidate looks there again.
    fn suspect(&mut self, context: &mut In<'_>) {
        if let Self::Candidate(candidate) = self
            && candidate.session.is_some()
            && candidate.leads.is_none()
        {
            candidate.ask(candidate.state.look(), context);
        }
    }

    /// The number of its entry, which rises with each.
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
