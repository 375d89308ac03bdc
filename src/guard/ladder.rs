//! What the guardian does about the command tree: a pure state machine.
//!
//! ```text
//! Idle ──start──> Running ──command ended──> Lingering ──no children──> Empty
//!   │                │                           │
//!   │                └── kill, kill_at, wrapper gone ──> Killing ──no children──> Empty
//!   └──wrapper gone──> exit                      Empty ──wrapper gone──> exit
//! ```
//!
//! A tree whose lease is lost is `Stopping` until it is empty or killed. After its first pass `Killing` is `Sweeping`:
//! it kills later arrivals too.
//!
//! The end of the command is not the end of its tree. If the command was asked to stop, the rest of the tree keeps the
//! deadline that the command had; processes outside its group are asked now. If the command ended by itself,
//! [`Leftover`] says how long the rest may go on.
//!
//! One-way: there is no arrow back to `Idle`, and from `Killing` only one to `Empty`. A ladder that
//! [restarts](Ladder::restarting) has one arrow more: a tree that came to its end because its command did,
//! and for no other reason, leaves it `Resting`, and the next order to start leads to `Running` again.

use std::time::Duration;

use elect_api::Boottime;

use super::is_off;

/// What happens to processes that the command leaves running when it ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// They may end by themselves, then they are asked to stop, then they are killed.
    Kill {
        /// From the end of the command to the signal that asks them to stop.
        grace: Duration,
        /// From that signal to the kill.
        kill_grace: Duration,
    },
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
    /// Ask the command to stop while leadership lasts. CONT follows, so that a stopped command can obey.
    Ask {
        /// The number of the signal that asks it.
        signal: i32,
        /// Kill everything at this instant, or earlier if an earlier one was given before.
        kill_at: Option<Boottime>,
    },
    /// Pass a signal on to the command's group, or to what the command has left; either may ignore it.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Follow it with CONT.
        resume: bool,
    },
    /// Kill everything now.
    Kill,
}

impl Order {
    /// Passes a signal on, and does nothing else.
    pub const fn pass_on(signal: i32) -> Self {
        Self::Signal { signal, resume: false }
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
    /// Signal the command, or what it has left.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Follow it with CONT.
        resume: bool,
    },
    /// The command was asked to stop, and has ended: ask the descendants that this has not reached.
    AskOthers(Asked),
    /// A moment later: ask those of them again that were too young to hear of it.
    AskYoung(Asked),
    /// The command has ended: ask what it has left to stop, by TERM.
    AskLeftover,
    /// The command has ended by itself, and what it has left is awaited: say what that is.
    NameLeftover,
    /// Kill every child there is; repeated at every event until none is left.
    KillAll,
    /// The same, while the lease is good: say first which processes had not stopped in time.
    KillOverdue,
    /// Say that the tree is empty, having let go of what holds the lease.
    Release,
    /// End, the tree being empty, and have the entry given up.
    Exit,
}

/// How the command's group was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// By this signal; `None` is that of [`Action::Ask`].
    pub signal: Option<i32>,
    /// At this instant. Processes that were born later, or just before, may not have heard of it.
    pub at: Boottime,
}

/// Why a tree is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillsFor {
    /// The lease is lost, or may be.
    Loss,
    /// Its own time is over. The lease is good, and may be renewed.
    Time,
}

/// How long what is left of a tree may take to end without a word about it.
const A_MOMENT: Duration = Duration::from_secs(1);

