//! What the guardian does about the command tree: a pure state machine.
//!
//! ```text
//! Idle ──start──> Running ──command ended──> Lingering ──no children──> Empty
//!   │                │  └──────────────────────┐ │  --leftover wait
//!   │                │ kill, kill_at, wrapper gone, --leftover kill
//!   │                └──────────────> Killing <┘──no children──> Empty
//!   └──wrapper gone──> exit                      Empty ──wrapper gone──> exit
//! ```
//!
//! A command that is asked to stop is `Stopping` until it ends or is killed. After its first pass `Killing` is
//! `Sweeping`: what comes yet is killed, too.
//!
//! One-way: there is no arrow back to `Idle`, and from `Killing` only one to `Empty`. A ladder that
//! [restarts](Ladder::restarting) has one arrow more: a tree that came to its end because its command did,
//! and for no other reason, leaves it `Resting`, and the next order to start leads to `Running` again.

use elect_api::Boottime;

use super::is_off;

/// What is done with processes that the command leaves running when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// They are killed before leadership is given up.
    Kill,
    /// Leadership is kept until they have ended by themselves.
    Wait,
}

/// The deadlines of a lease that ends by time, as its newest renewal has set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// When the command is asked to stop.
    pub soft: Boottime,
    /// When everything is killed.
    pub hard: Boottime,
    /// When the kernel kills the guardian, and with it everything, whatever state they are in.
    pub dead_man: Boottime,
    /// The same for a guardian that has killed all that it found at least once, and is still killing.
    pub last: Boottime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    Stopping,
    Lingering,
    Killing,
    /// All that was found has been killed once, and whatever comes yet is killed too.
    Sweeping,
    /// The tree is empty, and another may be started.
    Resting,
    Empty,
}

/// What is asked of whoever runs a command tree: by the engine, over the socket, of a guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lease was renewed: keep these deadlines. Those that are not later than the known ones change nothing, and
    /// nothing takes a deadline back that has passed. The first ones come before the start.
    Renewed(Deadlines),
    /// Leadership is lost: ask the command to stop, and kill everything at this instant, or at the hard deadline if
    /// that is earlier; and so what has outlived the command.
    Stop {
        /// The instant.
        kill_at: Boottime,
    },
    /// Signal the command's group. Does nothing while no command runs.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Follow it with CONT, so that a stopped command can obey.
        resume: bool,
        /// Kill everything at this instant, or earlier if an earlier one was given before.
        kill_at: Option<Boottime>,
    },
    /// Kill everything now.
    Kill,
}

impl Order {
    /// Passes a signal on, and does nothing else.
    pub const fn pass_on(signal: i32) -> Self {
        Self::Signal { signal, resume: false, kill_at: None }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The order to start the command.
    Start,
    /// The command could not be made a process.
    NotStarted,
    /// The command itself has ended.
    CommandEnded,
    /// All that was found has been killed once.
    Killed,
    /// There is no child left.
    NoChildren,
    /// This is asked of the tree.
    Order(Order),
    /// The wrapper is dead.
    WrapperGone,
    /// Time has passed.
    Tick,
}

/// What is to be done about it, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Set the kernel's timer, and start the command.
    Spawn,
    /// Start nothing, as its time has passed.
    Refuse,
    /// Ask the command to stop.
    Ask,
    /// Set the kernel's timer to [`Ladder::dead_man`].
    Rearm,
    /// Signal the command.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Follow it with CONT.
        resume: bool,
    },
    /// Kill every child there is; repeated at every event until none is left.
    KillAll,
    /// Say that the tree is empty, having let go of what holds the lease.
    Release,
    /// End, the tree being empty, and have the entry given up.
    Exit,
}

