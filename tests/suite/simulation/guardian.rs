//! A simulated guardian: the real ladder, a made-up command, and a made-up kernel.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect::election::driver;
use elect::election::machine;
use elect::guard::ladder::{Action, Deadlines, Event, Ladder};
use elect::guard::{Ended, Leftover};
use elect_api::{Boottime, Ticket, Token};
use elect_testkit::sim::{Clock, TokioClock};
use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel,
};

use super::Switches;
use super::stage::Stage;

/// What the wrapper, or the one who plays fate, wants of the guardian.
pub(crate) enum Order {
    Start(Token),
    Ladder(Event),
    Keep(Ticket),
    /// The guardian is stopped until then; the kernel is not. Stops do not add up.
    PauseUntil(Boottime),
    /// The guardian is killed.
    Die,
}

/// The wrapper's end.
pub(crate) struct SimTree {
    orders: UnboundedSender<Order>,
    events: UnboundedReceiver<machine::Event>,
}

/// The guardian's end, with all that it decides.
pub(crate) struct SimGuardian {
    pub(crate) clock: Arc<TokioClock>,
    pub(crate) stage: Stage,
    pub(crate) chance: fastrand::Rng,
    pub(crate) switches: Switches,
    orders: UnboundedReceiver<Order>,
    events: UnboundedSender<machine::Event>,
    ladder: Ladder,
    wrapper_gone: bool,
    ticket: Option<Ticket>,
    token: Option<Token>,
    /// When the command ends, by itself or by a signal.
    ends: Option<Boottime>,
    obeys: bool,
    paused_until: Option<Boottime>,
    dead_man: Option<Boottime>,
}

pub(crate) fn pair(
    clock: Arc<TokioClock>,
    stage: Stage,
    mut chance: fastrand::Rng,
    switches: Switches,
) -> (SimTree, WeakUnboundedSender<Order>, SimGuardian) {
    let (order_sender, orders) = unbounded_channel();
    let (event_sender, events) = unbounded_channel();
    let obeys = chance.bool();
    let guardian = SimGuardian {
        clock,
        stage,
        chance,
        switches,
        orders,
        events: event_sender,
        ladder: Ladder::new(Leftover::Kill, true),
        wrapper_gone: false,
        ticket: None,
        token: None,
        ends: None,
        obeys,
        paused_until: None,
        dead_man: None,
    };
    let weak = order_sender.downgrade();
    (SimTree { orders: order_sender, events }, weak, guardian)
}

#[async_trait]
impl driver::Tree for SimTree {
    fn start(&mut self, token: Token, _holds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(Order::Start(token));
        Ok(())
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.send(Order::Keep(ticket.clone()));
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.send(Order::Ladder(Event::Renewed(deadlines)));
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.send(Order::Ladder(Event::Stop { kill_at }));
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.send(Order::Ladder(Event::Signal { signal, resume, kill_at }));
    }

    fn kill(&mut self) {
        self.send(Order::Ladder(Event::Kill));
    }

    /// The kernel has killed the tree with the guardian, before it told anybody.
    fn sweep(&mut self) {}

