//! Who of those who are there is to lead: the greatest priority, and of equals whoever arrived first.

use std::cmp::Reverse;

use elect_api::{Entry, Survey, Token};

use super::control::Control;

/// What decides between two candidates: the greater one is the better.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whoever led last was asked to hand over to this one.
    pub is_named: bool,
    /// As it is by now; 0 never leads.
    pub priority: u32,
    /// The number of its arrival.
    pub arrival: Reverse<u64>,
    /// Its id.
    pub id: Reverse<String>,
}

/// Who is there, as a store shows it.
#[derive(Clone, Debug)]
pub struct Field {
    /// Who leads or is the next to lead, and who waits.
    pub survey: Survey,
    /// The token of whoever led last, as far as is known.
    pub last: Option<Token>,
}

impl Field {
    /// Whether the head may be about to stand back: somebody better is there, and it has not said yet that it
    /// leads. That is so for some round trips at most, unless it has come to a stop in the middle of them.
    pub fn is_unsettled(&self, control: &Control) -> bool {
        self.unsaid(control).is_some_and(|contest| contest.ours.priority > 0 && !contest.is_ours())
    }

    /// What is shown to people: a head of priority 0 that has not led only keeps its place. It waits as the next.
    pub fn settled(mut self, control: &Control) -> Survey {
        let is_held = self.unsaid(control).is_some_and(|contest| contest.ours.priority == 0);
        if let Some(held) = self.survey.leader.take_if(|_| is_held) {
            self.survey.waiting.insert(0, held.entry);
        }
        self.survey
    }

    /// What there is for a head that has not said yet that it leads, and was not asked to give that up.
    fn unsaid(&self, control: &Control) -> Option<Contest> {
        let leader = self.survey.leader.as_ref()?;
        let is_plain = leader.entry.candidate.is_foreign()
            || self.last == Some(leader.token)
            || control.ends(leader.token);
        if is_plain { None } else { Contest::of(self, control, &leader.entry.candidate.id) }
    }
}

/// Who could lead, as the head of the queue sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The head itself.
    pub ours: Rank,
    /// Those who can lead and would take their turn, the best first. Programs other than elect do not know of
    /// ranks, and whoever stands still would be waited for in vain.
    pub others: Vec<Rank>,
    /// Whether a program other than elect waits.
    pub has_foreign: bool,
    /// The token of whoever led last, as far as is known.
    pub last: Option<Token>,
}

impl Contest {
    /// What is shown of it to the candidate of this id. `None` if that is not there.
    pub fn of(field: &Field, control: &Control, id: &str) -> Option<Self> {
        let Field { survey, last } = field;
        let last = *last;
        let successor = control.successor(last);
        let rank = |entry: &Entry| Rank {
            is_named: successor == Some(entry.candidate.id.as_str()),
            priority: control.priority_of(&entry.candidate.id, entry.candidate.priority),
            arrival: Reverse(entry.arrival),
            id: Reverse(entry.candidate.id.clone()),
        };
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
    /// Whether nobody is to lead rather than we, and we are.
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
    fn the_greatest_priority_then_who_arrived_first_then_the_smaller_id() {
        let waiting =
            vec![entry("b", 80, 2), entry("late", 100, 9), entry("c", 100, 3), entry("z", 80, 2)];
        let field = field(entry("a", 90, 1), waiting);
        let contest = Contest::of(&field, &Control::default(), "a").unwrap();
        assert_eq!(ids(&contest), ["c", "late", "b", "z"]);
        let better = contest.others.iter().filter(|rank| **rank > contest.ours).count();
        assert_eq!(better, 2);
    }

    #[test]
    fn who_cannot_lead_or_would_not_come_does_not_count() {
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
    fn a_head_is_unsettled_until_it_says_that_it_leads() {
        let seen = |head, last| Field { last, ..field(head, vec![entry("b", 100, 2)]) };
        let is_unsettled = |head, last: Option<u64>| {
            seen(head, last.map(Token::new)).is_unsettled(&Control::default())
        };
        assert!(is_unsettled(entry("a", 90, 1), None));
        assert!(is_unsettled(entry("a", 90, 7), Some(6)));
        assert!(!is_unsettled(entry("a", 90, 7), Some(7)));
        assert!(!is_unsettled(entry("a", 100, 1), None));
        assert!(!is_unsettled(Entry::new(Candidate::foreign("a"), None, 1), None));
        let asked = Control::default().stepping_down(
            Token::new(7),
            crate::election::control::Request::new("me".into(), None),
        );
        assert!(!seen(entry("a", 90, 7), None).is_unsettled(&asked));
    }

    #[test]
    fn a_head_of_priority_0_that_has_not_led_is_shown_as_waiting() {
        let shown = |last: Option<u64>| {
            let field = Field {
                last: last.map(Token::new),
                ..field(entry("a", 0, 7), vec![entry("b", 100, 2)])
            };
            assert!(!field.is_unsettled(&Control::default()));
            let survey = field.settled(&Control::default());
            (survey.leader.is_some(), survey.waiting.len())
        };
        assert_eq!(shown(None), (false, 2));
        assert_eq!(shown(Some(7)), (true, 1));
    }
}
