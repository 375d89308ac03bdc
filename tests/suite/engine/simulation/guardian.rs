//! A simulated guardian: the real ladder, a made-up command, and a made-up kernel.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect::election::driver;
use elect::election::machine;
use elect::guard::ladder::{Action, Event, Ladder};
use elect::guard::{self, Ended, Leftover};
use elect_api::{Boottime, Holds, Ticket, Token};
use elect_testkit::sim::Clock;
use elect_testkit::switches::{Part, is_off};
use tokio::sync::Notify;
use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel,
};
use tokio::sync::watch;

use super::host::Host;
use super::plan::Plan;
use super::witness::Witness;

const LEFTOVER: Leftover =
    Leftover::Kill { grace: Duration::from_secs(1), kill_grace: Duration::from_secs(4) };

/// Orders to the guardian, from the wrapper or from the code that plays fate.
pub(crate) enum Order {
    Start(Token),
    Ladder(Event),
    Keep(Option<Ticket>),
    /// The guardian is stopped until then, by the time of the world; the kernel is not. Stops do not add up.
    PauseUntil(Boottime),
    /// The guardian is killed.
    Die,
}

/// The wrapper's end.
pub(crate) struct SimTree {
    orders: UnboundedSender<Order>,
    events: UnboundedReceiver<machine::Event>,
    witness: Arc<Witness>,
    broom: Arc<Notify>,
    soft: Option<Boottime>,
}

/// By what fate takes hold of a guardian, which does not keep that from seeing that its wrapper is gone, and talks to
/// the wrapper.
#[derive(Clone)]
pub(crate) struct Strings {
    pub(crate) guardian: WeakUnboundedSender<Order>,
    pub(crate) inbox: UnboundedSender<machine::Event>,
}

/// The guardian's end, with all that it decides.
pub(crate) struct SimGuardian {
    host: Arc<Host>,
    witness: Arc<Witness>,
    chance: fastrand::Rng,
    suspends: watch::Receiver<bool>,
    orders: UnboundedReceiver<Order>,
    events: UnboundedSender<machine::Event>,
    broom: Arc<Notify>,
    ladder: Ladder,
    /// True if commands fail now and then, and may be started again.
    fails: bool,
    wrapper_gone: bool,
    ticket: Option<Ticket>,
    tree: Option<Tree>,
    token: Option<Token>,
    obeys: bool,
    /// The longest time that a process takes to die of a KILL.
    longest_dying: Duration,
    longest_command: Duration,
    /// When the wrapper was heard last, and after how long a guardian that is wrong gives it up.
    heard: Boottime,
    patience: Duration,
    paused_until: Option<Boottime>,
    slept_since: Option<Boottime>,
    dead_man: Option<Boottime>,
}

/// When the command and the last of the others end, by themselves or by a signal; `None` once they have.
#[derive(Clone, Copy)]
struct Tree {
    token: Token,
    command: Option<Boottime>,
    others: Option<Boottime>,
}

impl Tree {
    fn end(&self) -> Option<Boottime> {
        self.command.max(self.others)
    }

    /// They end by then.
    fn hurry(&mut self, at: Boottime) {
        for end in [&mut self.command, &mut self.others] {
            *end = end.map(|known| known.min(at));
        }
    }
}

/// Kills a guardian, if it lives.
pub(crate) fn kill(guardian: &WeakUnboundedSender<Order>) {
    if let Some(guardian) = guardian.upgrade() {
        let _ = guardian.send(Order::Die);
    }
}

pub(crate) fn pair(
    witness: Arc<Witness>,
    mut chance: fastrand::Rng,
    plan: &Plan,
) -> (SimTree, driver::Inbox, Strings, SimGuardian) {
    let (order_sender, orders) = unbounded_channel();
    let (event_sender, events) = unbounded_channel();
    let (tell, inbox) = unbounded_channel();
    let strings = Strings { guardian: order_sender.downgrade(), inbox: tell };
    let broom = Arc::new(Notify::new());
    let obeys = chance.bool();
    let leftover = if chance.u8(0..4) == 0 { Leftover::Wait } else { LEFTOVER };
    let ladder = Ladder::new(leftover, true);
    let fails = plan.restarts.is_some();
    let host = Arc::clone(&witness.host);
    let guardian = SimGuardian {
        suspends: host.suspends(),
        witness: Arc::clone(&witness),
        chance,
        orders,
        events: event_sender,
        broom: Arc::clone(&broom),
        ladder: if fails { ladder.restarting() } else { ladder },
        fails,
        wrapper_gone: false,
        ticket: None,
        tree: None,
        token: None,
        obeys,
        longest_dying: plan.dying,
        longest_command: plan.longest_command,
        heard: host.now(),
        patience: plan.ttl,
        paused_until: None,
        slept_since: None,
        dead_man: None,
        host,
    };
    let tree = SimTree { orders: order_sender, events, witness, broom, soft: None };
    (tree, inbox, strings, guardian)
}

