//! The lock delay: whoever wins says in the history that it begins before it starts anything, and starts nothing for
//! a while where the leader before it has not said there that it ended well.
//!
//! So whoever finds the last leadership of the history ended well knows that nobody has started anything since:
//! a leader that was never in the history has started nothing either. One that only waits here says nothing, as what
//! it waits for is no better for its end.

use elect_api::{Boottime, Token, Written};

use super::{Block, Gate, Notice, Place, Ruling, View};
use crate::election::machine::{Call, Reply};

#[derive(Clone, Debug, Default)]
pub(super) struct DelayGate {
    /// Our win, if there is one.
    win: Option<Win>,
}

#[derive(Clone, Copy, Debug)]
struct Win {
    token: Token,
    /// The delay counts from here.
    at: Boottime,
    step: Step,
}

/// How far a winner is with what comes before a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// How the leader before us has ended is to be found out.
    Unread,
    /// It is to be said that we begin, at this instant or later.
    Unsaid(Boottime),
    /// That is said.
    Said,
}

impl Gate for DelayGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        match (self.win, view.place) {
            (Some(Win { token, step, .. }), Place::First(_)) => match step {
                Step::Unread => Ruling::Ask(Call::ReadHistory),
                Step::Unsaid(until) if until > view.now => {
                    Ruling::Block(Block::Delay { token, until, left: until.since(view.now) })
                }
                Step::Unsaid(_) => Ruling::Ask(Call::BeginHistory(token)),
                Step::Said => Ruling::Pass,
            },
            _ => Ruling::Pass,
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        let Some(length) = view.rules.lock_delay else { return };
        match (heard, view.place) {
            (Notice::Placed, Place::First(token)) => {
                self.win = self.win.filter(|win| win.token == token);
                self.win.get_or_insert(Win { token, at: view.now, step: Step::Unread });
            }
            (Notice::Placed | Notice::Rejoined, _) => self.win = None,
            (Notice::Replied(Reply::EndedWell(has_ended_well)), _) => {
                if let Some(win) = &mut self.win {
                    let until = if *has_ended_well { win.at } else { win.at + length };
                    win.step = Step::Unsaid(until);
                }
            }
            (Notice::Replied(Reply::Written(Written::Yes(_))), _) => {
                if let Some(win) = &mut self.win {
                    win.step = Step::Said;
                }
            }
            _ => {}
        }
    }
}
