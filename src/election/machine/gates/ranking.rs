//! Who of those who wait is to lead. The store has one order, that of arrival, and its head is the only one who
//! can lead; a head that sees somebody better gives its place up and comes again, behind.

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

/// Whether others are told that it matters who leads, as our priority is not the usual one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Announcement {
    #[default]
    Unsaid,
    /// The store has it, and is to show it.
    Said,
    /// It does not, yet.
    Unshown,
}

/// What came of a look at who is there.
#[derive(Clone, Debug, Default)]
enum Judgement {
    #[default]
    None,
    /// We won with this token, and nobody is to lead rather than we.
    Clear(Token),
    /// This one is to lead rather than we.
    StandBack { id: String, priority: u32 },
    /// We are never to lead, and a program other than elect waits.
    GiveWay,
    /// We are never to lead, for this reason, and nobody else is there.
    LookOn(String),
    /// Another leads, or is to.
    Outdone,
    /// Who is there does not go together with our place. Whoever is before us may only be about to give way.
    Unclear,
}

/// The time in which nobody leads, as we see it.
#[derive(Clone, Debug)]
struct Vacancy {
    /// The token of whoever led before it, as far as is known.
    after: Option<Token>,
    /// When we first were the head in it.
    began: Boottime,
    /// The ids of those for whom we have stood back in it.
    stood_back_for: Vec<String>,
}

impl Gate for RankingGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let is_usual = view.rules.priority == Candidate::USUAL_PRIORITY;
        let is_ranked = view.control.is_ranked() || !is_usual;
        let is_in_haste = view.rules.wait == Wait::No && view.control.pausing().is_none();
        let looks = match view.place {
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
            _ if !looks => Ruling::Pass,
            Judgement::None | Judgement::Clear(_) => Ruling::Ask(Call::Compare),
            Judgement::StandBack { id, priority } => {
                let news = News::StandingBack { id: id.clone(), priority: *priority };
                Ruling::Rejoin(Some(news))
            }
            Judgement::GiveWay => Ruling::Rejoin(None),
            Judgement::LookOn(why) => Ruling::Block(Block::Exclusion(why.clone())),
            Judgement::Outdone => Ruling::Outdone,
            Judgement::Unclear => Ruling::LookAgain,
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
            // What is asked now may be another order of candidates.
            Notice::ControlRead | Notice::Rejoined => self.judgement = Judgement::None,
            Notice::Replied(Reply::Announced) => self.announcement = Announcement::Said,
            Notice::Replied(Reply::Field(field)) => self.judgement = self.judge(view, field),
            Notice::Noted | Notice::Replied(_) => {}
        }
    }
}

impl RankingGate {
    /// Whether nobody is to lead rather than we, who have won.
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
                None => Judgement::LookOn(why),
            },
            // Our entry went meanwhile: the next refresh will say so.
            (Place::First(_), None, _) => Judgement::Unclear,
            (Place::Behind(_) | Place::None, _, exclusion) => {
                let is_settled = !field.is_unsettled(control);
                let leader = field.clone().settled(control).leader;
                // Those before us may have gone since we looked: then the next refresh will say that we have won.
                let is_another = leader.is_some_and(|it| it.entry.candidate.id != rules.id);
                // Whoever comes before us, we are never to lead.
                if is_settled && (is_another || exclusion.is_some()) {
                    Judgement::Outdone
                } else {
                    Judgement::Unclear
                }
            }
        }
    }

    /// Who is to lead rather than we: the best of those for whom we have not stood back already. What they must
    /// have over us grows with the time that nobody leads.
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

/// A priority after so many slots without a leader: each lowers it by a fifth, down to 1.
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
