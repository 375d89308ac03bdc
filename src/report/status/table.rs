//! This file shows the status report as a table for people.

use std::iter;
use std::time::{Duration, SystemTime};

use elect_api::Candidate;

use super::{
    CandidateStatus, ElectionStatus, LeaderStatus, MemberStatus, PartKind, Past, PauseStatus,
    StatusReport, UnprovenStatus, WaitingStatus,
};
use crate::report::{Table, age};

/// The columns of the table.
const HEADINGS: [&str; 15] = [
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
    "HOLDS",
    "NOTE",
];
/// The columns that a narrow terminal leaves out, the least important first.
const SPARE: [&str; 9] =
    ["CONTAINMENT", "PID", "HOST", "LEFT", "COMMAND", "TOKEN", "PLACE", "PRIORITY", "HOLDS"];
/// The columns that are left out only if otherwise the last column could not be read.
const DEAR: [&str; 2] = ["SINCE", "SUSPICION"];
const ROLE: usize = 1;
const PLACE: usize = 2;
const ID: usize = 3;
const HOST: usize = 4;
const PID: usize = 5;
const COMMAND: usize = 6;
const SINCE: usize = 7;
const TOKEN: usize = 8;
const LEFT: usize = 9;
/// The column that only repeated looks can fill, unless a candidate is stopped or dead.
const SUSPICION: usize = 10;
const CONTAINMENT: usize = 11;
/// The column that is left out if all candidates have the usual priority.
const PRIORITY: usize = 12;
/// The column for candidates over which shards are spread.
const HOLDS: usize = 13;
/// The column for notes on the election rather than on a candidate.
const NOTE: usize = 14;

/// The cell for a stopped candidate in the column of suspicions: its state is certain.
const STOPPED: &str = "stopped";

type Cells = [String; HEADINGS.len()];

impl StatusReport {
    /// Returns the report as a table for people, on a terminal of this width. The ages in it are as of `now`.
    pub fn table(&self, now: SystemTime, width: Option<usize>) -> String {
        self.columns(now, width, |column| column != SUSPICION)
    }

    /// Returns the table with the columns that only repeated looks can fill.
    pub fn live_table(&self, now: SystemTime, width: Option<usize>) -> String {
        self.columns(now, width, |_| true)
    }

    fn columns(
        &self,
        now: SystemTime,
        width: Option<usize>,
        is_wanted: fn(usize) -> bool,
    ) -> String {
        fn only<T>(
            cells: impl IntoIterator<Item = T>,
            is_shown: impl Fn(usize) -> bool,
        ) -> impl Iterator<Item = T> {
            let cells = cells.into_iter().enumerate();
            cells.filter(move |(column, _)| is_shown(*column)).map(|(_, cell)| cell)
        }
        let is_ranked = self.elections.iter().any(ElectionStatus::is_ranked);
        let is_spread = self.elections.iter().any(ElectionStatus::is_spread);
        let is_certain = self.elections.iter().any(ElectionStatus::is_certain);
        let rows: Vec<Cells> = self.elections.iter().flat_map(|it| it.rows(now)).collect();
        let is_noted = rows.iter().any(|cells| !cells[NOTE].is_empty());
        let is_shown = |column| {
            (is_wanted(column) || (column == SUSPICION && is_certain))
                && (column != PRIORITY || is_ranked)
                && (column != HOLDS || is_spread)
                && (column != NOTE || is_noted)
        };
        let headings: Vec<&str> = only(HEADINGS, is_shown).collect();
        let mut table = Table::new(&headings).without(&SPARE).hardly_without(&DEAR);
        if is_noted {
            table = table.with_a_long_end();
        }
        for cells in rows {
            table.row(only(cells, is_shown));
        }
        table.render(width)
    }
}

impl ElectionStatus {
    /// Returns a row for each candidate. For a divided election, adds the rows of each part.
    fn rows(&self, now: SystemTime) -> Vec<Cells> {
        let name = &self.election;
        let first = self.leader.as_ref().map(|leader| leader.cells(name, now));
        let first = first.unwrap_or_else(|| self.without_leader(now));
        // A leader of a paused election has yet to hand over.
        let has_entry = self.leader.is_some() || self.unproven.is_some();
        let pause = self.paused.as_ref().filter(|_| has_entry);
        let pause = pause.map(|pause| self.paused_row(pause, now));
        let waiting = self.waiting.iter().map(|waiting| waiting.cells(name, now));
        let division = self.division.iter();
        let members = division.clone().flat_map(|division| &division.members);
        let members = members.map(|member| member.cells(name, now));
        let parts = division.flat_map(|division| &division.parts);
        iter::once(first)
            .chain(pause)
            .chain(members)
            .chain(waiting)
            .chain(parts.flat_map(|part| part.rows(now)))
            .collect()
    }

    /// Returns the row that is shown if there is no leader.
    fn without_leader(&self, now: SystemTime) -> Cells {
        if let Some(UnprovenStatus { leader, renewed }) = &self.unproven {
            let mut cells = leader.cells(&self.election, now);
            let age = Some(age_of(renewed.as_deref(), now)).filter(|age| !age.is_empty());
            let since = age.map(|age| format!("not renewed for {age}"));
            let since = since.unwrap_or_else(|| "no renewal was seen".to_owned());
            (cells[ROLE], cells[NOTE]) =
                ("unknown".to_owned(), format!("{since}: it may be dead, `elect wait` tells"));
            return cells;
        }
        let (role, note) = match (&self.past, &self.paused, &self.division) {
            (Some(Past::Unknown(None)), ..) => ("unknown", String::new()),
            (Some(Past::Unknown(Some(id))), ..) => ("unknown", format!("last seen leading: {id}")),
            (_, Some(pause), _) => return self.paused_row(pause, now),
            (Some(Past::Over(id)), ..) => ("no-leader", format!("the lease of {id} is over")),
            (None, None, Some(division)) => {
                let words = format!("{} of {} led", division.led(), division.parts.len());
                (division.kind.as_str(), words)
            }
            (None, None, None) => {
                let last = self.last.as_ref().map(|last| format!("last: {}", last.in_words(now)));
                ("no-leader", last.unwrap_or_default())
            }
        };
        self.row(role, note)
    }

