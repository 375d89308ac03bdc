//! A small model of `ZooKeeper`: sessions, nodes that die with their session, and watches.
//!
//! Hunt, Konar, Junqueira and Reed, "ZooKeeper: Wait-free coordination for Internet-scale systems", USENIX ATC 2010.
//!
//! It is one node of the world: what it has said it never forgets. A session is over once nothing has come of it for its
//! time-out, by the store's clock and to the nanosecond; a real store looks at whole ticks. All entries are in one folder
//! and have sequence numbers, as the recipes need no more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{Context, Node, NodeId};

/// What clients and store send each other. Each request has the client's session and a number of its own.
#[derive(Clone, Debug)]
pub enum StoreMessage {
    /// A client wants a session.
    Connect,
    /// It has this one.
    Connected(u64),
    /// A request.
    Ask(u64, u64, Ask),
    /// The answer to it.
    Reply(u64, u64, Reply),
    /// The session is over.
    Expired(u64),
    /// A watch has seen that the entry of this number is gone.
    Event(u64),
}

/// What a client asks of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// That the session lives, and that it still hears of this entry. TCP repeats what gets lost; here a ping does.
    Ping(Option<u64>),
    /// An entry of its own. Where it has one, it is told of that, as by Curator's protection.
    Create {
        /// Only if nobody else has one.
        alone: bool,
    },
    /// The numbers of all entries.
    List,
    /// To be told when the entry of this number is gone.
    Watch(u64),
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To a ping: the entry that it asked about is gone.
    Pong(Option<u64>),
    /// The entry has this number; `None` if another one is there.
    Created(Option<u64>),
    /// All entries, the oldest first.
    Listed(Vec<u64>),
    /// Whether there is such an entry to watch.
    Watching(bool),
}

/// What store and clients wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTimer {
    /// The store: that this session ends.
    Session(u64),
    /// A client: for the time of its next ping.
    Ping,
    /// A client: for a sign of the store.
    Silence,
}

/// The store.
#[derive(Clone, Debug)]
pub struct Store {
    timeout: Duration,
    /// Those that are alive, with their clients.
    sessions: BTreeMap<u64, NodeId>,
    /// By sequence number, with their sessions.
    entries: BTreeMap<u64, u64>,
    /// Which sessions watch the entry of which number.
    watches: BTreeMap<u64, BTreeSet<u64>>,
    /// The last number that was given, to a session or to an entry.
    last: u64,
}

impl Store {
    pub(super) const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            sessions: BTreeMap::new(),
            entries: BTreeMap::new(),
            watches: BTreeMap::new(),
            last: 0,
        }
    }

    /// After a restart each session has its whole time-out again, as after a change of the store's leader. Watches were the
    /// connections', and are gone.
    pub(super) fn restart<N: Node<Message = StoreMessage, Timer = StoreTimer>>(
        &mut self,
        context: &mut Context<'_, N>,
    ) {
        self.watches.clear();
        for &session in self.sessions.keys() {
            context.set(StoreTimer::Session(session), self.timeout);
        }
    }

    pub(super) fn receive<N: Node<Message = StoreMessage, Timer = StoreTimer>>(
        &mut self,
        from: NodeId,
        message: &StoreMessage,
        context: &mut Context<'_, N>,
    ) {
        match message {
            StoreMessage::Connect => {
                self.last += 1;
                self.sessions.insert(self.last, from);
                context.set(StoreTimer::Session(self.last), self.timeout);
                context.send(from, StoreMessage::Connected(self.last));
            }
            StoreMessage::Ask(session, number, ask) => {
                let answer = if self.sessions.contains_key(session) {
                    context.set(StoreTimer::Session(*session), self.timeout);
                    StoreMessage::Reply(*session, *number, self.answer(*session, *ask))
                } else {
                    StoreMessage::Expired(*session)
                };
                context.send(from, answer);
            }
            StoreMessage::Connected(_)
            | StoreMessage::Reply(..)
            | StoreMessage::Expired(_)
            | StoreMessage::Event(_) => {}
        }
    }

    /// The session is over, and with it its entry and its watches.
    pub(super) fn expire<N: Node<Message = StoreMessage, Timer = StoreTimer>>(
        &mut self,
        session: u64,
        context: &mut Context<'_, N>,
    ) {
        self.sessions.remove(&session);
        for watchers in self.watches.values_mut() {
            watchers.remove(&session);
        }
        let own = self.entries.iter().find(|(_, owner)| **owner == session);
        let Some(number) = own.map(|(number, _)| *number) else { return };
        self.entries.remove(&number);
        for watcher in self.watches.remove(&number).unwrap_or_default() {
            if let Some(client) = self.sessions.get(&watcher) {
                context.send(*client, StoreMessage::Event(number));
            }
        }
    }

    fn answer(&mut self, session: u64, ask: Ask) -> Reply {
        match ask {
            Ask::Ping(watched) => {
                Reply::Pong(watched.filter(|number| !self.entries.contains_key(number)))
            }
            Ask::Create { alone } => Reply::Created(self.create(session, alone)),
            Ask::List => Reply::Listed(self.entries.keys().copied().collect()),
            Ask::Watch(number) => {
                let is_there = self.entries.contains_key(&number);
                if is_there {
                    self.watches.entry(number).or_default().insert(session);
                }
                Reply::Watching(is_there)
            }
        }
    }

    fn create(&mut self, session: u64, alone: bool) -> Option<u64> {
        let own = self.entries.iter().find(|(_, owner)| **owner == session);
        if let Some((number, _)) = own {
            return Some(*number);
        }
        if alone && !self.entries.is_empty() {
            return None;
        }
        self.last += 1;
        self.entries.insert(self.last, session);
        Some(self.last)
    }
}
