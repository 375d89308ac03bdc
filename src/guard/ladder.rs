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
//! One-way: there is no arrow back to `Idle`, and from `Killing` only one to `Empty`.

use elect_api::Boottime;

/// What is done with processes that the command leaves running when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// They are killed before leadership is given up.
    Kill,
    /// Leadership is kept until they have ended by themselves.
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    Lingering,
    Killing,
    Empty,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Start,
    NotStarted,
    CommandEnded,
    NoChildren,
    Signal { signal: i32, resume: bool, kill_at: Option<Boottime> },
    Kill,
    WrapperGone,
    Tick,
}

/// What is to be done about it, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Spawn,
    Signal {
        signal: i32,
        resume: bool,
    },
    /// Kill every child there is; repeated at every event until none is left.
    KillAll,
    /// Say that the tree is empty, having let go of what holds the lease.
    Release,
    Exit,
}

pub(super) struct Ladder {
    phase: Phase,
    leftover: Leftover,
    kill_at: Option<Boottime>,
    wrapper_gone: bool,
}

impl Ladder {
    pub(super) const fn new(leftover: Leftover) -> Self {
        Self { phase: Phase::Idle, leftover, kill_at: None, wrapper_gone: false }
    }

    /// When [`Event::Tick`] is wanted.
    pub(super) const fn next_tick(&self) -> Option<Boottime> {
        match self.phase {
            Phase::Running | Phase::Lingering => self.kill_at,
            _ => None,
        }
    }

    /// Whether children are being killed, so that each look at them should kill again.
    pub(super) fn is_killing(&self) -> bool {
        self.phase == Phase::Killing
    }

    /// Whether there is no tree, not yet or no more.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Empty)
    }

    /// The instant from which the command must not count on its leadership, as far as is known.
    pub(super) const fn kill_at(&self) -> Option<Boottime> {
        self.kill_at
    }

    pub(super) fn step(&mut self, now: Boottime, event: Event) -> Option<Action> {
        match (self.phase, event) {
            (Phase::Idle, Event::Start) => {
                self.phase = Phase::Running;
                Some(Action::Spawn)
            }
            (Phase::Idle | Phase::Running, Event::NotStarted) => {
                self.phase = Phase::Empty;
                Some(Action::Release)
            }
            (Phase::Idle | Phase::Empty, Event::WrapperGone) => Some(Action::Exit),
            (Phase::Running | Phase::Lingering, Event::WrapperGone) => {
                self.wrapper_gone = true;
                Some(self.kill())
            }
            (Phase::Killing, Event::WrapperGone) => {
                self.wrapper_gone = true;
                None
            }
            (Phase::Running, Event::CommandEnded) => match self.leftover {
                Leftover::Kill => Some(self.kill()),
                Leftover::Wait => {
                    self.phase = Phase::Lingering;
                    None
                }
            },
            (Phase::Lingering | Phase::Killing, Event::NoChildren) => {
                self.phase = Phase::Empty;
                Some(if self.wrapper_gone { Action::Exit } else { Action::Release })
            }
            (Phase::Killing, Event::CommandEnded | Event::Tick) => Some(Action::KillAll),
            (Phase::Running | Phase::Lingering, Event::Signal { signal, resume, kill_at }) => {
                self.kill_at = [self.kill_at, kill_at].into_iter().flatten().min();
                Some(Action::Signal { signal, resume })
            }
            (Phase::Running | Phase::Lingering, Event::Kill) => Some(self.kill()),
            (Phase::Running | Phase::Lingering, Event::Tick)
                if self.kill_at.is_some_and(|at| at <= now) =>
            {
                Some(self.kill())
            }
            // An order that came too late for its phase, or news that change nothing.
            _ => None,
        }
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
        let mut ladder = Ladder::new(leftover);
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
        let mut ladder = Ladder::new(Leftover::Kill);
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
