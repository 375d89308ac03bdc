//! Who of those who wait is to lead. The store has one order, that of arrival, and its head is the only one who
//! can lead; a head that sees somebody better gives its place up and comes again, behind.

use elect_api::{Boottime, Candidate, Error, ErrorKind, Token};

use super::request::Request;
use super::{Command, Machine, News, Phase, Restraint, Wait};
use crate::election::ranking::{Contest, Field, Rank};
use crate::guard::switches::is_off;

/// What is known of who is to lead rather than we.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranking {
    /// Whether we have tried to tell others since our last refresh that it matters who leads.
    has_announced: bool,
    due: Option<Comparison>,
    /// We have, and nobody is to lead rather than we.
    cleared: Option<Token>,
    vacancy: Option<Vacancy>,
}

/// Why it matters who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// We won with this token.
    Win(Token),
    /// We do not wait for a leader; but whoever is before us may only be about to give way.
    Haste,
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

impl Machine {
    /// Whether others have to be told that it matters who leads, as our priority is not the usual one. Whoever
    /// has not heard of the orders yet does not know.
    pub(super) fn has_to_announce(&self) -> bool {
        matches!(self.phase, Phase::Campaigning(Some(_)))
            && !self.ranking.has_announced
            && self.rules.priority != Candidate::USUAL_PRIORITY
            && !self.orders.are_ranked()
    }

    /// Whatever came of it, the next refresh brings what is asked by then.
    pub(super) fn announced(&mut self, now: Boottime, outcome: Result<(), Error>) {
        self.ranking.has_announced = true;
        match outcome {
            // Where nobody can read what is asked, nobody takes part that way; who wants to change it is told.
            Err(error) if error.kind() != ErrorKind::Unfit => self.failed(now, error),
            Ok(()) | Err(_) => {
                self.heard();
                self.request = Request::due(now);
            }
        }
    }

    pub(super) const fn announcement_failed(&mut self) {
        self.ranking.has_announced = true;
    }

    /// Our place is looked after: if others do not know it yet, they are told.
    pub(super) const fn may_announce(&mut self) {
        self.ranking.has_announced = false;
    }

    /// Other orders may be another order of candidates.
    pub(super) const fn compare_anew(&mut self) {
        self.ranking.cleared = None;
    }

    /// Whether a winner with this token has to compare itself with the others first; if so it does that next.
    pub(super) fn has_to_compare(&mut self, now: Boottime, token: Token) -> bool {
        if !self.is_ranked() || is_off!(Comparison) || self.ranking.cleared == Some(token) {
            return false;
        }
        self.ranking.due = Some(Comparison::Win(token));
        self.phase = Phase::Campaigning(Some(0));
        self.misfits = 0;
        self.request = Request::due(now);
        true
    }

    fn is_ranked(&self) -> bool {
        self.orders.are_ranked() || self.rules.priority != Candidate::USUAL_PRIORITY
    }

    /// Whether somebody who does not wait, and has others before it, looks next whether one of them leads.
    pub(super) fn has_to_look_ahead(&mut self, now: Boottime) -> bool {
        let is_in_haste =
            self.rules.wait == Wait::No && self.is_ranked() && self.orders.pausing().is_none();
        if is_in_haste {
            self.ranking.due = Some(Comparison::Haste);
            self.request = Request::due(now);
        }
        is_in_haste
    }

    pub(super) const fn is_to_compare(&self) -> bool {
        self.ranking.due.is_some()
    }

    /// What was asked of the store was not answered: we look after our place, and ask again once it is still ours.
    pub(super) const fn comparison_failed(&mut self) {
        self.ranking.due = None;
    }

    /// Who is there, and who led last.
    pub(super) fn compared(&mut self, now: Boottime, outcome: Result<Box<Field>, Error>) {
        let Some(due) = self.ranking.due.take() else { return };
        let field = match outcome {
            Ok(field) => field,
            Err(error) => return self.failed(now, error),
        };
        self.heard();
        self.request = Request::due(now);
        match (due, Contest::of(&field, &self.orders, &self.rules.id)) {
            (Comparison::Win(token), Some(contest)) => self.judge(now, token, &contest),
            // Our entry went meanwhile: the next refresh will say so.
            (Comparison::Win(_), None) => self.ask_again(now),
            (Comparison::Haste, _) => {
                let is_settled = !field.is_unsettled(&self.orders);
                let leader = field.settled(&self.orders).leader;
                // Those before us may have gone since we looked: then the next refresh will say that we have won.
                let is_another = leader.is_some_and(|it| it.entry.candidate.id != self.rules.id);
                // Whoever comes before us, we are never to lead.
                if is_settled && (is_another || self.exclusion().is_some()) {
                    return self.lose_patience(now);
                }
                self.ask_again(now);
            }
        }
    }

    fn judge(&mut self, now: Boottime, token: Token, contest: &Contest) {
        if let Some(why) = self.exclusion() {
            match contest.others.first() {
                Some(best) => self.stand_back(now, best),
                None if contest.has_foreign => self.rejoin(now),
                None => self.look_on(now, why),
            }
            return;
        }
        match self.better(now, contest) {
            Some(better) => self.stand_back(now, &better),
            None => self.ranking.cleared = Some(token),
        }
    }

    /// Who is to lead rather than we: the best of those for whom we have not stood back already. What they must
    /// have over us grows with the time that nobody leads.
    fn better(&mut self, now: Boottime, contest: &Contest) -> Option<Rank> {
        let slot = self.timing.window();
        let vacancy = match &mut self.ranking.vacancy {
            Some(vacancy) if vacancy.after == contest.last => vacancy,
            outdated => outdated.insert(Vacancy {
                after: contest.last,
                began: now,
                stood_back_for: Vec::new(),
            }),
        };
        let mut slots = now.since(vacancy.began).as_nanos() / slot.as_nanos().max(1);
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

    fn stand_back(&mut self, now: Boottime, better: &Rank) {
        let id = better.id.0.clone();
        self.say(Command::Tell(News::StandingBack { id: id.clone(), priority: better.priority }));
        if let Some(vacancy) = &mut self.ranking.vacancy {
            vacancy.stood_back_for.push(id);
        }
        self.rejoin(now);
    }

    /// Gives our place up, and comes again behind all others.
    pub(super) fn rejoin(&mut self, now: Boottime) {
        self.restraint = Restraint::Rejoin;
        self.request = Request::due(now);
    }

    /// Keeps a place that nobody else wants, and never leads.
    fn look_on(&mut self, now: Boottime, why: String) {
        self.request = Request::due(now + self.timing.renew_interval);
        if std::mem::replace(&mut self.restraint, Restraint::Exclusion) != Restraint::Exclusion {
            self.say(Command::Tell(News::LookingOn(why)));
        }
        self.say(Command::LookOut);
        self.leave_if_impatient(now, true);
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