    async fn next_event(&mut self) -> machine::Event {
        match self.events.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

impl SimTree {
    fn send(&self, order: Order) {
        // A guardian that is dead hears nothing.
        let _ = self.orders.send(order);
    }
}

impl SimGuardian {
    /// Runs to the guardian's end. The ticket is returned if the entry is to be given up.
    pub(crate) async fn run(mut self) -> Option<Ticket> {
        loop {
            let now = self.clock.now();
            if self.dead_man.is_some_and(|at| at <= now) {
                return self.die(now);
            }
            self.paused_until = self.paused_until.filter(|&until| until > now);
            let flow = if self.is_due(self.ends, now) {
                self.command_ended(now)
            } else if self.is_due(self.ladder.next_tick(), now) {
                self.step(now, Event::Tick)
            } else {
                match self.next_order().await {
                    Some(order) => self.obey(self.clock.now(), order),
                    None => continue,
                }
            };
            if let ControlFlow::Break(ticket) = flow {
                return ticket;
            }
        }
    }

    fn is_due(&self, at: Option<Boottime>, now: Boottime) -> bool {
        self.paused_until.is_none() && at.is_some_and(|at| at <= now)
    }

    /// Waits for an order, or for an instant that matters.
    async fn next_order(&mut self) -> Option<Order> {
        let is_awake = self.paused_until.is_none();
        let waking =
            if is_awake { [self.ends, self.ladder.next_tick()] } else { [self.paused_until, None] };
        let next = waking.into_iter().chain([self.dead_man]).flatten().min();
        let clock = Arc::clone(&self.clock);
        tokio::select! {
            biased;
            order = self.orders.recv(), if is_awake && !self.wrapper_gone => {
                Some(order.unwrap_or(Order::Ladder(Event::WrapperGone)))
            }
            () = until(&clock, next) => None,
        }
    }

    fn obey(&mut self, now: Boottime, order: Order) -> ControlFlow<Option<Ticket>> {
        match order {
            Order::Start(token) => {
                self.token = Some(token);
                self.step(now, Event::Start)
            }
            Order::Ladder(event) => {
                self.wrapper_gone |= event == Event::WrapperGone;
                self.step(now, event)
            }
            Order::Keep(ticket) => {
                self.ticket = Some(ticket);
                ControlFlow::Continue(())
            }
            Order::PauseUntil(until) => {
                self.paused_until = Some(until).filter(|&until| until > now);
                ControlFlow::Continue(())
            }
            Order::Die => ControlFlow::Break(self.die(now)),
        }
    }

    fn step(&mut self, now: Boottime, event: Event) -> ControlFlow<Option<Ticket>> {
        let Some(action) = self.ladder.step(now, event) else { return ControlFlow::Continue(()) };
        match action {
            Action::Spawn => self.spawn(now),
            Action::Refuse => {
                self.tell(machine::Event::NotStarted(libc::ETIME));
                return self.step(now, Event::NotStarted);
            }
            Action::Ask => {
                self.tell(machine::Event::SoftPassed);
                self.ask(now);
            }
            Action::Signal { .. } => self.ask(now),
            Action::Rearm => {
                let dead_man = self.ladder.deadlines().map(|deadlines| deadlines.dead_man);
                self.dead_man = dead_man.filter(|_| self.switches.dead_man);
            }
            Action::KillAll => match self.ends {
                Some(ends) => {
                    let dying = Duration::from_millis(self.chance.u64(0..50));
                    self.ends = Some(ends.min(now + dying));
                }
                None => return self.step(now, Event::NoChildren),
            },
            Action::Release => {
                self.dead_man = None;
                self.tell(machine::Event::Empty);
            }
            Action::Exit => return ControlFlow::Break(self.ticket.take()),
        }
        ControlFlow::Continue(())
    }

    fn spawn(&mut self, now: Boottime) {
        if let Some(token) = self.token {
            self.stage.enter(now, token);
        }
        self.ends = Some(now + Duration::from_millis(self.chance.u64(100..60_000)));
        self.tell(machine::Event::Started);
    }

    fn ask(&mut self, now: Boottime) {
        if self.obeys {
            let soon = now + Duration::from_millis(self.chance.u64(0..6_000));
            self.ends = self.ends.map(|ends| ends.min(soon));
        }
    }

    fn command_ended(&mut self, now: Boottime) -> ControlFlow<Option<Ticket>> {
        self.ends = None;
        self.leave_stage(now);
        self.tell(machine::Event::Ended(Ended::Exited(0)));
        self.step(now, Event::CommandEnded)
    }

    /// The guardian is no more, and the kernel has killed the tree with it.
    fn die(&mut self, now: Boottime) -> Option<Ticket> {
        self.leave_stage(now);
        self.tell(machine::Event::GuardianDied);
        self.tell(machine::Event::Empty);
        None
    }

    fn leave_stage(&mut self, now: Boottime) {
        if let Some(token) = self.token {
            self.stage.leave(now, token);
        }
    }

    fn tell(&self, event: machine::Event) {
        // A wrapper that is dead hears nothing.
        let _ = self.events.send(event);
    }
}

pub(crate) async fn until(clock: &TokioClock, at: Option<Boottime>) {
    match at {
        Some(at) => clock.until(at).await,
        None => std::future::pending().await,
    }
}
