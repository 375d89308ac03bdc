//! What stands between a win and a start: one gate behind the other, each of one shape.
//!
//! A gate hears what happens, and rules on what it has heard: it lets the candidate pass, or has the store asked
//! first, or says why nothing is to be started. The machine obeys the first that does not let pass, and looks again
//! at all of them at each answer of the store. Nothing is started before all have let pass at the proof of a win. Some
//! rule on whoever is about to join, or waits, as well.

mod ranking;

use std::time::Duration;

use elect_api::{Boottime, Token, Written};

use self::ranking::RankingGate;
use super::{Attempted, Block, Call, Counting, News, Reply, Rules, Settles, Verdict};
use crate::election::control::Control;
use crate::election::division::Agreement;
use crate::guard::is_off;

/// Where a candidate stands that does not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has no place yet, or has given it up.
    None,
    /// So many are before it; with 0 it is about to enter.
    Behind(usize),
    /// It has won with this token, and nothing is started.
    First(Token),
}

/// What a gate sees.
pub(super) struct View<'a> {
    pub(super) now: Boottime,
    pub(super) place: Place,
    pub(super) rules: &'a Rules,
    /// What people ask of the election, as last read.
    pub(super) control: &'a Control,
    /// From a win to the start, if a mark in the history has to be there by then.
    pub(super) delay: Option<Duration>,
    /// The length of a lease.
    pub(super) window: Duration,
}

/// What happened.
pub(super) enum Notice<'a> {
    /// The store has said where we stand: we have joined, or our place is confirmed.
    Placed,
    /// People ask something else of the election.
    ControlRead,
    /// More may be done by now.
    Noted,
    /// Our place is given up, and we are to come again.
    Rejoined,
    /// The store has answered what a gate has asked.
    Replied(&'a Reply),
}

/// What a gate has to say.
#[derive(Debug)]
pub(super) enum Ruling {
    /// Nothing is in the way.
    Pass,
    /// This is to be asked first. If there is no answer our place is looked after before it is asked again.
    Ask(Call),
    /// What the store shows is nothing to go by, yet: look again after a pause.
    LookAgain,
    /// Nothing is to be started.
    Block(Block),
    /// Our place is to be given up, and we are to come again behind all others.
    Rejoin(Option<News>),
    /// It is another who leads, or is to: whoever does not wait leaves.
    Outdone,
    /// We are to leave.
    Leave(Verdict),
}

trait Gate {
    /// What it has to say by what it has heard.
    fn rule(&self, view: &View<'_>) -> Ruling;

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>);
}

/// All of them.
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

    /// What the first of them says that does not let pass. The delay is the last but one: it is over by itself, and nobody
    /// is to be told that something will be started which another gate keeps from that. A run is counted after it: what
    /// never starts does not count.
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

/// What people ask of the election: that nobody leads for now, or that a leader gives it up.
///
/// While the election is paused a winner keeps its place, so that nobody leads who does not read the control cell; asked to give
/// it up it comes again as a newcomer.
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

/// Whether what is to be done once is done already. It is asked before we join, whenever that cell changes, and again
/// since we won: from then on nobody else can do it.
#[derive(Clone, Debug, Default)]
pub(super) enum OnceGate {
    #[default]
    Unasked,
    /// It was not done when we asked.
    Open,
    /// It was not done since we won with this token, and without us it will not be.
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

/// Whether the run that is about to start is counted. That is written before it starts, in one step with the proof that
/// we lead, so that a crash counts as well.
#[derive(Clone, Debug, Default)]
pub(super) enum AttemptGate {
    #[default]
    Uncounted,
    /// It is, since we won with this token.
    Counted(Token),
    /// As many have been counted as may be.
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

/// Whether all who take part agree on what the election is divided into.
///
/// Whoever divides it finds out before it joins. Anybody else makes no request for it, unless what people ask of the
/// election shows another division; then nothing is started before that is settled.
#[derive(Clone, Debug)]
pub(super) enum DivisionGate {
    /// It is to be found out.
    Unsettled,
    /// All agree, as the store has said and is to show.
    Told,
    /// It does not: somebody has undone it, or the store does not show it yet.
    Unshown,
    /// As far as we know nobody disagrees.
    Settled,
    /// Others divide it otherwise, in these words.
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
            Self::Unshown if !is_shown => Ruling::LookAgain,
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

/// The lock delay: whoever wins says in the history that it begins before it starts anything, and starts nothing for
/// a while where the leader before it has not said there that it ended well.
///
/// So whoever finds the last leadership of the history ended well knows that nobody has started anything since:
/// a leader that was never in the history has started nothing either. One that only waits here says nothing, as what
/// it waits for is no better for its end.
///
/// What is to be done once has a delay of no length: a store that does not take the mark could not record either that it
/// is done, and the next one would do it again.
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
