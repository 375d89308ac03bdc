//! A store that is small enough to understand at once, and its clients.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elect_simulation::replicas::{Member, Message, Replicas, State, Timer};
use elect_simulation::{
    Chance, Context, History, Node, NodeId, Protocol, Scenario, Senseless, Trial,
};

use crate::ms;

/// A sum that all clients add to, and a lease for each client.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    sum: u64,
    /// The last number that each client has added for.
    added: BTreeMap<NodeId, u64>,
    /// The length and the end of each lease.
    leases: BTreeMap<NodeId, (Duration, Duration)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Ask {
    /// Adds one, unless that was done for this number of the client, or for a greater one.
    Add(u64),
    /// Grants a lease of this length.
    Grant(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Added { number: u64, sum: u64 },
    Granted,
    Ended,
}

impl State for Table {
    type Ask = Ask;
    type Reply = Reply;

    fn apply(&mut self, now: Duration, client: NodeId, ask: &Ask) -> Vec<(NodeId, Reply)> {
        let reply = match *ask {
            Ask::Add(number) => {
                let added = self.added.entry(client).or_default();
                self.sum += u64::from(*added < number);
                *added = number.max(*added);
                Reply::Added { number, sum: self.sum }
            }
            Ask::Grant(length) => {
                self.leases.insert(client, (length, now + length));
                Reply::Granted
            }
        };
        vec![(client, reply)]
    }

    fn next_end(&self) -> Option<Duration> {
        self.leases.values().map(|(_, end)| *end).min()
    }

    fn advance(&mut self, now: Duration) -> Vec<(NodeId, Reply)> {
        let due = self.leases.iter().filter(|(_, (_, end))| *end <= now);
        let ended = due.map(|(client, _)| (*client, Reply::Ended)).collect();
        self.leases.retain(|_, (_, end)| *end > now);
        ended
    }

    fn begin_term(&mut self, now: Duration) {
        for (length, end) in self.leases.values_mut() {
            *end = now + *length;
        }
    }

    fn ask_kind(_: &Ask) -> &'static str {
        "request"
    }

    fn reply_kind(_: &Reply) -> &'static str {
        "reply"
    }
}

/// The behaviour of a client.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// Adds each tenth of a second. Without an answer for half a second it asks the next of these members.
    Add(Vec<NodeId>),
    /// Asks this member once, at this time.
    Once(Duration, NodeId, Ask),
}

/// The messages that clients have heard: the time, the client, and the message.
pub(super) type Heard = Vec<(Duration, NodeId, Reply)>;

#[derive(Clone, Debug)]
pub(super) struct Client {
    plan: Plan,
    number: u64,
    /// The time since which the request with this number waits for its answer.
    asked: Option<Duration>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Client,
    Member(Timer),
}

impl From<Timer> for Wait {
    fn from(timer: Timer) -> Self {
        Self::Member(timer)
    }
}

#[derive(Debug)]
pub(super) enum Part {
    Client(Client),
    Member(Member<Table>),
}

type In<'a> = Context<'a, Part>;

impl Client {
    fn tick(&mut self, context: &mut In<'_>) {
        match &mut self.plan {
            Plan::Once(at, member, ask) => {
                if context.now() < *at {
                    context.set(Wait::Client, *at);
                } else {
                    context.send(*member, Message::Ask(*ask));
                }
            }
            Plan::Add(members) => {
                context.set(Wait::Client, ms(100));
                match self.asked {
                    Some(since) if context.now() < since + ms(500) => return,
                    Some(_) => members.rotate_left(1),
                    None => self.number += 1,
                }
                self.asked = Some(context.now());
                context.send(members[0], Message::Ask(Ask::Add(self.number)));
            }
        }
    }

    fn hear(&mut self, reply: Reply, context: &In<'_>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Plan::Add(_), Reply::Added { number, .. }) = (&self.plan, reply)
            && (number != self.number || self.asked.take().is_none())
        {
            return;
        }
        heard.push((context.now(), context.me(), reply));
    }
}

impl Node for Part {
    type Message = Message<Table>;
    type Timer = Wait;

    fn start(&mut self, context: &mut In<'_>) {
        match self {
            Self::Client(client) => client.tick(context),
            Self::Member(member) => member.start(context),
        }
    }

    fn restart(&mut self, context: &mut In<'_>) {
        match self {
            Self::Client(client) => client.tick(context),
            Self::Member(member) => member.restart(context),
        }
    }

    fn receive(&mut self, from: NodeId, message: Message<Table>, context: &mut In<'_>) {
        match (self, message) {
            (Self::Client(client), Message::Reply(reply)) => client.hear(reply, context),
            (Self::Client(_), _) => {}
            (Self::Member(member), message) => member.receive(from, message, context),
        }
    }

    fn expire(&mut self, timer: Wait, context: &mut In<'_>) {
        match (self, timer) {
            (Self::Client(client), _) => client.tick(context),
            (Self::Member(member), Wait::Member(timer)) => member.expire(timer, context),
            (Self::Member(_), Wait::Client) => {}
        }
    }

    fn suspect(&mut self, context: &mut In<'_>) {
        if let Self::Member(member) = self {
            member.suspect(context);
        }
    }

    fn leads(&self) -> Option<u64> {
        None
    }

    fn serves(&self) -> Option<u64> {
        match self {
            Self::Client(_) => None,
            Self::Member(member) => member.serves(),
        }
    }

    fn kind(message: &Message<Table>) -> &'static str {
        message.kind()
    }
}

/// Clients with these plans on such a store.
#[derive(Debug)]
pub(super) struct Shop {
    pub(super) replicas: Replicas,
    plans: Vec<Plan>,
    heard: Arc<Mutex<Heard>>,
}

impl Protocol for Shop {
    type Node = Part;

    fn servers(&self) -> usize {
        self.replicas.members
    }

    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        self.replicas.check()
    }

    fn nodes(&self, candidates: usize, _chance: &mut Chance) -> Vec<Part> {
        let client = |plan: &Plan| {
            let heard = Arc::clone(&self.heard);
            Part::Client(Client { plan: plan.clone(), number: 0, asked: None, heard })
        };
        let members = self.replicas.nodes(candidates, Table::default());
        self.plans.iter().map(client).chain(members.into_iter().map(Part::Member)).collect()
    }
}

impl Shop {
    pub(super) fn new(replicas: Replicas, plans: impl Into<Vec<Plan>>) -> Self {
        Self { replicas, plans: plans.into(), heard: Arc::default() }
    }

    /// Plays a run, and returns the messages that clients heard in it.
    pub(super) fn run(&self, scenario: &Scenario, seed: u64) -> (History, Heard) {
        let history = Trial::new(self, scenario).expect("it makes sense").run(seed);
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        (history, std::mem::take(&mut *heard))
    }
}
