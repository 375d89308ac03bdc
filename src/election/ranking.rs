//! The ranking of candidates: the greatest priority leads, and among equals the earliest arrival.

use std::cmp::Reverse;

use elect_api::{Entry, Survey, Token};

use super::control::Control;

/// What decides between two candidates. The greater rank is the better.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whether the last leader was asked to hand over to this candidate.
    pub is_named: bool,
    /// The priority in force now. A candidate of priority 0 never leads.
    pub priority: u32,
    /// The number of its arrival.
    pub arrival: Reverse<u64>,
    /// Its id.
    pub id: Reverse<String>,
}

impl Rank {
    /// Returns the rank of an entry by the orders in force. `last` is the token of the last leader.
    fn of(entry: &Entry, control: &Control, last: Option<Token>) -> Self {
        let candidate = &entry.candidate;
        Self {
            is_named: control.successor(last) == Some(candidate.id.as_str()),
            priority: control.priority_of(&candidate.id, candidate.priority),
            arrival: Reverse(entry.arrival),
            id: Reverse(candidate.id.clone()),
        }
    }

    /// Sorts waiters into the order in which they would lead, the next first. `last` is the token of the last leader.
    /// Programs other than elect know no ranks. While one of them waits, the order of arrival stays.
    pub fn sort(waiting: &mut [Entry], control: &Control, last: Option<Token>) {
        if !waiting.iter().any(|entry| entry.candidate.is_foreign()) {
            waiting.sort_by_cached_key(|entry| Reverse(Self::of(entry, control, last)));
        }
    }
}

/// The candidates that take part, as a store shows them, and the last leader.
#[derive(Clone, Debug)]
pub struct Field {
    /// The head of the queue, which leads or is about to, and the waiters.
    pub survey: Survey,
    /// The token of the last leader, as far as is known.
    pub last: Option<Token>,
}

impl Field {
    /// Returns whether the head may be about to give way, as a better candidate waits and the head has not recorded yet
    /// that it leads. This lasts some round trips at most, unless the head has stopped in between.
    pub fn may_yield(&self, control: &Control) -> bool {
        self.unsaid(control).is_some_and(|contest| contest.ours.priority > 0 && !contest.is_ours())
    }

    /// Returns the survey as people see it. A head of priority 0 that has not led only keeps its place, and is shown as
    /// the first waiter.
    pub fn into_shown(mut self, control: &Control) -> Survey {
        let is_held = self.unsaid(control).is_some_and(|contest| contest.ours.priority == 0);
        if let Some(held) = self.survey.leader.take_if(|_| is_held) {
            self.survey.waiting.insert(0, held.entry);
        }
        self.survey
    }

    /// Returns the contest for a head that has not recorded yet that it leads, and was not asked to give leadership up.
    fn unsaid(&self, control: &Control) -> Option<Contest> {
        let leader = self.survey.leader.as_ref()?;
        let is_plain = leader.entry.candidate.is_foreign()
            || self.last == Some(leader.token)
            || control.ends(leader.token);
        if is_plain { None } else { Contest::of(self, control, &leader.entry.candidate.id) }
    }
}

/// The candidates that could lead, from the view of the head of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The rank of the head itself.
    pub ours: Rank,
    /// The other candidates that can lead and would take their turn, the best first. Other programs than elect are left
    /// out, as they know no ranks. Stopped candidates are left out, as the head would wait for them without end.
    pub others: Vec<Rank>,
    /// Whether a program other than elect waits.
    pub has_foreign: bool,
    /// The token of the last leader, as far as is known.
    pub last: Option<Token>,
}

impl Contest {
    /// Returns the contest for the candidate with this id, or `None` if it has no entry.
    pub fn of(field: &Field, control: &Control, id: &str) -> Option<Self> {
        let Field { survey, last } = field;
        let last = *last;
        let rank = |entry: &Entry| Rank::of(entry, control, last);
        let (ours, rivals): (Vec<_>, Vec<_>) =
            survey.entries().partition(|entry| entry.candidate.id == id);
        let ours = rank(ours.first()?);
        let (foreign, rivals): (Vec<_>, Vec<_>) =
            rivals.into_iter().partition(|entry| entry.candidate.is_foreign());
        let able = rivals.into_iter().filter(|entry| !entry.is_stopped).map(rank);
        let mut others: Vec<Rank> = able.filter(|rank| rank.priority > 0).collect();
        others.sort_by(|a, b| b.cmp(a));
        Some(Self { ours, others, has_foreign: !foreign.is_empty(), last })
    }
}

