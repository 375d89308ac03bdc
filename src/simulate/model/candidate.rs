//! This file models one candidate as a plain state: the real machine and the real ladder, and the connection between
//! them.

use std::collections::VecDeque;
use std::time::Duration;

use elect_api::{Boottime, Token};

use super::seat::{Asked, ERRANDS, Seat};
use super::setup::{Identity, Setup};
use crate::election::Call;
use crate::election::control::Control;
use crate::election::machine::{Command, Event, Machine, Rules};
use crate::election::timing::TooTight;
use crate::guard::ladder::{self, Action, Deadlines, Ladder};
use crate::guard::{Ended, Leftover, is_off};

/// The time that a process takes to die.
const DYING: Duration = Duration::from_millis(20);

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The process runs.
    Runs,
    /// The process is stopped until this time, and then runs on.
    StoppedUntil(Boottime),
    /// The process is dead.
    Dead,
}

impl Process {
    fn runs_at(self, now: Boottime) -> bool {
        match self {
            Self::Runs => true,
            Self::StoppedUntil(until) => until <= now,
            Self::Dead => false,
        }
    }
}

/// A command with all processes that it has started.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The token with which it was started.
    pub token: Token,
    /// The time at which it will be dead, once it is being killed.
    pub dies: Option<Boottime>,
}

/// A candidate: a wrapper with a machine, a guardian with a ladder, and a command.
#[derive(Clone, Debug)]
pub struct Candidate<S: Seat> {
    /// Its own priority.
    pub priority: u32,
    stops_within: Option<Duration>,
    machine: Machine,
    seat: S,
    ladder: Ladder,
    /// The process that runs the machine.
    pub wrapper: Process,
    /// The process that runs the ladder.
    pub guardian: Process,
    events: VecDeque<Event>,
    orders: VecDeque<ladder::Event>,
    token: Option<Token>,
    ticket: Option<S::Ticket>,
    dead_man: Option<Boottime>,
    /// The command, while any process of it lives.
    pub tree: Option<Tree>,
    /// True if the tree has ended and the guardian has not reaped it yet.
    unreaped: bool,
    /// Answers that have arrived or will arrive: the time, the number of the request, and the answer.
    inbox: VecDeque<(Boottime, u32, S::Reply)>,
    /// Requests to send, in this order.
    pub letters: Vec<Asked<S::Ask>>,
    /// True if the candidate has given up on an answer. Another member of the store may give one.
    pub has_given_up: bool,
    /// True if the candidacy is over.
    pub is_done: bool,
    /// A description of a broken promise.
    pub broken: Option<String>,
}

impl<S: Seat> Candidate<S> {
    /// Creates a candidate that begins at `now`. `control` is what it knows of the election's control cell.
    ///
    /// # Errors
    /// If the lease leaves no time to renew it.
    pub fn new(
        identity: Identity<'_>,
        seat: S,
        control: Option<Control>,
        setup: &Setup,
        now: Boottime,
    ) -> Result<Self, TooTight> {
        let Identity { id, priority, seed } = identity;
        let rules = Rules { insists: true, keeps_history: false, ..Rules::of(id, priority) };
        let timing = setup.timing()?;
        Ok(Self {
            priority,
            stops_within: setup.stops_within,
            machine: Machine::new(rules, timing, now, seed),
            seat,
            ladder: Ladder::new(Leftover::Wait, true),
            wrapper: Process::Runs,
            guardian: Process::Runs,
            events: control.map(Event::ControlRead).into_iter().collect(),
            orders: VecDeque::new(),
            token: None,
            ticket: None,
            dead_man: None,
            tree: None,
            unreaped: false,
            inbox: VecDeque::new(),
            letters: Vec::new(),
            has_given_up: false,
            is_done: false,
            broken: None,
        })
    }

    /// Returns the next time at which the candidate has something to do; `now` if it is due already.
    pub fn next(&self, now: Boottime) -> Option<Boottime> {
        let mut at = vec![self.dead_man, self.tree.and_then(|tree| tree.dies)];
        match self.wrapper {
            Process::Dead => {}
            Process::StoppedUntil(until) if until > now => at.push(Some(until)),
            _ if self.is_done => {}
            _ => {
                at.push(self.machine.next_tick());
                at.push(self.inbox.front().map(|(at, ..)| *at));
                at.push((!self.events.is_empty()).then_some(now));
            }
        }
        match self.guardian {
            Process::Dead => {}
            Process::StoppedUntil(until) if until > now => at.push(Some(until)),
            _ => {
                at.push(self.ladder.next_tick());
                let has_news = !self.orders.is_empty() || self.unreaped;
                at.push(has_news.then_some(now));
            }
        }
        at.into_iter().flatten().min().map(|at| at.max(now))
    }

