//! The gates: the conditions that a winner has to pass before the machine starts its command.
//!
//! A gate notes events, and rules on them: it lets the candidate pass, wants a call to the store first, or says why
//! nothing is started. The machine obeys the first gate that does not let the candidate pass. It asks all gates again
//! at each answer of the store. It starts nothing before all gates let the candidate pass at the proof of a win. Some
//! gates also rule on candidates that are about to join, or wait.

mod ranking;

use std::time::Duration;

use elect_api::{Boottime, Token, Written};

use self::ranking::RankingGate;
use super::{Attempted, Block, Call, Counting, News, Reply, Rules, Settles, Verdict};
use crate::election::control::Control;
use crate::election::division::Agreement;
use crate::guard::is_off;

/// The place of a candidate that does not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has no place yet, or has given it up.
    None,
    /// This many entries are ahead. With 0 it is about to enter.
    Behind(usize),
    /// It has won with this token, and nothing is started.
    First(Token),
}

/// The facts that a gate rules on.
pub(super) struct View<'a> {
    pub(super) now: Boottime,
    pub(super) place: Place,
    pub(super) rules: &'a Rules,
    /// The requests to the election, as last read.
    pub(super) control: &'a Control,
    /// The time from a win to the start, if a mark in the history has to be written before the start.
    pub(super) delay: Option<Duration>,
    /// The length of a lease.
    pub(super) window: Duration,
}

/// An event for the gates.
pub(super) enum Notice<'a> {
    /// The store has answered about the place: the candidate has joined, or its place is confirmed.
    Placed,
    /// The requests to the election have changed.
    ControlRead,
    /// More keys may be done.
    Noted,
    /// The place is given up, and the candidate joins again.
    Rejoined,
    /// The store has answered a call of a gate.
    Replied(&'a Reply),
}

/// The ruling of a gate.
#[derive(Debug)]
pub(super) enum Ruling {
    /// The candidate may pass.
    Pass,
    /// This call has to be made first. If it has no answer, the place is confirmed before the call is repeated.
    Ask(Call),
    /// What the store shows is not usable yet. Ask again after a pause.
    AskAgain,
    /// The candidate keeps its place and starts nothing.
    Block(Block),
    /// The candidate has to give its place up, and joins again behind all others.
    Rejoin(Option<News>),
    /// Another candidate leads or will lead. A candidate that does not wait leaves.
    Outdone,
    /// The candidate has to leave.
    Leave(Verdict),
}

trait Gate {
    /// Rules on the events so far.
    fn rule(&self, view: &View<'_>) -> Ruling;

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>);
}

/// All gates.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    division: DivisionGate,
    once: OnceGate,
    control: ControlGate,
    ranking: RankingGate,
    delay: DelayGate,
    attempt: AttemptGate,
}

impl Gates {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            division: DivisionGate::new(rules.settles),
            once: OnceGate::default(),
            control: ControlGate,
            ranking: RankingGate::default(),
            delay: DelayGate::default(),
            attempt: AttemptGate::default(),
        }
    }

    /// Returns the ruling of the first gate that does not let the candidate pass. The delay is the last but one, as it
    /// ends by itself. People must not hear that a start follows which another gate prevents. A run is counted after
    /// the delay, as a run that never starts does not count.
    pub(super) fn rule(&self, view: &View<'_>) -> Ruling {
        let Self { division, once, control, ranking, delay, attempt } = self;
        let gates: [&dyn Gate; 6] = [division, once, control, ranking, delay, attempt];
        let mut rulings = gates.into_iter().map(|gate| gate.rule(view));
        rulings.find(|ruling| !matches!(ruling, Ruling::Pass)).unwrap_or(Ruling::Pass)
    }

    pub(super) fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        let Self { division, once, control, ranking, delay, attempt } = self;
        let gates: [&mut dyn Gate; 6] = [division, once, control, ranking, delay, attempt];
        for gate in gates {
            gate.hear(view, heard);
        }
    }
}

/// Obeys the requests to the election: a pause, or a leader's resignation.
///
/// While the election is paused, a winner keeps its place, so that no candidate that ignores the control cell leads. If
/// it is asked to give the place up, it joins again as a newcomer.
#[derive(Clone, Debug)]
pub(super) struct ControlGate;

impl Gate for ControlGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let Place::First(token) = view.place else { return Ruling::Pass };
        if let Some(why) = view.control.step_down(token) {
            return Ruling::Rejoin(Some(News::SteppingDown(why)));
        }
        view.control.pause().map_or(Ruling::Pass, |why| Ruling::Block(Block::Pause(why)))
    }

    fn hear(&mut self, _: &View<'_>, _: &Notice<'_>) {}
}

/// Finds out whether the `--once` key is done already. It asks before the candidate joins, whenever that cell changes,
/// and again after the win. From then on no other candidate can do the work.
#[derive(Clone, Debug, Default)]
pub(super) enum OnceGate {
    #[default]
    Unasked,
    /// The key was not done at the last question.
    Open,
    /// The key was not done after the win with this token. No other candidate can do it now.
    Clear(Token),
    Done,
}

