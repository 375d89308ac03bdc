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
//! One-way: there is no arrow back to `Idle`, and from `Killing` only one to `Empty`. A ladder that
//! [restarts](Ladder::restarting) has one arrow more: a tree that came to its end because its command did,
//! and for no other reason, leaves it `Resting`, and the next order to start leads to `Running` again.

use elect_api::Boottime;

use super::switches::is_off;

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    Stopping,
    Lingering,
    Killing,
    /// The tree is empty, and another may be started.
    Resting,
    Empty,
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
    /// There is no child left.
    NoChildren,
    /// The lease was renewed.
    Renewed(Deadlines),
    /// Ask the command to stop, as leadership is lost, and kill everything at this instant.
    Stop {
        /// The instant.
        kill_at: Boottime,
    },
    /// Signal the command.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Follow it with CONT.
        resume: bool,
        /// Kill everything at this instant.
        kill_at: Option<Boottime>,
    },
    /// Kill everything now.
    Kill,
    /// The wrapper is dead.
    WrapperGone,
    /// Time has passed.
    Tick,
}

/// What is to be done about it, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the command.
    Spawn,
    /// Start nothing, as its time has passed.
    Refuse,
    /// Ask the command to stop.
    Ask,
    /// Set the kernel's timer to the newest deadlines.
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

    /// The newest deadlines, if the lease ends by time.
    pub const fn deadlines(&self) -> Option<Deadlines> {
        self.deadlines
    }

    /// Whether children are being killed, so that each look at them should kill again.
    pub fn is_killing(&self) -> bool {
        self.phase == Phase::Killing
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
            Event::Stop { .. }
                | Event::Signal { kill_at: Some(_), .. }
                | Event::Kill
                | Event::WrapperGone
        ) {
            self.restarts = false;
        }
        // The deadline is looked at first: no order resumes a command whose time is over.
        let is_order =
            matches!(event, Event::Stop { .. } | Event::Signal { .. } | Event::Renewed(_));
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
            (Phase::Killing, Event::WrapperGone) => {
                self.wrapper_gone = true;
                None
            }
            (Phase::Running, Event::CommandEnded) if self.leftover == Leftover::Wait => {
                self.phase = Phase::Lingering;
                None
            }
            (Phase::Stopping, Event::CommandEnded) if self.leftover == Leftover::Wait => None,
            (Phase::Stopping | Phase::Lingering | Phase::Killing, Event::NoChildren) => {
                self.phase = if self.restarts { Phase::Resting } else { Phase::Empty };
                Some(if self.wrapper_gone { Action::Exit } else { Action::Release })
            }
            (Phase::Killing, Event::CommandEnded | Event::Tick) => Some(Action::KillAll),
            (
                Phase::Idle | Phase::Running | Phase::Lingering | Phase::Resting,
                Event::Renewed(deadlines),
            ) => self.renew(now, deadlines),
            (Phase::Running | Phase::Lingering, Event::Stop { kill_at }) => Some(self.ask(kill_at)),
            (
                Phase::Running | Phase::Stopping | Phase::Lingering,
                Event::Signal { signal, resume, kill_at },
            ) => {
                self.kill_at = [self.kill_at, kill_at].into_iter().flatten().min();
                Some(Action::Signal { signal, resume })
            }
            (Phase::Running | Phase::Stopping, Event::CommandEnded)
            | (Phase::Running | Phase::Stopping | Phase::Lingering, Event::Kill) => {
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
        Some(Action::Rearm)
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
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Boottime {
        Boottime::from_boot(Duration::from_secs(seconds))
    }

    fn run(leftover: Leftover, events: &[(u64, Event)]) -> Vec<Action> {
        let mut ladder = Ladder::new(leftover, false);
        events.iter().filter_map(|&(second, event)| ladder.step(at(second), event)).collect()
    }

    const TERM: Event = Event::Signal { signal: 15, resume: true, kill_at: None };

    #[test]
    fn a_command_that_ends_is_swept_before_the_release() {
        let events = [
            (1, Event::Start),
            (2, Event::CommandEnded),
            (3, Event::CommandEnded),
            (3, Event::NoChildren),
        ];
        assert_eq!(
            run(Leftover::Kill, &events),
            [Action::Spawn, Action::KillAll, Action::KillAll, Action::Release]
        );
        assert_eq!(run(Leftover::Wait, &events), [Action::Spawn, Action::Release]);
    }

    #[test]
    fn it_starts_one_command_only() {
        let events = [
            (1, Event::Start),
            (1, Event::Start),
            (1, Event::Kill),
            (1, Event::Start),
            (2, Event::NoChildren),
            (3, Event::Start),
        ];
        assert_eq!(run(Leftover::Kill, &events), [Action::Spawn, Action::KillAll, Action::Release]);
    }

    #[test]
    fn a_command_that_cannot_be_made_leaves_an_empty_tree() {
        let events =
            [(1, Event::Start), (1, Event::NotStarted), (2, Event::Start), (3, Event::WrapperGone)];
        assert_eq!(run(Leftover::Kill, &events), [Action::Spawn, Action::Release, Action::Exit]);
        assert_eq!(
            run(Leftover::Kill, &[(1, Event::NotStarted), (2, Event::Start)]),
            [Action::Release]
        );
    }

    #[test]
    fn end_of_file_kills_and_then_leaves_without_a_word() {
        assert_eq!(run(Leftover::Kill, &[(1, Event::WrapperGone)]), [Action::Exit]);
        let events = [
            (1, Event::Start),
            (2, Event::WrapperGone),
            (3, Event::CommandEnded),
            (3, Event::NoChildren),
        ];
        assert_eq!(
            run(Leftover::Wait, &events),
            [Action::Spawn, Action::KillAll, Action::KillAll, Action::Exit]
        );
        let events =
            [(1, Event::Start), (2, Event::Kill), (3, Event::WrapperGone), (4, Event::NoChildren)];
        assert_eq!(run(Leftover::Wait, &events), [Action::Spawn, Action::KillAll, Action::Exit]);
    }

    #[test]
    fn a_signal_escalates_at_the_earliest_instant_named() {
        let ask = |second| Event::Signal { signal: 15, resume: true, kill_at: Some(at(second)) };
        let mut ladder = Ladder::new(Leftover::Kill, false);
        ladder.step(at(1), Event::Start);
        assert_eq!(ladder.step(at(1), ask(9)), Some(Action::Signal { signal: 15, resume: true }));
        ladder.step(at(2), ask(5));
        ladder.step(at(3), ask(8));
        ladder.step(at(3), TERM);
        assert_eq!(ladder.next_tick(), Some(at(5)));
        assert_eq!(ladder.step(at(4), Event::Tick), None);
        assert_eq!(ladder.step(at(5), Event::Tick), Some(Action::KillAll));
        assert_eq!(ladder.step(at(6), TERM), None, "no signal after the kill");
    }

    fn run_restarting(events: &[(u64, Event)]) -> Vec<Action> {
        let mut ladder = Ladder::new(Leftover::Kill, false).restarting();
        events.iter().filter_map(|&(second, event)| ladder.step(at(second), event)).collect()
    }

    #[test]
    fn a_command_that_has_ended_by_itself_may_be_started_again() {
        let events = [
            (1, Event::Start),
            (2, Event::CommandEnded),
            (2, Event::Start),
            (3, Event::NoChildren),
            (4, Event::Renewed(deadlines(9))),
            (5, Event::Start),
            (9, Event::Tick),
            (9, Event::CommandEnded),
            (9, Event::NoChildren),
            (9, Event::Start),
        ];
        let expected = [
            Action::Spawn,
            Action::KillAll,
            Action::Release,
            Action::Rearm,
            Action::Spawn,
            Action::Ask,
            Action::KillAll,
            Action::Release,
        ];
        assert_eq!(run_restarting(&events), expected);
        let events = [(1, Event::Start), (2, Event::CommandEnded), (3, Event::NoChildren)];
        let events = [&events[..], &[(3, Event::WrapperGone)]].concat();
        let expected = [Action::Spawn, Action::KillAll, Action::Release, Action::Exit];
        assert_eq!(run_restarting(&events), expected);
    }

    #[test]
    fn whatever_else_ends_a_tree_is_the_last_of_it() {
        let ends = [
            Event::Kill,
            Event::Stop { kill_at: at(9) },
            Event::Signal { signal: 15, resume: true, kill_at: Some(at(9)) },
        ];
        for end in ends {
            for when in 1..=3 {
                let mut events = vec![
                    (1, Event::Start),
                    (2, Event::CommandEnded),
                    (2, Event::NoChildren),
                    (4, Event::Start),
                ];
                events.insert(when, (2, end));
                let spawned =
                    run_restarting(&events).iter().filter(|&&it| it == Action::Spawn).count();
                assert_eq!(spawned, 1, "{end:?} at {when}");
            }
        }
    }

    #[test]
    fn a_tree_that_is_being_killed_as_its_time_runs_out_is_the_last() {
        let events = [
            (1, Event::Renewed(deadlines(5))),
            (1, Event::Start),
            (3, Event::CommandEnded),
            (6, Event::NoChildren),
            (6, Event::Renewed(deadlines(20))),
            (7, Event::Start),
        ];
        let expected =
            [Action::Rearm, Action::Spawn, Action::KillAll, Action::Release, Action::Refuse];
        assert_eq!(run_restarting(&events), expected);
    }

    fn deadlines(soft: u64) -> Deadlines {
        Deadlines { soft: at(soft), hard: at(soft + 4), dead_man: at(soft + 5) }
    }

    #[test]
    fn the_soft_deadline_asks_and_the_hard_one_kills() {
        let renewed = |soft| Event::Renewed(deadlines(soft));
        let events = [
            (1, renewed(5)),
            (1, Event::Start),
            (3, renewed(7)),
            (5, Event::Tick),
            (7, Event::Tick),
            (8, renewed(20)),
            (10, Event::Tick),
            (11, Event::Tick),
        ];
        let expected = [Action::Rearm, Action::Spawn, Action::Rearm, Action::Ask, Action::KillAll];
        assert_eq!(run(Leftover::Kill, &events), expected);
    }

    #[test]
    fn an_order_that_comes_after_its_deadline_starts_nothing() {
        let events = [(1, Event::Renewed(deadlines(5))), (5, Event::Start), (5, Event::NotStarted)];
        assert_eq!(run(Leftover::Kill, &events), [Action::Rearm, Action::Refuse, Action::Release]);
    }

    #[test]
    fn a_timed_lease_starts_nothing_without_deadlines() {
        let mut ladder = Ladder::new(Leftover::Kill, true);
        assert_eq!(ladder.step(at(1), Event::Start), Some(Action::Refuse));
    }

    #[test]
    fn no_order_resumes_a_command_whose_time_is_over() {
        let mut ladder = Ladder::new(Leftover::Kill, true);
        ladder.step(at(1), Event::Renewed(deadlines(5)));
        ladder.step(at(1), Event::Start);
        let resume = Event::Signal { signal: 18, resume: false, kill_at: None };
        assert_eq!(ladder.step(at(9), resume), Some(Action::KillAll));
    }

    #[test]
    fn deadlines_never_go_back_nor_return_once_they_passed() {
        let mut ladder = Ladder::new(Leftover::Kill, false);
        ladder.step(at(1), Event::Renewed(deadlines(9)));
        ladder.step(at(1), Event::Start);
        assert_eq!(ladder.step(at(2), Event::Renewed(deadlines(8))), None);
        assert_eq!(ladder.next_tick(), Some(at(9)));
        assert_eq!(
            ladder.step(at(9), Event::Renewed(deadlines(20))),
            None,
            "before the tick was seen"
        );
        assert_eq!(ladder.step(at(9), Event::Tick), Some(Action::Ask));
        assert_eq!((ladder.next_tick(), ladder.kill_at()), (Some(at(13)), Some(at(13))));
    }

    #[test]
    fn a_lost_leadership_asks_once_and_ends_at_the_earlier_deadline() {
        let mut ladder = Ladder::new(Leftover::Kill, false);
        ladder.step(at(1), Event::Renewed(deadlines(9)));
        ladder.step(at(1), Event::Start);
        assert_eq!(ladder.step(at(2), Event::Stop { kill_at: at(6) }), Some(Action::Ask));
        assert_eq!(ladder.step(at(3), Event::Stop { kill_at: at(5) }), None);
        assert_eq!(ladder.step(at(4), TERM), Some(Action::Signal { signal: 15, resume: true }));
        assert_eq!(ladder.step(at(6), Event::Tick), Some(Action::KillAll));
    }

    #[test]
    fn no_order_reaches_a_tree_that_is_empty() {
        let events = [
            (1, Event::Start),
            (2, Event::Kill),
            (3, Event::NoChildren),
            (4, TERM),
            (4, Event::Kill),
            (4, Event::Tick),
        ];
        assert_eq!(run(Leftover::Kill, &events), [Action::Spawn, Action::KillAll, Action::Release]);
    }
}
