//! Decides what the guardian does about the command tree. It is a pure state machine.
//!
//! ```text
//! Idle ──start──> Running ──command ended──> Lingering ──no children──> Empty
//!   │                │                           │
//!   │                └── kill, kill_at, wrapper gone ──> Killing ──no children──> Empty
//!   └──wrapper gone──> exit                      Empty ──wrapper gone──> exit
//! ```
//!
//! A tree whose lease is lost is `Stopping` until it is empty or killed. After its first pass, `Killing` becomes
//! `Sweeping`, which kills later arrivals too.
//!
//! The end of the command is not the end of its tree. If the command was asked to stop, the rest of the tree keeps the
//! command's deadline, and processes outside the command's group are asked now. If the command ended by itself,
//! [`Leftover`] says how long the rest may go on.
//!
//! The ladder is one-way: there is no arrow back to `Idle`, and from `Killing` only one to `Empty`. A ladder that
//! [restarts](Ladder::restarting) has one more arrow. If a tree ended because its command did, and for no other reason,
//! the ladder is `Resting`. The next order to start then leads to `Running` again.

use std::time::Duration;

use elect_api::Boottime;

use super::is_off;

/// What happens to processes that the command leaves running when it ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// They may end by themselves. After that they are asked to stop, and at last they are killed.
    Kill {
        /// The time from the end of the command to the signal that asks them to stop.
        grace: Duration,
        /// The time from that signal to the kill.
        kill_grace: Duration,
    },
    /// Leadership is kept until they have ended by themselves.
    Wait,
}

/// The deadlines of a lease that ends by time, as set by its newest renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// The instant at which the command is asked to stop.
    pub soft: Boottime,
    /// The instant at which everything is killed.
    pub hard: Boottime,
    /// The instant at which the kernel kills the guardian, and with it everything, whatever state they are in.
    pub dead_man: Boottime,
    /// The same instant for a guardian that has killed everything it found at least once, and goes on killing.
    pub last: Boottime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    Stopping,
    Lingering,
    Killing,
    /// Everything that was found has been killed once. Later arrivals are killed, too.
    Sweeping,
    /// The tree is empty, and the command may be started again.
    Resting,
    Empty,
}

/// An order to the owner of a command tree: from the engine, and over the socket to a guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lease was renewed: keep these deadlines. Deadlines that are not later than the known ones change nothing,
    /// and no renewal takes back a deadline that has passed. The first renewal comes before the start.
    Renewed(Deadlines),
    /// Leadership is lost: ask the command to stop. Kill everything at `kill_at`, or at the hard deadline if that is
    /// earlier. The same holds for processes that have outlived the command.
    Stop {
        /// The instant of the kill.
        kill_at: Boottime,
    },
    /// Ask the command to stop while leadership lasts. CONT follows, so that a stopped command can obey.
    Ask {
        /// The number of the signal that asks it.
        signal: i32,
        /// Kill everything at this instant, or earlier if an earlier one was given before.
        kill_at: Option<Boottime>,
    },
    /// Pass a signal on to the command's group, or to the processes that the command has left. Either may ignore it.
    Signal {
        /// The number of the signal.
        signal: i32,
        /// Whether CONT follows.
        resume: bool,
    },
    /// Kill everything now.
    Kill,
}

impl Order {
    /// Makes an order that passes a signal on, and does nothing else.
    pub const fn pass_on(signal: i32) -> Self {
        Self::Signal { signal, resume: false }
    }
}

/// An event for the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The order to start the command arrived.
    Start,
    /// The command could not be made a process.
    NotStarted,
    /// The command itself has ended.
    CommandEnded,
    /// Everything that was found has been killed once.
    Killed,
    /// There is no child left.
    NoChildren,
    /// An order about the tree arrived.
    Order(Order),
    /// The wrapper is dead.
    WrapperGone,
    /// Time has passed.
    Tick,
}

/// What the guardian does about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Set the kernel's timer, and start the command.
    Spawn,
    /// Start nothing, as the time for it has passed or a restart is ruled out.
    Refuse,
    /// Ask the command to stop.
    Ask,
    /// Set the kernel's timer to [`Ladder::dead_man`].
    Rearm,
    /// Signal the command, or the processes that it has left.
    Signal {
        /// The number of the signal.
        signal: i32,
        /// Whether CONT follows.
        resume: bool,
    },
    /// Ask the descendants that the signal has not reached: the command was asked to stop, and has ended.
    AskOthers(Asked),
    /// A moment later, ask those descendants again that were too young to notice the signal.
    AskYoung(Asked),
    /// Ask the leftover processes to stop, by TERM: the command has ended.
    AskLeftover,
    /// Report the leftover processes: the command has ended by itself, and they are awaited.
    NameLeftover,
    /// Kill every child. This is repeated at every event until none is left.
    KillAll,
    /// Kill every child while the lease is good. Report first which processes had not stopped in time.
    KillOverdue,
    /// Release what holds the lease, and report that the tree is empty.
    Release,
    /// Exit, as the tree is empty, and have the entry given up.
    Exit,
}

/// How the command's group was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The signal. `None` stands for the signal of [`Action::Ask`].
    pub signal: Option<i32>,
    /// The instant of the signal. Processes that were born later, or just before, may not have noticed it.
    pub at: Boottime,
}

/// The reason why a tree is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillsFor {
    /// The lease is lost, or may be.
    Loss,
    /// The time of the tree is over. The lease is good, and may be renewed.
    Time,
}

