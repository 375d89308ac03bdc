//! A member of a store. It passes requests on to the leader. If it leads, it takes them once a majority has confirmed
//! that.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use super::{Message, State, Timer};
use crate::chance::Chance;
use crate::peers::elector::{self, Elector};
use crate::{Host, NodeId};

/// The state that a majority has on its disks.
#[derive(Debug)]
pub(super) struct Committed<S> {
    state: S,
    /// The last term that has begun.
    term: u64,
    /// The member that each client asked last.
    asked: BTreeMap<NodeId, NodeId>,
}

impl<S: State> Committed<S> {
    /// Creates the state in term 1, which began before the run.
    pub(super) const fn new(state: S) -> Self {
        Self { state, term: 1, asked: BTreeMap::new() }
    }

    /// Returns whether a leader of this term may still act. The first call with a later term begins that term.
    fn is_open_to(&mut self, term: u64, now: Duration) -> bool {
        if term > self.term {
            self.term = term;
            self.state.begin_term(now);
        }
        term == self.term
    }
}

/// A client's request, and the member that it came to.
#[derive(Debug)]
struct Request<A> {
    client: NodeId,
    member: NodeId,
    ask: A,
}

/// A member of a store. The node that it belongs to passes on to it what happens to the node.
#[derive(Debug)]
pub struct Member<S: State> {
    elector: Elector,
    committed: Rc<RefCell<Committed<S>>>,
    /// The term in which it led at its last look.
    led: Option<u64>,
    /// Whether this term has begun.
    has_begun: bool,
    /// The work to do once a majority has answered the heartbeat with this number: a request, or only what is due.
    waiting: VecDeque<(u64, Option<Request<S::Ask>>)>,
}

type Out<'a, S> = dyn Host<Message<S>, Timer> + 'a;

/// The view of the world for the elections among members.
struct Ballot<'a, 'b, S: State>(&'a mut Out<'b, S>);

impl<S: State> Host<elector::Message, elector::Timer> for Ballot<'_, '_, S> {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn chance(&mut self) -> &mut Chance {
        self.0.chance()
    }

    fn send(&mut self, to: NodeId, message: elector::Message) {
        self.0.send(to, Message::Election(message));
    }

    fn set(&mut self, timer: elector::Timer, after: Duration) {
        self.0.set(Timer::Election(timer), after);
    }

    fn cancel(&mut self, timer: elector::Timer) {
        self.0.cancel(Timer::Election(timer));
    }
}

impl<S: State> Member<S> {
    pub(super) fn new(elector: Elector, committed: Rc<RefCell<Committed<S>>>) -> Self {
        let led = elector.leads();
        Self { elector, committed, led, has_begun: led.is_some(), waiting: VecDeque::new() }
    }

    /// Starts, at the beginning of the run.
    pub fn start(&mut self, host: &mut Out<'_, S>) {
        self.elector.start(&mut Ballot(host));
    }

    /// Starts again after a kill.
    pub fn restart(&mut self, host: &mut Out<'_, S>) {
        self.led = None;
        self.waiting.clear();
        self.elector.restart(&mut Ballot(host));
        if self.elector.is_alone() {
            self.elector.stand(&mut Ballot(host));
        }
        self.go_on(host);
    }

    /// Handles a message from a client or a member.
    pub fn receive(&mut self, from: NodeId, message: Message<S>, host: &mut Out<'_, S>) {
        let me = self.elector.me();
        match message {
            Message::Ask(ask) => {
                if let Some(leader) = self.elector.leader() {
                    host.send(leader, Message::Forward(from, ask));
                } else {
                    self.await_majority(Some(Request { client: from, member: me, ask }), host);
                }
            }
            Message::Forward(client, ask) => {
                self.await_majority(Some(Request { client, member: from, ask }), host);
            }
            Message::Back(client, reply) => host.send(client, Message::Reply(reply)),
            Message::Election(message) => {
                self.elector.receive(from, message, &mut Ballot(host));
                self.go_on(host);
            }
            Message::Reply(_) => {}
        }
    }

    /// Handles the end of a timer.
    pub fn expire(&mut self, timer: Timer, host: &mut Out<'_, S>) {
        match timer {
            Timer::Election(timer) => {
                self.elector.expire(timer, &mut Ballot(host));
                self.go_on(host);
            }
            Timer::End => self.await_majority(None, host),
        }
    }

    /// Makes it suspect the store's leader.
    pub fn suspect(&mut self, host: &mut Out<'_, S>) {
        self.elector.suspect(&mut Ballot(host));
        self.go_on(host);
    }

    /// Returns the term in which it serves: it believes that it leads, and a majority has let the term begin.
    pub fn serves(&self) -> Option<u64> {
        self.led.filter(|_| self.has_begun)
    }

    /// Has a majority confirm that it leads. A member that does not lead, and knows no leader, drops the request.
    fn await_majority(&mut self, request: Option<Request<S::Ask>>, host: &mut Out<'_, S>) {
        if self.led.is_some() {
            let round = self.elector.probe(&mut Ballot(host));
            self.waiting.push_back((round, request));
            self.go_on(host);
        }
    }

    /// Does all that a majority has confirmed by now. Requests that wait when it stops leading are lost.
    fn go_on(&mut self, host: &mut Out<'_, S>) {
        let leads = self.elector.leads();
        if leads != self.led {
            self.led = leads;
            self.has_begun = false;
            self.waiting.clear();
            host.cancel(Timer::End);
            // The first heartbeat of the term lets the term begin.
            self.waiting.extend(leads.map(|_| (self.elector.round(), None)));
        }
        let (Some(term), Some(confirmed)) = (leads, self.elector.confirmed()) else { return };
        while self.waiting.front().is_some_and(|(round, _)| *round <= confirmed) {
            if let Some((_, request)) = self.waiting.pop_front() {
                self.perform(term, request, host);
            }
        }
    }

    /// Does all that is due, and carries out a request.
    fn perform(&mut self, term: u64, request: Option<Request<S::Ask>>, host: &mut Out<'_, S>) {
        let (me, now) = (self.elector.me(), host.now());
        let mut committed = self.committed.borrow_mut();
        if !committed.is_open_to(term, now) {
            return;
        }
        let Committed { state, asked, .. } = &mut *committed;
        self.has_begun = true;
        let mut replies = state.advance(now);
        if let Some(Request { client, member, ask }) = request {
            asked.insert(client, member);
            replies.extend(state.apply(now, client, &ask));
        }
        for (client, reply) in replies {
            match asked.get(&client) {
                Some(member) if *member != me => host.send(*member, Message::Back(client, reply)),
                _ => host.send(client, Message::Reply(reply)),
            }
        }
        match state.next_end() {
            Some(end) => host.set(Timer::End, end.saturating_sub(now)),
            None => host.cancel(Timer::End),
        }
    }
}