/// What the guardian knows of the tree and means to do about it.
#[derive(Clone, Debug)]
pub struct Ladder {
    phase: Phase,
    leftover: Leftover,
    /// Whether the lease ends by time: then nothing starts without deadlines.
    is_timed: bool,
    deadlines: Option<Deadlines>,
    kill_at: Option<Boottime>,
    /// How the command was asked to stop last.
    asked: Option<Asked>,
    /// When there is more to do about what the command has left.
    leftover_at: Option<Boottime>,
    /// When the command ended.
    ended: Option<Boottime>,
    kills_for: KillsFor,
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
            asked: None,
            leftover_at: None,
            ended: None,
            kills_for: KillsFor::Loss,
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
                [soft, self.kill_at, self.leftover_at].into_iter().flatten().min()
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
            Event::Order(Order::Stop { .. } | Order::Ask { .. } | Order::Kill) | Event::WrapperGone
        ) {
            self.restarts = false;
            if !matches!(event, Event::Order(Order::Ask { .. })) {
                self.kills_for = KillsFor::Loss;
            }
        }
        // The deadline is looked at first: no order resumes a command whose time is over.
        let is_order = matches!(event, Event::Order(order) if order != Order::Kill);
        let runs = matches!(self.phase, Phase::Running | Phase::Stopping | Phase::Lingering);
        if is_order && runs && self.kill_at().is_some_and(|at| at <= now) {
            return Some(self.run_out(now));
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
            (Phase::Running, Event::CommandEnded) => self.linger(now),
            (Phase::Stopping, Event::CommandEnded) => self.asked.map(Action::AskOthers),
            (
                Phase::Stopping | Phase::Lingering | Phase::Killing | Phase::Sweeping,
                Event::NoChildren,
            ) => {
                self.phase = if self.restarts { Phase::Resting } else { Phase::Empty };
                (self.kill_at, self.leftover_at) = (None, None);
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
            (Phase::Killing | Phase::Sweeping, Event::Order(Order::Renewed(deadlines)))
                if self.kills_for == KillsFor::Time =>
            {
                self.renew(now, deadlines)
            }
            (Phase::Running | Phase::Lingering, Event::Order(Order::Stop { kill_at })) => {
                Some(self.ask(now, kill_at))
            }
            (
                Phase::Running | Phase::Stopping | Phase::Lingering,
                Event::Order(Order::Ask { signal, kill_at }),
            ) => {
                self.kill_by(kill_at);
                self.hurry_leftover(now);
                self.asked = Some(Asked { signal: Some(signal), at: now });
                Some(Action::Signal { signal, resume: true })
            }
            (
                Phase::Running | Phase::Stopping | Phase::Lingering,
                Event::Order(Order::Signal { signal, resume }),
            ) => Some(Action::Signal { signal, resume }),
            (Phase::Running | Phase::Stopping | Phase::Lingering, Event::Order(Order::Kill)) => {
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
            return Some(self.run_out(now));
        }
        if let Some(passed) = self.deadlines.filter(|deadlines| deadlines.soft <= now) {
            return (self.phase != Phase::Stopping).then(|| self.ask(now, passed.hard));
        }
        self.leftover_at.filter(|&at| at <= now)?;
        Some(self.look_after_leftover(now))
    }

    /// The command has ended, and the rest of its tree may live on.
    fn linger(&mut self, now: Boottime) -> Option<Action> {
        self.phase = Phase::Lingering;
        self.ended = Some(now);
        let moment = match self.leftover {
            Leftover::Kill { grace, .. } if self.asked.is_none() => grace,
            Leftover::Kill { .. } | Leftover::Wait => A_MOMENT,
        };
        self.leftover_at = Some(now + moment);
        self.asked.map(Action::AskOthers)
    }

    fn look_after_leftover(&mut self, now: Boottime) -> Action {
        let (asked, awaits) = (self.asked, self.leftover == Leftover::Wait);
        let ended = self.ended.unwrap_or(now);
        self.hurry_leftover(now);
        match asked {
            None if awaits => Action::NameLeftover,
            // Shells have their background processes ignore INT and QUIT.
            Some(Asked { signal, .. }) if awaits || signal == Some(libc::SIGTERM) => {
                Action::AskYoung(Asked { signal, at: ended })
            }
            None | Some(_) => Action::AskLeftover,
        }
    }

    /// What the command has left is asked to stop, if it would have been later. What is left of a command that ended by
    /// itself has the kill grace from now on.
    fn hurry_leftover(&mut self, now: Boottime) {
        let is_due = self.leftover_at.take().is_some() && self.asked.is_none();
        if let (Leftover::Kill { kill_grace, .. }, true) = (self.leftover, is_due) {
            self.kill_by(Some(now + kill_grace));
        }
    }

    fn kill_by(&mut self, at: Option<Boottime>) {
        self.kill_at = [self.kill_at, at].into_iter().flatten().min();
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

    fn ask(&mut self, now: Boottime, kill_at: Boottime) -> Action {
        self.asked = Some(Asked { signal: None, at: now });
        self.restarts = false;
        self.phase = Phase::Stopping;
        self.leftover_at = None;
        self.kill_by(Some(kill_at));
        Action::Ask
    }

    /// The time of the tree is over.
    fn run_out(&mut self, now: Boottime) -> Action {
        let is_lost = self.phase == Phase::Stopping
            || self.deadlines.is_some_and(|deadlines| deadlines.soft <= now);
        // A command whose leftovers were deaf has ended by itself all the same.
        self.restarts &= !is_lost && self.phase == Phase::Lingering;
        self.phase = Phase::Killing;
        self.kills_for = if is_lost { KillsFor::Loss } else { KillsFor::Time };
        if is_lost { Action::KillAll } else { Action::KillOverdue }
    }

    fn kill(&mut self) -> Action {
        self.phase = Phase::Killing;
        Action::KillAll
    }
}

#[cfg(test)]
mod tests;