/// How long leftover processes may take to end before they are mentioned.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The state of the tree as the guardian knows it, and the next steps about it.
#[derive(Clone, Debug)]
pub struct Ladder {
    phase: Phase,
    leftover: Leftover,
    /// Whether the lease ends by time. If so, nothing starts without deadlines.
    is_timed: bool,
    deadlines: Option<Deadlines>,
    kill_at: Option<Boottime>,
    /// How the command was last asked to stop.
    asked: Option<Asked>,
    /// The next instant to act on leftover processes.
    leftover_at: Option<Boottime>,
    /// The instant at which the command ended.
    ended: Option<Boottime>,
    kills_for: KillsFor,
    wrapper_gone: bool,
    /// Whether the command may be started again, once its last tree is empty.
    restarts: bool,
}

impl Ladder {
    /// Makes a ladder for a command that has not been started yet.
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

    /// Returns a ladder with restarts: each further order starts the command again. There is no restart after a tree
    /// that ended, or was told to end, for any reason but the command's own end.
    #[must_use]
    pub const fn restarting(self) -> Self {
        Self { restarts: true, ..self }
    }

    /// Returns when [`Event::Tick`] is needed.
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

    /// Returns whether the lease ends by time.
    pub const fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Returns when the kernel must kill the guardian, if the lease ends by time.
    pub fn dead_man(&self) -> Option<Boottime> {
        let sweeps = self.phase == Phase::Sweeping;
        self.deadlines.map(|deadlines| if sweeps { deadlines.last } else { deadlines.dead_man })
    }

    /// Returns the newest deadlines, if the lease ends by time.
    pub const fn deadlines(&self) -> Option<Deadlines> {
        self.deadlines
    }

    /// Returns whether children are being killed, so that each scan of them must kill again.
    pub fn is_killing(&self) -> bool {
        matches!(self.phase, Phase::Killing | Phase::Sweeping)
    }

    /// Returns whether there is no tree, either not yet or no more.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Resting | Phase::Empty)
    }

    /// Returns when everything is killed, as far as is known. The command can count on its leadership until then.
    pub fn kill_at(&self) -> Option<Boottime> {
        let hard = self.deadlines.map(|deadlines| deadlines.hard);
        [hard, self.kill_at].into_iter().flatten().min()
    }

    /// Takes in an event at `now`, which never goes back, and returns what to do about it.
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
        // The deadline comes first: no order resumes a command whose time is over.
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
            // A guardian that lives kills later arrivals sooner than its own death would.
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
                self.act_if_due(now)
            }
            // All other events are orders that came too late for their phase, or news that change nothing.
            _ => None,
        }
    }

    /// Starts the command, unless it is too late. A stopped guardian may get its order late, or after another order
    /// that rules out a restart.
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

    fn act_if_due(&mut self, now: Boottime) -> Option<Action> {
        if self.kill_at().is_some_and(|at| at <= now) {
            return Some(self.run_out(now));
        }
        if let Some(passed) = self.deadlines.filter(|deadlines| deadlines.soft <= now) {
            return (self.phase != Phase::Stopping).then(|| self.ask(now, passed.hard));
        }
        self.leftover_at.filter(|&at| at <= now)?;
        Some(self.treat_leftover(now))
    }

    /// Takes in the end of the command, whose tree may live on.
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

    fn treat_leftover(&mut self, now: Boottime) -> Action {
        let (asked, awaits) = (self.asked, self.leftover == Leftover::Wait);
        let ended = self.ended.unwrap_or(now);
        self.hurry_leftover(now);
        match asked {
            None if awaits => Action::NameLeftover,
            // Shells make their background processes ignore INT and QUIT.
            Some(Asked { signal, .. }) if awaits || signal == Some(libc::SIGTERM) => {
                Action::AskYoung(Asked { signal, at: ended })
            }
            None | Some(_) => Action::AskLeftover,
        }
    }

    /// Cancels the later request to the leftover processes, as they are asked now. If the command ended by itself,
    /// [`Leftover::Kill`] has them killed when the kill grace from now is over.
    fn hurry_leftover(&mut self, now: Boottime) {
        let is_due = self.leftover_at.take().is_some() && self.asked.is_none();
        if let (Leftover::Kill { kill_grace, .. }, true) = (self.leftover, is_due) {
            self.kill_by(Some(now + kill_grace));
        }
    }

    fn kill_by(&mut self, at: Option<Boottime>) {
        self.kill_at = [self.kill_at, at].into_iter().flatten().min();
    }

    /// Takes in later deadlines, unless the present soft deadline has passed. In that case the command is asked to
    /// stop, and no renewal takes that back.
    fn renew(&mut self, now: Boottime, new: Deadlines) -> Option<Action> {
        let is_late =
            self.deadlines.is_some_and(|known| known.soft <= now || new.soft <= known.soft);
        if is_late && !is_off!(Rising) {
            return None;
        }
        self.deadlines = Some(new);
        // Without a tree there is no danger. The start sets the timer.
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

    /// Begins to kill, as the time of the tree is over.
    fn run_out(&mut self, now: Boottime) -> Action {
        let is_lost = self.phase == Phase::Stopping
            || self.deadlines.is_some_and(|deadlines| deadlines.soft <= now);
        // A command whose leftover processes did not obey has still ended by itself, so it may be started again.
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