/// What the guardian knows of the tree and means to do about it.
#[derive(Clone, Debug)]
pub struct Ladder {
    phase: Phase,
    leftover: Leftover,
    /// Whether the lease ends by time: then nothing starts without deadlines.
    is_timed: bool,
    deadlines: Option<Deadlines>,
    kill_at: Option<Boottime>,
    wrapper_gone: bool,
    /// Whether a command may be started again, once the tree of the one before is empty.
    restarts: bool,
}

impl Ladder {
    /// Nothing has been started yet.
    pub const fn new(leftover: Leftover, is_timed: bool) -> Self {
        Self {
            phase: Phase::Idle,
            leftover,
            is_timed,
            deadlines: None,
            kill_at: None,
            wrapper_gone: false,
            restarts: false,
        }
    }

    /// The same, with a command that is started again by each further order to start. Whatever else than its
    /// own end has ended the tree, or was to end it, is the last of that.
    #[must_use]
    pub const fn restarting(self) -> Self {
        Self { restarts: true, ..self }
    }

    /// When [`Event::Tick`] is wanted.
    pub fn next_tick(&self) -> Option<Boottime> {
        match self.phase {
            Phase::Running | Phase::Lingering => {
                let soft = self.deadlines.map(|deadlines| deadlines.soft);
                [soft, self.kill_at].into_iter().flatten().min()
            }
            Phase::Stopping => self.kill_at(),
            _ => None,
        }
    }

    /// Whether the lease ends by time.
    pub const fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// When the kernel is to kill the guardian, if the lease ends by time.
    pub fn dead_man(&self) -> Option<Boottime> {
        let sweeps = self.phase == Phase::Sweeping;
        self.deadlines.map(|deadlines| if sweeps { deadlines.last } else { deadlines.dead_man })
    }

    /// The newest deadlines, if the lease ends by time.
    pub const fn deadlines(&self) -> Option<Deadlines> {
        self.deadlines
    }

    /// Whether children are being killed, so that each look at them should kill again.
    pub fn is_killing(&self) -> bool {
        matches!(self.phase, Phase::Killing | Phase::Sweeping)
    }