impl Gate for OnceGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        match (self, view.place) {
            _ if !view.rules.once => Ruling::Pass,
            (Self::Done, _) => Ruling::Leave(Verdict::AlreadyDone),
            (Self::Clear(cleared), Place::First(token)) if *cleared == token => Ruling::Pass,
            (Self::Unasked, _) | (_, Place::First(_)) => Ruling::Ask(Call::Recall),
            (Self::Open | Self::Clear(_), _) => Ruling::Pass,
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        match (heard, view.place) {
            (Notice::Replied(Reply::Done(true)), _) => *self = Self::Done,
            (Notice::Replied(Reply::Done(false)), Place::First(token)) => {
                *self = Self::Clear(token);
            }
            (Notice::Replied(Reply::Done(false)), _) => *self = Self::Open,
            (Notice::Noted | Notice::Rejoined, _) => *self = Self::Unasked,
            _ => {}
        }
    }
}

/// Makes sure that the run is counted before it starts. The count is written in one step with the proof of leadership,
/// so that a crash counts as well.
#[derive(Clone, Debug, Default)]
pub(super) enum AttemptGate {
    #[default]
    Uncounted,
    /// The run is counted, since the win with this token.
    Counted(Token),
    /// The limit of counted runs is reached.
    UsedUp(String),
}

impl Gate for AttemptGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let Place::First(token) = view.place else { return Ruling::Pass };
        match self {
            _ if view.rules.counting == Counting::Off || is_off!(CountFirst) => Ruling::Pass,
            Self::UsedUp(why) => Ruling::Leave(Verdict::UsedUp(why.clone())),
            Self::Counted(counted) if *counted == token => Ruling::Pass,
            Self::Uncounted | Self::Counted(_) => Ruling::Ask(Call::Attempt(token)),
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        match (heard, view.place) {
            (Notice::Replied(Reply::Attempted(Attempted::Counted)), Place::First(token)) => {
                *self = Self::Counted(token);
            }
            (Notice::Replied(Reply::Attempted(Attempted::UsedUp(why))), _) => {
                *self = Self::UsedUp(why.clone());
            }
            _ => {}
        }
    }
}

/// Makes sure that all candidates agree on the division of the election.
///
/// A candidate that divides the election finds out before it joins. Any other candidate makes no request for that,
/// unless the control cell shows another division. Then nothing is started before that is settled.
#[derive(Clone, Debug)]
pub(super) enum DivisionGate {
    /// It has to be found out.
    Unsettled,
    /// All agree, as the store has answered. The control cell has to show it next.
    Told,
    /// The control cell does not show it: another candidate has undone it, or the store does not show it yet.
    Unshown,
    /// No candidate disagrees, as far as is known.
    Settled,
    /// Other candidates use another division, as the text says.
    Disputed(String),
}

impl DivisionGate {
    pub(super) const fn new(settles: Settles) -> Self {
        match settles {
            Settles::First => Self::Unsettled,
            Settles::IfShown => Self::Settled,
        }
    }
}

impl Gate for DivisionGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let is_shown = view.control.is_divided(view.rules.division);
        match self {
            Self::Disputed(why) => Ruling::Leave(Verdict::Failed(why.clone())),
            Self::Unsettled if view.place == Place::None || !is_shown => Ruling::Ask(Call::Settle),
            Self::Unshown if !is_shown => Ruling::AskAgain,
            _ => Ruling::Pass,
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        let is_shown = view.control.is_divided(view.rules.division);
        match (heard, &self) {
            (Notice::Replied(Reply::Agreement(Agreement::Ours)), _) => *self = Self::Told,
            (Notice::Replied(Reply::Agreement(Agreement::Disputed(why))), _) => {
                *self = Self::Disputed(why.clone());
            }
            (Notice::Placed, _) if is_shown => *self = Self::Settled,
            (Notice::Placed, Self::Told | Self::Settled) => *self = Self::Unshown,
            (Notice::Placed, Self::Unshown) => *self = Self::Unsettled,
            (Notice::ControlRead, _) if !is_shown => *self = Self::Unsettled,
            _ => {}
        }
    }
}

/// The lock delay. A winner writes to the history that it begins, before it starts anything. It waits a while before
/// that if the last leader has not recorded a clean end.
///
/// So if the last leadership in the history ended well, nothing has been started since. A leader that is not in the
/// history has started nothing. A winner that ends while it waits here writes nothing. That does not make the last
/// leadership's end clean.
///
/// A `--once` key has a delay of zero length. A store that does not take the mark could not record the success either,
/// and the next candidate would do the work again.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayGate {
    /// The win, if there is one.
    win: Option<Win>,
}

#[derive(Clone, Copy, Debug)]
struct Win {
    token: Token,
    /// The start of the delay.
    at: Boottime,
    step: Step,
}

/// The progress of a winner before a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The history has to be read for the end of the last leadership.
    Unread,
    /// The beginning has to be written, at this instant or later.
    Unsaid(Boottime),
    /// The beginning is written.
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
        let Some(length) = view.delay else { return };
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
