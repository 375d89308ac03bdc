//! The report as a table for people.

use std::iter;
use std::time::{Duration, SystemTime};

use elect_api::Candidate;

use super::{ElectionStatus, LeaderStatus, Past, PauseStatus, StatusReport, WaitingStatus};
use crate::report::{Table, age};

/// The columns of the table.
const HEADINGS: [&str; 13] = [
    "ELECTION",
    "ROLE",
    "PLACE",
    "ID",
    "HOST",
    "PID",
    "COMMAND",
    "SINCE",
    "TOKEN",
    "LEFT",
    "SUSPICION",
    "CONTAINMENT",
    "PRIORITY",
];
/// The one of them that only somebody who goes on looking can fill.
const SUSPICION: usize = 10;
/// The one that says nothing where all have the usual one.
const PRIORITY: usize = 12;

impl StatusReport {
    /// The report as a table for people; the ages in it are as of `now`.
    pub fn table(&self, now: SystemTime) -> String {
        self.columns(now, |column| column != SUSPICION)
    }

    /// The same, with what somebody knows who goes on looking.
    pub fn live_table(&self, now: SystemTime) -> String {
        self.columns(now, |_| true)
    }

    fn columns(&self, now: SystemTime, is_wanted: fn(usize) -> bool) -> String {
        fn only<T>(
            cells: impl IntoIterator<Item = T>,
            is_shown: impl Fn(usize) -> bool,
        ) -> impl Iterator<Item = T> {
            let cells = cells.into_iter().enumerate();
            cells.filter(move |(column, _)| is_shown(*column)).map(|(_, cell)| cell)
        }
        let is_ranked = self.elections.iter().any(ElectionStatus::is_ranked);
        let is_shown = |column| is_wanted(column) && (column != PRIORITY || is_ranked);
        let headings: Vec<&str> = only(HEADINGS, is_shown).collect();
        let mut table = Table::new(&headings);
        for election in &self.elections {
            let name = &election.election;
            if let Some(leader) = &election.leader {
                table.row(only(leader.cells(name, now), is_shown));
            } else {
                let (role, id) = match &election.past {
                    None => match &election.paused {
                        None => ("no-leader", String::new()),
                        Some(pause) => ("paused", pause.in_words()),
                    },
                    Some(Past { leader: None }) => ("unknown", String::new()),
                    Some(Past { leader: Some(id) }) => ("unknown", format!("was {id}")),
                };
                let known = [name.clone(), role.to_owned(), String::new(), id];
                let rest = iter::repeat_n(String::new(), HEADINGS.len() - known.len());
                table.row(only(known.into_iter().chain(rest), is_shown));
            }
            for waiting in &election.waiting {
                table.row(only(waiting.cells(name, now), is_shown));
            }
        }
        table.render()
    }
}

impl ElectionStatus {
    /// Whether somebody has another priority than the usual one.
    fn is_ranked(&self) -> bool {
        let waiting = self.waiting.iter().map(|waiting| waiting.priority);
        let leader = self.leader.iter().map(|leader| leader.priority);
        leader.chain(waiting).flatten().any(|priority| priority != Candidate::USUAL_PRIORITY)
    }
}

impl PauseStatus {
    fn in_words(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        format!("by {}{}", self.by, reason.unwrap_or_default())
    }
}

impl LeaderStatus {
    fn cells(&self, election: &str, now: SystemTime) -> [String; HEADINGS.len()] {
        [
            election.to_owned(),
            "leader".to_owned(),
            String::new(),
            self.id.clone(),
            self.host.clone().unwrap_or_default(),
            self.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            self.command.clone().unwrap_or_default(),
            age_of(self.since.as_deref(), now),
            self.token.to_string(),
            match (self.remaining_ms, self.is_unlimited) {
                (Some(left), _) => seconds(left),
                (None, true) => "unlimited".to_owned(),
                (None, false) => String::new(),
            },
            self.suspicion.map(|suspicion| suspicion.to_string()).unwrap_or_default(),
            self.containment.clone().unwrap_or_default(),
            self.priority.map(|priority| priority.to_string()).unwrap_or_default(),
        ]
    }
}

impl WaitingStatus {
    fn cells(&self, election: &str, now: SystemTime) -> [String; HEADINGS.len()] {
        [
            election.to_owned(),
            "waiting".to_owned(),
            self.place.to_string(),
            self.id.clone(),
            self.host.clone().unwrap_or_default(),
            self.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            self.command.clone().unwrap_or_default(),
            age_of(self.joined.as_deref(), now),
            String::new(),
            String::new(),
            String::new(),
            self.containment.clone().unwrap_or_default(),
            self.priority.map(|priority| priority.to_string()).unwrap_or_default(),
        ]
    }
}

fn seconds(millis: u64) -> String {
    format!("{}.{}s", millis / 1000, millis % 1000 / 100)
}

/// The age of a time that this report shows; a clock that is ahead of ours makes it 0.
fn age_of(time: Option<&str>, now: SystemTime) -> String {
    let Some(time) = time else { return String::new() };
    let since = humantime::parse_rfc3339(time).unwrap_or(now);
    age(now.duration_since(since).unwrap_or(Duration::ZERO))
}