#[async_trait]
impl driver::Tree for SimTree {
    fn start(&mut self, token: Token, _holds: &Holds<'_>) -> io::Result<()> {
        self.witness.starts(token, self.soft);
        self.send(Order::Start(token));
        Ok(())
    }

    fn obey(&mut self, order: guard::Order, _: Option<machine::StoppedBy>) {
        if let guard::Order::Renewed(deadlines) = order {
            self.witness.renewed();
            self.soft = Some(deadlines.soft);
        }
        self.send(Order::Ladder(Event::Order(order)));
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.send(Order::Keep(ticket.cloned()));
    }

    fn resigns(&mut self) {}

    fn sweep(&mut self) {
        self.broom.notify_one();
    }

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        Some(signal)
    }

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
    /// Runs to the guardian's end. Returns the ticket if the entry must be given up.
    pub(crate) async fn run(mut self) -> Option<Ticket> {
        loop {
            if *self.suspends.borrow_and_update() {
                self.sleep().await;
                continue;
            }
            let now = self.host.now();
            if self.dead_man.is_some_and(|at| at <= now) {
                return self.die(now);
            }
            self.wake_up();
            self.paused_until = self.paused_until.filter(|&until| until > self.host.world.now());
            let flow = match self.next_of_tree(now) {
                Some(flow) => flow,
                None if self.is_due(self.ladder.next_tick(), now) => self.step(now, Event::Tick),
                None if self.is_due(self.silence_ends(), now) => {
                    self.obey(now, Order::Ladder(Event::WrapperGone))
                }
                None => match self.next_order().await {
                    Some(order) => self.obey(self.host.now(), order),
                    None => continue,
                },
            };
            if let ControlFlow::Break(ticket) = flow {
                return ticket;
            }
        }
    }

    async fn sleep(&mut self) {
        self.slept_since.get_or_insert(self.host.now());
        if let Some(tree) = &self.tree {
            self.witness.stage.sleep(self.host.world.now(), tree.token);
        }
        // The sender lives as long as the host.
        let _ = self.suspends.wait_for(|suspended| !suspended).await;
    }

    fn wake_up(&mut self) {
        self.slept_since = None;
        if let Some(tree) = &self.tree {
            self.witness.stage.wake(self.host.world.now(), tree.token);
        }
    }

    /// When a guardian that is wrong takes silence for the end of its wrapper.
    fn silence_ends(&self) -> Option<Boottime> {
        let listens = is_off(Part::EndOfFile) && !self.wrapper_gone;
        listens.then(|| self.heard + self.patience)
    }

    fn is_due(&self, at: Option<Boottime>, now: Boottime) -> bool {
        self.paused_until.is_none() && at.is_some_and(|at| at <= now)
    }

    /// Takes the next news of the guardian's children, if there is any.
    fn next_of_tree(&mut self, now: Boottime) -> Option<ControlFlow<Option<Ticket>>> {
        let tree = self.tree?;
        if self.is_due(tree.others, now) {
            self.tree = Some(Tree { others: None, ..tree });
            return Some(ControlFlow::Continue(()));
        }
        if self.is_due(tree.command, now) {
            self.tree = Some(Tree { command: None, ..tree });
            let code = u8::from(self.fails && self.chance.u8(0..4) > 0);
            self.tell(machine::Event::Ended(Ended::Exited(code)));
            return Some(self.step(now, Event::CommandEnded));
        }
        (tree.end().is_none()).then(|| {
            self.tree = None;
            self.leave_stage(now, tree.token);
            self.step(now, Event::NoChildren)
        })
    }

    fn leave_stage(&self, now: Boottime, token: Token) {
        self.witness.stage.leave(self.host.world.now(), token);
        self.witness.tree_ends(now);
    }

    /// Waits for an order, or for an instant that matters.
    async fn next_order(&mut self) -> Option<Order> {
        let is_awake = self.paused_until.is_none();
        let mut own = vec![self.dead_man];
        if is_awake {
            own.push(self.ladder.next_tick());
            own.push(self.silence_ends());
            own.extend(self.tree.map(|tree| tree.command));
            own.extend(self.tree.map(|tree| tree.others));
        }
        let next = own.into_iter().flatten().min();
        let host = Arc::clone(&self.host);
        let pause_ends = async {
            match self.paused_until {
                Some(at) => host.world.until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.suspends.changed() => None,
            order = self.orders.recv(), if is_awake && !self.wrapper_gone => {
                Some(order.unwrap_or(Order::Ladder(Event::WrapperGone)))
            }
            () = pause_ends => None,
            () = host.until(next) => None,
        }
    }

    fn obey(&mut self, now: Boottime, order: Order) -> ControlFlow<Option<Ticket>> {
        self.heard = now;
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
                self.ticket = ticket;
                ControlFlow::Continue(())
            }
            Order::PauseUntil(until) => {
                self.paused_until = Some(until);
                ControlFlow::Continue(())
            }
            Order::Die => ControlFlow::Break(self.die(now)),
        }
    }

    fn step(&mut self, now: Boottime, event: Event) -> ControlFlow<Option<Ticket>> {
        let Some(action) = self.ladder.step(now, event) else { return ControlFlow::Continue(()) };
        match action {
            Action::Spawn => {
                self.rearm();
                self.spawn(now);
            }
            Action::Refuse => {
                self.tell(machine::Event::NotStarted(libc::ETIME));
                return self.step(now, Event::NotStarted);
            }
            Action::Ask => {
                self.tell(machine::Event::SoftPassed);
                self.ask(now);
            }
            Action::Signal { .. }
            | Action::AskOthers(_)
            | Action::AskYoung(_)
            | Action::AskLeftover => self.ask(now),
            Action::NameLeftover => {}
            Action::Rearm => self.rearm(),
            Action::KillAll | Action::KillOverdue => {
                let at = now + self.dying();
                match &mut self.tree {
                    Some(tree) => tree.hurry(at),
                    None => return self.step(now, Event::NoChildren),
                }
                return self.step(now, Event::Killed);
            }
            Action::Release => {
                self.dead_man = None;
                self.tell(machine::Event::Empty);
            }
            Action::Exit => {
                // The tree's remaining processes die with the guardian.
                self.die(now);
                return ControlFlow::Break(self.ticket.take());
            }
        }
        ControlFlow::Continue(())
    }

    fn rearm(&mut self) {
        self.dead_man = self.ladder.dead_man().filter(|_| !is_off(Part::DeadMan));
    }

    fn dying(&mut self) -> Duration {
        self.longest_dying.mul_f64(self.chance.f64())
    }

    fn spawn(&mut self, now: Boottime) {
        let Some(token) = self.token else { return };
        if self.ladder.deadlines().is_none_or(|deadlines| deadlines.soft <= now) {
            self.witness.blame("a command starts that has no grace left", "");
        }
        self.witness.stage.enter(self.host.world.now(), token);
        let lasts = self.longest_command.mul_f64(self.chance.f64());
        let command = now + lasts.max(Duration::from_millis(100));
        let longest = self.longest_command / 3;
        let others = self.chance.bool().then(|| command + longest.mul_f64(self.chance.f64()));
        self.tree = Some(Tree { token, command: Some(command), others });
        self.tell(machine::Event::Started);
    }

    fn ask(&mut self, now: Boottime) {
        if self.obeys {
            let soon = now + Duration::from_millis(self.chance.u64(0..6_000));
            if let Some(tree) = &mut self.tree {
                tree.hurry(soon);
            }
        }
    }

    /// The guardian is no more.
    fn die(&mut self, now: Boottime) -> Option<Ticket> {
        self.tell(machine::Event::GuardianDied);
        self.leave_to_kernel(now);
        None
    }

    /// The kernel kills the tree of a guardian that is dead, and so does the wrapper, if there is one.
    fn leave_to_kernel(&mut self, now: Boottime) {
        let Some(mut tree) = self.tree.take() else {
            return self.tell(machine::Event::Empty);
        };
        let (dying, slept_since) = (self.dying(), self.slept_since);
        if !is_off(Part::DeathPipe) {
            tree.hurry(now + dying);
        }
        let (host, witness) = (Arc::clone(&self.host), Arc::clone(&self.witness));
        let (broom, events) = (Arc::clone(&self.broom), self.events.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = host.until(tree.end()) => {}
                () = broom.notified() => {
                    tree.hurry(host.now() + dying);
                    host.until(tree.end()).await;
                }
            }
            // A process with a KILL does not run on after a suspend.
            witness.stage.leave(host.world.now(), tree.token);
            witness.tree_ends(slept_since.or(tree.end()).unwrap_or(now));
            let _ = events.send(machine::Event::Empty);
        });
    }

    fn tell(&self, event: machine::Event) {
        // A wrapper that is dead hears nothing.
        let _ = self.events.send(event);
    }
}
