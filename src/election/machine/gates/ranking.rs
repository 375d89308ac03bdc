//! The gate that lets the best candidate lead. The store orders candidates by arrival, and only the head of the queue
//! can lead. A head that sees a better candidate gives its place up, and joins again behind.

use elect_api::{Boottime, Candidate, Token};

use super::{Block, Gate, Notice, Place, Ruling, View};
use crate::election::machine::{Call, News, Reply, Wait};
use crate::election::ranking::{Contest, Field, Rank};
use crate::guard::is_off;

#[derive(Clone, Debug, Default)]
pub(super) struct RankingGate {
    announcement: Announcement,
    judgement: Judgement,
    vacancy: Option<Vacancy>,
}

/// Whether the control cell says that ranks matter, as this candidate's priority is not the usual one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Announcement {
    #[default]
    Unsaid,
    /// The store has it, and has to show it.
    Said,
    /// The store does not show it yet.
    Unshown,
}

/// The outcome of a comparison with the other candidates.
#[derive(Clone, Debug, Default)]
enum Judgement {
    #[default]
    None,
    /// The candidate won with this token, and no better one is there.
    Clear(Token),
    /// The candidate with this id is better, and should lead.
    StandBack { id: String, priority: u32 },
    /// This candidate must never lead, and a program other than elect waits.
    GiveWay,
    /// This candidate must never lead, for this reason, and no other candidate is there.
    Excluded(String),
    /// Another candidate leads, or will lead.
    Outdone,
    /// The survey does not fit the place. The candidate ahead may be about to give way.
    Unclear,
}

/// A time without a leader, as this candidate sees it.
#[derive(Clone, Debug)]
struct Vacancy {
    /// The token of the leader before it, as far as is known.
    after: Option<Token>,
    /// The time at which this candidate first was the head in it.
    began: Boottime,
    /// The ids of the candidates to which this one has given way in it.
    stood_back_for: Vec<String>,
}

impl Gate for RankingGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let is_usual = view.rules.priority == Candidate::USUAL_PRIORITY;
        let is_ranked = view.control.is_ranked() || !is_usual;
        let is_in_haste = view.rules.wait == Wait::No && view.control.pausing().is_none();
        let compares = match view.place {
            Place::None => return Ruling::Pass,
            Place::First(_) => is_ranked && !is_off!(Comparison),
            Place::Behind(ahead) => is_ranked && is_in_haste && ahead > 0,
        };
        let has_to_announce = !is_usual && !view.control.is_ranked();
        match &self.judgement {
            _ if self.has_cleared(view) => Ruling::Pass,
            _ if has_to_announce && self.announcement == Announcement::Unsaid => {
                Ruling::Ask(Call::Announce)
            }
            _ if !compares => Ruling::Pass,
            Judgement::None | Judgement::Clear(_) => Ruling::Ask(Call::Compare),
            Judgement::StandBack { id, priority } => {
                let news = News::StandingBack { id: id.clone(), priority: *priority };
                Ruling::Rejoin(Some(news))
            }
            Judgement::GiveWay => Ruling::Rejoin(None),
            Judgement::Excluded(why) => Ruling::Block(Block::Exclusion(why.clone())),
            Judgement::Outdone => Ruling::Outdone,
            Judgement::Unclear => Ruling::AskAgain,
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        match heard {
            Notice::Placed => {
                if !self.has_cleared(view) {
                    self.judgement = Judgement::None;
                }
                self.announcement = match self.announcement {
                    Announcement::Said => Announcement::Unshown,
                    _ => Announcement::Unsaid,
                };
            }
            // The requests may have changed the order of candidates.
            Notice::ControlRead | Notice::Rejoined => self.judgement = Judgement::None,
            Notice::Replied(Reply::Announced) => self.announcement = Announcement::Said,
            Notice::Replied(Reply::Field(field)) => self.judgement = self.judge(view, field),
            Notice::Noted | Notice::Replied(_) => {}
        }
    }
}

impl RankingGate {
    /// Returns whether the candidate has won, and no better one is there.
    fn has_cleared(&self, view: &View<'_>) -> bool {
        matches!((&self.judgement, view.place), (Judgement::Clear(cleared), Place::First(token)) if *cleared == token)
    }

    fn judge(&mut self, view: &View<'_>, field: &Field) -> Judgement {
        let View { rules, control, .. } = view;
        let exclusion = control.exclusion(&rules.id, rules.priority);
        let contest = Contest::of(field, control, &rules.id);
        match (view.place, contest, exclusion) {
            (Place::First(token), Some(contest), None) => match self.better(view, &contest) {
                Some(better) => self.stand_back(&better),
                None => Judgement::Clear(token),
            },
            (Place::First(_), Some(contest), Some(why)) => match contest.others.first() {
                Some(best) => self.stand_back(best),
                None if contest.has_foreign => Judgement::GiveWay,
                None => Judgement::Excluded(why),
            },
            // The entry has gone meanwhile. The next refresh will say so.
            (Place::First(_), None, _) => Judgement::Unclear,
            (Place::Behind(_) | Place::None, _, exclusion) => {
                let may_yield = field.may_yield(control);
                let leader = field.clone().into_shown(control).leader;
                // Those ahead may have gone since the refresh. Then the next refresh will show the win.
                let is_another = leader.is_some_and(|it| it.entry.candidate.id != rules.id);
                // Whichever candidate comes first, this one must never lead.
                if !may_yield && (is_another || exclusion.is_some()) {
                    Judgement::Outdone
                } else {
                    Judgement::Unclear
                }
            }
        }
    }

    /// Returns the best candidate that outranks this one, without those to which it has given way already. The longer
    /// the time without a leader, the greater the priority that the other one needs.
    fn better(&mut self, view: &View<'_>, contest: &Contest) -> Option<Rank> {
        let now = view.now;
        let vacancy = match &mut self.vacancy {
            Some(vacancy) if vacancy.after == contest.last => vacancy,
            outdated => outdated.insert(Vacancy {
                after: contest.last,
                began: now,
                stood_back_for: Vec::new(),
            }),
        };
        let mut slots = now.since(vacancy.began).as_nanos() / view.window.as_nanos().max(1);
        if is_off!(Sinking) {
            slots = 0;
        }
        let counts = |rank: &&Rank| {
            let lowered = Rank { priority: lowered(rank.priority, slots), ..(*rank).clone() };
            let is_done = vacancy.stood_back_for.contains(&rank.id.0) && !is_off!(StandBackOnce);
            lowered > contest.ours && !is_done
        };
        contest.others.iter().find(counts).cloned()
    }

    fn stand_back(&mut self, better: &Rank) -> Judgement {
        let id = better.id.0.clone();
        if let Some(vacancy) = &mut self.vacancy {
            vacancy.stood_back_for.push(id.clone());
        }
        Judgement::StandBack { id, priority: better.priority }
    }
}

/// Returns a priority after `slots` leases without a leader. Each lowers it by a fifth, down to 1.
fn lowered(priority: u32, slots: u128) -> u32 {
    let mut priority = priority;
    for _ in 0..slots {
        if priority <= 1 {
            break;
        }
        priority = priority * 4 / 5;
    }
    priority.max(1)
}

#[cfg(test)]
mod tests {
    use super::lowered;

    #[test]
    fn a_slot_lowers_by_a_fifth_down_to_one() {
        let after = |slots| lowered(100, slots);
        assert_eq!([after(0), after(1), after(2), after(3), after(4)], [100, 80, 64, 51, 40]);
        assert_eq!(after(u128::MAX), 1);
        assert_eq!(lowered(1_000_000, 1), 800_000);
    }
}
