//! This file shows the status report as a table for people.

use std::collections::HashMap;
use std::iter;
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Profile, Promise};

use super::keys::Past;
use super::{
    CandidateStatus, ElectionStatus, LeaderStatus, MemberStatus, PartKind, PauseStatus,
    StatusReport, UnprovenStatus, WaitingStatus,
};
use crate::report::{Table, age};

/// The columns of the table.
const HEADINGS: &str = "ELECTION ROLE PLACE ID HOST PID COMMAND SINCE TOKEN LEFT SUSPICION CONTAINMENT PRIORITY HOLDS \
                        NOTE";
/// The columns that a narrow terminal leaves out, the least important first.
const SPARE: [&str; 9] =
    ["CONTAINMENT", "PID", "HOST", "LEFT", "COMMAND", "TOKEN", "PLACE", "PRIORITY", "HOLDS"];
/// The columns that are left out only if otherwise the last column could not be read.
const DEAR: [&str; 2] = ["SINCE", "SUSPICION"];

/// The cell for a stopped candidate in the column of suspicions: its state is certain.
const STOPPED: &str = "stopped";

/// The cells of a row by their headings. A heading without a cell has an empty one. Some columns are shown only if a
/// row has something for them.
type Cells = HashMap<&'static str, String>;

/// Returns the line above a table that says that the promise of the store is weak, or nothing if it is strong.
pub fn promise(store: &Profile) -> String {
    match store.promise {
        Promise::Strong => String::new(),
        Promise::Weak => format!("promise: weak (elect help {})\n", store.scheme),
    }
}

impl StatusReport {
    /// Returns the report as a table for people, on a terminal of this width. The ages in it are as of `now`.
    pub fn table(&self, now: SystemTime, width: Option<usize>) -> String {
        self.columns(now, width, false)
    }

    /// Returns the table with the columns that only repeated looks can fill.
    pub fn live_table(&self, now: SystemTime, width: Option<usize>) -> String {
        self.columns(now, width, true)
    }

    fn columns(&self, now: SystemTime, width: Option<usize>, is_live: bool) -> String {
        let rows: Vec<Cells> = self.elections.iter().flat_map(|it| it.rows(now)).collect();
        let usual = Candidate::USUAL_PRIORITY.to_string();
        let is_shown = |heading: &&str| {
            let mut cells = rows.iter().filter_map(|row| row.get(heading));
            match *heading {
                "SUSPICION" => is_live || cells.any(|cell| !cell.is_empty()),
                "PRIORITY" => cells.any(|cell| !cell.is_empty() && *cell != usual),
                "HOLDS" => cells.next().is_some(),
                "NOTE" => cells.any(|cell| !cell.is_empty()),
                _ => true,
            }
        };
        let headings: Vec<&str> = HEADINGS.split(' ').filter(is_shown).collect();
        let mut table = Table::new(&headings).without(&SPARE).hardly_without(&DEAR);
        if headings.contains(&"NOTE") {
            table = table.with_a_long_end();
        }
        for mut cells in rows {
            table.row(headings.iter().map(|heading| cells.remove(heading).unwrap_or_default()));
        }
        table.render(width)
    }
}

impl ElectionStatus {
    /// Returns a row for each candidate. For a divided election, adds the rows of each part.
    fn rows(&self, now: SystemTime) -> Vec<Cells> {
        let name = &self.election;
        let first = self.leader.as_ref().map(|leader| leader.cells(name, now));
        let mut first = first.unwrap_or_else(|| self.without_leader(now));
        if self.division.as_ref().is_some_and(|division| division.kind == PartKind::Shards) {
            first.entry("HOLDS").or_default();
        }
        // A leader of a paused election has yet to hand over.
        let has_entry = self.leader.is_some() || self.unproven.is_some();
        let pause = self.paused.as_ref().filter(|_| has_entry);
        let pause = pause.map(|pause| self.paused_row(pause, now));
        let waiting = self.waiting.iter().map(|waiting| waiting.cells(name, now));
        let members = self.division.iter().flat_map(|division| &division.members);
        let members = members.map(|member| member.cells(name, now));
        let parts = self.parts().flat_map(|part| part.rows(now));
        iter::once(first).chain(pause).chain(members).chain(waiting).chain(parts).collect()
    }

    /// Returns the row that is shown if there is no leader.
    fn without_leader(&self, now: SystemTime) -> Cells {
        if let Some(UnprovenStatus { leader, renewed }) = &self.unproven {
            let mut cells = leader.cells(&self.election, now);
            let age = Some(age_of(renewed.as_deref(), now)).filter(|age| !age.is_empty());
            let since = age.map(|age| format!("not renewed for {age}"));
            let since = since.unwrap_or_else(|| "no renewal was seen".to_owned());
            let note = format!("{since}: it may be dead, `elect wait` tells");
            cells.extend([("ROLE", "unknown".to_owned()), ("NOTE", note)]);
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
        let election = self.election.clone();
        [("ELECTION", election), ("ROLE", role.to_owned()), ("NOTE", note)].into()
    }

    fn paused_row(&self, pause: &PauseStatus, now: SystemTime) -> Cells {
        let mut cells = self.row("paused", pause.in_words());
        cells.insert("SINCE", age_of(pause.since.as_deref(), now));
        cells
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
        let number = |number: Option<u32>| number.map(|it| it.to_string()).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Cells::from([
            ("ELECTION", election.to_owned()),
            ("ROLE", role.to_owned()),
            ("ID", self.id.clone()),
            ("HOST", text(&self.host)),
            ("PID", number(self.pid)),
            ("COMMAND", text(&self.command)),
            ("CONTAINMENT", text(&self.containment)),
            ("PRIORITY", number(self.priority)),
        ])
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
        let mut cells = self.candidate.cells(election, "leader");
        let left = match (self.remaining_ms, self.is_unlimited) {
            (Some(left), _) => seconds(left),
            (None, true) => "unlimited".to_owned(),
            (None, false) => String::new(),
        };
        let suspicion = self.suspicion.map(|suspicion| suspicion.to_string());
        cells.extend([
            ("SINCE", age_of(self.since.as_deref(), now)),
            ("TOKEN", self.token.to_string()),
            ("LEFT", left),
            ("SUSPICION", self.certainty().or(suspicion).unwrap_or_default()),
        ]);
        cells
    }
}

impl WaitingStatus {
    fn cells(&self, election: &str, now: SystemTime) -> Cells {
        let mut cells = self.candidate.cells(election, "waiting");
        cells.insert("PLACE", self.place.to_string());
        cells.insert("SINCE", age_of(self.joined.as_deref(), now));
        cells.extend(self.stopped.then(|| ("SUSPICION", STOPPED.to_owned())));
        cells
    }
}

impl MemberStatus {
    fn cells(&self, election: &str, now: SystemTime) -> Cells {
        let mut cells = self.candidate.cells(election, now);
        cells.extend([("ROLE", "member".to_owned()), ("HOLDS", self.holds.to_string())]);
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
