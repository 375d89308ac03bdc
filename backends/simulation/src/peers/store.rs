//! A small model of `ZooKeeper`: sessions, nodes that die with their session, and watches.
//!
//! Hunt, Konar, Junqueira and Reed, "ZooKeeper: Wait-free coordination for Internet-scale systems", USENIX ATC 2010.
//!
//! The store is one node of the world, and never forgets an answer. It ends a session after the time-out without a
//! message, by its own clock and to the nanosecond. A real store checks at whole ticks. All entries are in one folder
//! and have sequence numbers, because the recipes need no more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{Context, Node, NodeId};

/// The messages between clients and store. Each request has the client's session and its own number.
#[derive(Clone, Debug)]
pub enum StoreMessage {
    /// A client's request for a session.
    Connect,
    /// The client's new session.
    Connected(u64),
    /// A request.
    Ask(u64, u64, Ask),
    /// The answer to a request.
    Reply(u64, u64, Reply),
    /// The session is over.
    Expired(u64),
    /// The entry with this number, which the client watches, is gone.
    Event(u64),
}

/// A client's request to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Keeps the session alive, and asks whether this entry is still there. TCP would repeat lost messages. Here a ping
    /// makes up for them.
    Ping(Option<u64>),
    /// Creates an entry. If the client has one already, the answer names that one, as with Curator's protection.
    Create {
        /// Whether to create it only if there is no other entry.
        alone: bool,
    },
    /// Lists the numbers of all entries.
    List,
    /// Asks for an event when the entry with this number is gone.
    Watch(u64),
}

/// The store's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer to a ping, with the entry if that is gone.
    Pong(Option<u64>),
    /// The number of the new entry, or `None` if there is another one.
    Created(Option<u64>),
    /// All entries, the oldest first.
    Listed(Vec<u64>),
    /// Whether there is such an entry to watch.
    Watching(bool),
}

/// The timers of store and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTimer {
    /// The store's: the end of this session.
    Session(u64),
    /// A client's: the wait for its next ping.
    Ping,
    /// A client's: the wait for a sign of the store.
    Silence,
}

/// The store.
#[derive(Clone, Debug)]
pub struct Store {
    timeout: Duration,
    /// The living sessions with their clients.
    sessions: BTreeMap<u64, NodeId>,
    /// The sessions of the entries, by sequence number.
    entries: BTreeMap<u64, u64>,
    /// The sessions that watch each entry, by its number.
    watches: BTreeMap<u64, BTreeSet<u64>>,
    /// The last number given to a session or an entry.
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

    /// Restarts the store. Each session has its whole time-out again, as after a change of the store's leader. Watches
    /// belonged to the connections, and are gone.
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

    /// Ends a session with its entry and its watches.
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