    /// Does the first thing that is due, and returns whether there was one. The kernel comes first, then the wrapper,
    /// then the guardian.
    pub fn step(&mut self, now: Boottime) -> bool {
        if self.tree.and_then(|tree| tree.dies).is_some_and(|at| at <= now) {
            self.tree = None;
            self.unreaped = self.guardian != Process::Dead;
            if self.guardian == Process::Dead {
                self.events.push_back(Event::Empty);
            }
            return true;
        }
        if self.dead_man.is_some_and(|at| at <= now) {
            self.kill_guardian(now);
            return true;
        }
        self.step_of_wrapper(now) || self.step_of_guardian(now)
    }

    fn step_of_wrapper(&mut self, now: Boottime) -> bool {
        if !self.wrapper.runs_at(now) || self.is_done {
            return false;
        }
        self.wrapper = Process::Runs;
        let event = if self.inbox.front().is_some_and(|(at, ..)| *at <= now) {
            match self.hear(now) {
                Some(event) => event,
                None => return true,
            }
        } else if let Some(event) = self.events.pop_front() {
            event
        } else if self.machine.next_tick().is_some_and(|at| at <= now) {
            Event::Tick
        } else {
            return false;
        };
        self.tell_machine(now, event);
        true
    }

    /// Hands the first answer that has arrived to the seat.
    fn hear(&mut self, now: Boottime) -> Option<Event> {
        let (_, call, reply) = self.inbox.pop_front()?;
        let outcome = self.seat.hear(now, call, reply);
        self.attend_to_seat();
        outcome.map(Event::Replied)
    }

    /// Collects the requests of the seat, and any hint that it has received.
    fn attend_to_seat(&mut self) {
        self.letters.extend(self.seat.post());
        if self.seat.is_woken() {
            self.events.push_back(Event::Woken);
        }
    }

    fn tell_machine(&mut self, now: Boottime, event: Event) {
        let commands = self.machine.step(now, event);
        for command in commands {
            self.execute(now, &command);
        }
    }

    fn execute(&mut self, now: Boottime, command: &Command) {
        match *command {
            Command::Ask(ref call) => self.ask(now, call),
            Command::Abandon => {
                self.inbox.clear();
                self.seat.abandon();
                self.has_given_up = true;
            }
            Command::Start(token) => {
                self.token = Some(token);
                self.orders.push_back(ladder::Event::Start);
            }
            Command::Order(order, _) => self.orders.push_back(ladder::Event::Order(order)),
            Command::Sweep => {
                self.kill_tree(now);
                if self.tree.is_none() {
                    self.events.push_back(Event::Empty);
                }
            }
            Command::Finish(_) => {
                self.is_done = true;
                self.orders.push_back(ladder::Event::WrapperGone);
            }
            Command::Tell(_) | Command::WatchElection => {}
        }
    }

    fn ask(&mut self, now: Boottime, call: &Call) {
        if matches!(call, Call::Refresh) {
            self.ticket = self.seat.ticket().filter(|_| self.guardian != Process::Dead);
        }
        let known = self.seat.call(now, call);
        self.events.extend(known.map(Event::Replied));
        self.attend_to_seat();
    }

    /// Delivers the answer to the request with this number. It can be read from `at` on.
    pub fn deliver(&mut self, call: u32, at: Boottime, reply: S::Reply) {
        if call >= ERRANDS {
            self.seat.hear_errand(call, reply);
            self.letters.extend(self.seat.post());
        } else if self.wrapper != Process::Dead {
            self.inbox.push_back((at, call, reply));
        }
    }