impl Contest {
    /// Returns whether the head itself is the best candidate and may lead.
    fn is_ours(&self) -> bool {
        self.ours.priority > 0 && self.others.first().is_none_or(|best| *best < self.ours)
    }
}

#[cfg(test)]
mod tests {
    use elect_api::{Candidate, Leader};

    use super::*;

    fn entry(id: &str, priority: u32, arrival: u64) -> Entry {
        let host = "web".to_owned();
        Entry::new(Candidate { host, priority, ..Candidate::foreign(id) }, None, arrival)
    }

    fn field(head: Entry, waiting: Vec<Entry>) -> Field {
        let token = Token::new(head.arrival);
        let leader = Leader::new(head, token);
        Field { survey: Survey { leader: Some(leader), waiting }, last: None }
    }

    fn ids(contest: &Contest) -> Vec<&str> {
        contest.others.iter().map(|rank| rank.id.0.as_str()).collect()
    }

    #[test]
    fn ranks_go_by_priority_then_arrival_then_id() {
        let waiting =
            vec![entry("b", 80, 2), entry("late", 100, 9), entry("c", 100, 3), entry("z", 80, 2)];
        let field = field(entry("a", 90, 1), waiting);
        let contest = Contest::of(&field, &Control::default(), "a").unwrap();
        assert_eq!(ids(&contest), ["c", "late", "b", "z"]);
        let better = contest.others.iter().filter(|rank| **rank > contest.ours).count();
        assert_eq!(better, 2);
    }

    #[test]
    fn waiters_are_sorted_as_they_would_lead_unless_a_foreign_program_waits() {
        let mut waiting = vec![entry("b", 80, 2), entry("a", 0, 1), entry("d", 90, 4)];
        waiting.extend([entry("c", 90, 3), entry("e", 50, 5)]);
        let request = crate::election::control::Request::new("me".into(), None);
        let control = Control::default().handing_over(Token::new(7), Some("e".into()), request);
        let sorted = |waiting: &[Entry], last| {
            let mut waiting = waiting.to_vec();
            Rank::sort(&mut waiting, &control, Some(Token::new(last)));
            waiting.into_iter().map(|entry| entry.candidate.id).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sorted(&waiting, 7), "e c d b a");
        assert_eq!(sorted(&waiting, 8), "c d b e a");
        waiting.push(Entry::new(Candidate::foreign("foreign"), None, 6));
        assert_eq!(sorted(&waiting, 7), "b a d c e foreign");
    }

    #[test]
    fn a_candidate_that_cannot_or_would_not_lead_does_not_count() {
        let mut stopped = entry("stopped", 200, 3);
        stopped.is_stopped = true;
        let foreign = Entry::new(Candidate::foreign("foreign"), None, 4);
        let waiting = vec![entry("observer", 0, 2), stopped, foreign, entry("b", 50, 5)];
        let field = field(entry("a", 90, 1), waiting);
        let contest = Contest::of(&field, &Control::default(), "a").unwrap();
        assert_eq!(ids(&contest), ["b"]);
        assert!(contest.has_foreign);
        assert_eq!(Contest::of(&field, &Control::default(), "who"), None);
    }

    #[test]
    fn a_head_may_yield_until_it_says_that_it_leads() {
        let seen = |head, last| Field { last, ..field(head, vec![entry("b", 100, 2)]) };
        let may_yield = |head, last: Option<u64>| {
            seen(head, last.map(Token::new)).may_yield(&Control::default())
        };
        assert!(may_yield(entry("a", 90, 1), None));
        assert!(may_yield(entry("a", 90, 7), Some(6)));
        assert!(!may_yield(entry("a", 90, 7), Some(7)));
        assert!(!may_yield(entry("a", 100, 1), None));
        assert!(!may_yield(Entry::new(Candidate::foreign("a"), None, 1), None));
        let asked = Control::default().stepping_down(
            Token::new(7),
            crate::election::control::Request::new("me".into(), None),
        );
        assert!(!seen(entry("a", 90, 7), None).may_yield(&asked));
    }

    #[test]
    fn a_head_of_priority_0_that_has_not_led_is_shown_as_waiting() {
        let shown = |last: Option<u64>| {
            let field = Field {
                last: last.map(Token::new),
                ..field(entry("a", 0, 7), vec![entry("b", 100, 2)])
            };
            assert!(!field.may_yield(&Control::default()));
            let survey = field.into_shown(&Control::default());
            (survey.leader.is_some(), survey.waiting.len())
        };
        assert_eq!(shown(None), (false, 2));
        assert_eq!(shown(Some(7)), (true, 1));
    }
}