    /// Whether there is no tree, not yet or no more.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Resting | Phase::Empty)
    }

    /// When everything is killed, as far as is known: the command can count on its leadership till then.
    pub fn kill_at(&self) -> Option<Boottime> {
        let hard = self.deadlines.map(|deadlines| deadlines.hard);
        [hard, self.kill_at].into_iter().flatten().min()
    }

    /// Takes in what happened at `now`, which never goes back, and says what to do about it.
    pub fn step(&mut self, now: Boottime, event: Event) -> Option<Action> {
        if matches!(
            event,
            Event::Order(Order::Stop { .. } | Order::Signal { kill_at: Some(_), .. } | Order::Kill)
                | Event::WrapperGone
        ) {
            self.restarts = false;
        }
        // The deadline is looked at first: no order resumes a command whose time is over.
        let is_order = matches!(event, Event::Order(order) if order != Order::Kill);
        let runs = matches!(self.phase, Phase::Running | Phase::Stopping | Phase::Lingering);
        if is_order && runs && self.kill_at().is_some_and(|at| at <= now) {
            return Some(self.run_out());
        }
        if is_off!(OneWay) && event == Event::Start {
            return Some(self.start(now));
        }
        if is_off!(TicketAfter) && event == Event::WrapperGone {
            return Some(Action::Exit);
        }
        match (self.phase, event) {
            (Phase::Idle | Phase::Resting, Event::Start) => Some(self.start(now)),
            (Phase::Idle | Phase::Resting | Phase::Running, Event::NotStarted) => {
                self.phase = Phase::Empty;
                Some(Action::Release)
            }
            (Phase::Idle | Phase::Resting | Phase::Empty, Event::WrapperGone) => Some(Action::Exit),
            (Phase::Running | Phase::Stopping | Phase::Lingering, Event::WrapperGone) => {
                self.wrapper_gone = true;
                Some(self.kill())
            }
            (Phase::Killing | Phase::Sweeping, Event::WrapperGone) => {
                self.wrapper_gone = true;
                None
            }
            (Phase::Running, Event::CommandEnded) if self.leftover == Leftover::Wait => {
                self.phase = Phase::Lingering;
                None
            }
            (Phase::Stopping, Event::CommandEnded) if self.leftover == Leftover::Wait => None,
            (
                Phase::Stopping | Phase::Lingering | Phase::Killing | Phase::Sweeping,
                Event::NoChildren,
            ) => {
                self.phase = if self.restarts { Phase::Resting } else { Phase::Empty };
                Some(if self.wrapper_gone { Action::Exit } else { Action::Release })
            }
            (Phase::Killing | Phase::Sweeping, Event::CommandEnded | Event::Tick) => {
                Some(Action::KillAll)
            }
            // What comes yet is killed sooner by a guardian that lives than by its end.
            (Phase::Killing, Event::Killed) => {
                self.phase = Phase::Sweeping;
                self.deadlines.is_some().then_some(Action::Rearm)
            }
            (
                Phase::Idle | Phase::Running | Phase::Lingering | Phase::Resting,
                Event::Order(Order::Renewed(deadlines)),
            ) => self.renew(now, deadlines),
            (Phase::Running | Phase::Lingering, Event::Order(Order::Stop { kill_at })) => {
                Some(self.ask(kill_at))
            }
            (
                Phase::Running | Phase::Stopping | Phase::Lingering,
                Event::Order(Order::Signal { signal, resume, kill_at }),
            ) => {
                self.kill_at = [self.kill_at, kill_at].into_iter().flatten().min();
                Some(Action::Signal { signal, resume })
            }
            (Phase::Running | Phase::Stopping, Event::CommandEnded)
            | (Phase::Running | Phase::Stopping | Phase::Lingering, Event::Order(Order::Kill)) => {
                Some(self.kill())
            }
            (Phase::Running | Phase::Stopping | Phase::Lingering, Event::Tick) => {
                self.look_at_the_time(now)
            }
            // An order that came too late for its phase, or news that change nothing.
            _ => None,
        }
    }

    /// A guardian that was stopped may get its order too late; or after another, by which nothing more is started.
    fn start(&mut self, now: Boottime) -> Action {
        let is_late = self.deadlines.map_or(self.is_timed, |deadlines| deadlines.soft <= now);
        if is_late && !is_off!(LateStart) {
            return Action::Refuse;
        }
        if self.phase == Phase::Resting && !self.restarts {
            return Action::Refuse;
        }
        self.phase = Phase::Running;
        Action::Spawn
    }

    fn look_at_the_time(&mut self, now: Boottime) -> Option<Action> {
        if self.kill_at().is_some_and(|at| at <= now) {
            return Some(self.run_out());
        }
        let passed = self.deadlines.filter(|deadlines| deadlines.soft <= now)?;
        (self.phase != Phase::Stopping).then(|| self.ask(passed.hard))
    }

    /// Takes in later deadlines, unless the present soft one has passed: then the command is, or is
    /// about to be, asked to stop, and nothing takes that back.
    fn renew(&mut self, now: Boottime, new: Deadlines) -> Option<Action> {
        let is_late =
            self.deadlines.is_some_and(|known| known.soft <= now || new.soft <= known.soft);
        if is_late && !is_off!(Rising) {
            return None;
        }
        self.deadlines = Some(new);
        // Without a tree nothing is in danger: the start arms it.
        (!self.is_idle()).then_some(Action::Rearm)
    }

    fn ask(&mut self, kill_at: Boottime) -> Action {
        self.restarts = false;
        self.phase = Phase::Stopping;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |known| known.min(kill_at)));
        Action::Ask
    }

    /// The time of the tree is over.
    fn run_out(&mut self) -> Action {
        self.restarts = false;
        self.kill()
    }

    fn kill(&mut self) -> Action {
        self.phase = Phase::Killing;
        Action::KillAll
    }
}

#[cfg(test)]
mod tests;