    /// Returns a row about the election rather than about a candidate.
    fn row(&self, role: &str, note: String) -> Cells {
        let mut cells = Cells::default();
        (cells[0], cells[ROLE], cells[NOTE]) = (self.election.clone(), role.to_owned(), note);
        cells
    }

    fn paused_row(&self, pause: &PauseStatus, now: SystemTime) -> Cells {
        let mut cells = self.row("paused", pause.in_words());
        cells[SINCE] = age_of(pause.since.as_deref(), now);
        cells
    }

    /// Returns whether any candidate has another priority than the usual one.
    fn is_ranked(&self) -> bool {
        let division = self.division.iter();
        let members = division.clone().flat_map(|division| &division.members);
        let waiting = self.waiting.iter().chain(members.map(|member| &member.who));
        let leader = self.leader.iter().map(|leader| leader.who.priority);
        let mut priorities = leader.chain(waiting.map(|waiting| waiting.who.priority)).flatten();
        let mut parts = division.flat_map(|division| &division.parts);
        priorities.any(|priority| priority != Candidate::USUAL_PRIORITY)
            || parts.any(Self::is_ranked)
    }

    /// Returns whether any candidate is known to be stopped or dead.
    fn is_certain(&self) -> bool {
        let members = self.division.iter().flat_map(|division| &division.members);
        let waiting = self.waiting.iter().chain(members.map(|member| &member.who));
        let leader =
            self.leader.iter().map(|leader| leader.stopped || leader.outlived_by.is_some());
        let parts = self.division.iter().flat_map(|division| &division.parts);
        leader.chain(waiting.map(|waiting| waiting.stopped)).any(|it| it)
            || parts.clone().any(Self::is_certain)
    }

    /// Returns whether the election has shards.
    fn is_spread(&self) -> bool {
        self.division.as_ref().is_some_and(|division| division.kind == PartKind::Shards)
    }
}

impl PauseStatus {
    fn in_words(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        let until = self.until.as_ref().map(|until| until.replace(".000Z", "Z"));
        let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
        format!("paused{until} by {}{}", self.by, reason.unwrap_or_default())
    }
}

impl CandidateStatus {
    /// Returns the cells with the data of the candidate itself.
    fn cells(&self, election: &str, role: &str) -> Cells {
        let mut cells = Cells::default();
        (cells[0], cells[ROLE], cells[ID]) =
            (election.to_owned(), role.to_owned(), self.id.clone());
        let number = |number: Option<u32>| number.map(|it| it.to_string()).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (cells[HOST], cells[PID], cells[COMMAND]) =
            (text(&self.host), number(self.pid), text(&self.command));
        (cells[CONTAINMENT], cells[PRIORITY]) = (text(&self.containment), number(self.priority));
        cells
    }
}

impl LeaderStatus {
    /// Returns the known state of its processes, which replaces a suspicion.
    fn certainty(&self) -> Option<String> {
        let Some(holders) = &self.outlived_by else {
            return self.stopped.then(|| STOPPED.to_owned());
        };
        let numbers: Vec<String> = holders.iter().map(u32::to_string).collect();
        let stopped = if self.stopped { format!(" ({STOPPED})") } else { String::new() };
        Some(if numbers.is_empty() {
            "dead, held unseen".to_owned()
        } else {
            format!("dead, held by {}{stopped}", numbers.join(" "))
        })
    }

    fn cells(&self, election: &str, now: SystemTime) -> Cells {
        let mut cells = self.who.cells(election, "leader");
        cells[SINCE] = age_of(self.since.as_deref(), now);
        cells[TOKEN] = self.token.to_string();
        cells[LEFT] = match (self.remaining_ms, self.is_unlimited) {
            (Some(left), _) => seconds(left),
            (None, true) => "unlimited".to_owned(),
            (None, false) => String::new(),
        };
        cells[SUSPICION] = self.certainty().unwrap_or_else(|| {
            self.suspicion.map(|suspicion| suspicion.to_string()).unwrap_or_default()
        });
        cells
    }
}

impl WaitingStatus {
    fn cells(&self, election: &str, now: SystemTime) -> Cells {
        let mut cells = self.who.cells(election, "waiting");
        cells[PLACE] = self.place.to_string();
        cells[SINCE] = age_of(self.joined.as_deref(), now);
        if self.stopped {
            STOPPED.clone_into(&mut cells[SUSPICION]);
        }
        cells
    }
}

impl MemberStatus {
    fn cells(&self, election: &str, now: SystemTime) -> Cells {
        let mut cells = self.who.cells(election, now);
        (cells[ROLE], cells[HOLDS]) = ("member".to_owned(), self.holds.to_string());
        cells
    }
}

fn seconds(millis: u64) -> String {
    format!("{}.{}s", millis / 1000, millis % 1000 / 100)
}

/// Returns the age of a time in this report. A time ahead of this machine's clock has age 0.
fn age_of(time: Option<&str>, now: SystemTime) -> String {
    let Some(time) = time else { return String::new() };
    let since = humantime::parse_rfc3339(time).unwrap_or(now);
    age(now.duration_since(since).unwrap_or(Duration::ZERO))
}