    fn step_of_guardian(&mut self, now: Boottime) -> bool {
        if !self.guardian.runs_at(now) {
            return false;
        }
        self.guardian = Process::Runs;
        if self.unreaped {
            self.unreaped = false;
            self.events.push_back(Event::Ended(Ended::Exited(0)));
            self.order(now, ladder::Event::CommandEnded);
            self.order(now, ladder::Event::NoChildren);
        } else if self.ladder.next_tick().is_some_and(|at| at <= now) {
            self.order(now, ladder::Event::Tick);
        } else if let Some(order) = self.orders.pop_front() {
            self.order(now, order);
        } else {
            return false;
        }
        true
    }

    fn order(&mut self, now: Boottime, order: ladder::Event) {
        match self.ladder.step(now, order) {
            Some(Action::Spawn) => {
                self.set_dead_man();
                self.spawn(now);
            }
            Some(Action::Refuse) => {
                self.events.push_back(Event::NotStarted(libc::ETIME));
                self.order(now, ladder::Event::NotStarted);
            }
            Some(Action::Ask) => {
                self.events.push_back(Event::SoftPassed);
                if let Some(span) = self.stops_within {
                    self.end_tree(now + span);
                }
            }
            Some(Action::Rearm) => {
                self.set_dead_man();
            }
            Some(Action::KillAll | Action::KillOverdue)
                if self.tree.is_none() && !self.unreaped =>
            {
                self.order(now, ladder::Event::NoChildren);
            }
            Some(Action::KillAll | Action::KillOverdue) => {
                self.kill_tree(now);
                self.order(now, ladder::Event::Killed);
            }
            Some(Action::Signal { .. }) => self.kill_tree(now),
            Some(Action::Release) => {
                self.dead_man = None;
                self.events.push_back(Event::Empty);
            }
            Some(Action::Exit) => {
                self.guardian = Process::Dead;
                self.dead_man = None;
                if let Some(ticket) = self.ticket.take().filter(|_| !self.is_done) {
                    self.seat.redeem(ticket);
                    self.letters.extend(self.seat.post());
                }
            }
            // In this model a tree ends together with its command.
            Some(
                Action::AskOthers(_)
                | Action::AskYoung(_)
                | Action::AskLeftover
                | Action::NameLeftover,
            )
            | None => {}
        }
    }

    /// Sets the time at which the kernel kills the guardian, even if all processes are stopped.
    fn set_dead_man(&mut self) {
        self.dead_man = self.ladder.dead_man().filter(|_| !is_off!(DeadMan));
    }

    fn spawn(&mut self, now: Boottime) {
        if self.ladder.deadlines().is_none_or(|Deadlines { soft, .. }| soft <= now) {
            self.broken = Some("a command starts that has no grace left".into());
        }
        if let Some(token) = self.token {
            self.tree = Some(Tree { token, dies: None });
            self.events.push_back(Event::Started);
        }
    }

    fn kill_tree(&mut self, now: Boottime) {
        self.end_tree(now + DYING);
    }

    fn end_tree(&mut self, at: Boottime) {
        if let Some(tree) = &mut self.tree {
            tree.dies = Some(tree.dies.map_or(at, |known| known.min(at)));
        }
    }

    /// Kills the guardian, and its children with it.
    pub fn kill_guardian(&mut self, now: Boottime) {
        if self.guardian == Process::Dead {
            return;
        }
        (self.guardian, self.dead_man) = (Process::Dead, None);
        self.orders.clear();
        self.events.push_back(Event::GuardianDied);
        if self.unreaped {
            self.events.push_back(Event::Empty);
            self.unreaped = false;
        }
        self.kill_tree(now);
    }

    /// Kills the wrapper. The guardian then sees the end of the socket.
    pub fn kill_wrapper(&mut self) {
        if self.wrapper != Process::Dead {
            self.wrapper = Process::Dead;
            self.inbox.clear();
            self.orders.push_back(ladder::Event::WrapperGone);
        }
    }

    /// Ends the command, as if by itself.
    pub fn end_command(&mut self, now: Boottime) {
        self.kill_tree(now);
    }

    /// Delivers a hint of the store that the place of the entry with this nonce may have changed.
    pub fn wake(&mut self, nonce: u64) {
        if self.wrapper != Process::Dead {
            self.seat.wake(nonce);
            self.attend_to_seat();
        }
    }

    /// Sends SIGTERM to elect.
    pub fn tell_to_end(&mut self) {
        self.events.push_back(Event::Signal(libc::SIGTERM));
    }
}
