//! A table of the results of faults, for people (Markdown) and for programs (JSON).

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use elect_api::Boottime;
use serde::{Deserialize, Serialize};

/// The result of one run of one fault. All instants are by the oracle's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The last stamp of the old leader's command. A command that is frozen and then killed made it
    /// before the freeze.
    pub last: Boottime,
    /// The time at which the store would have ended the old leader's lease, if its leases end by time. It
    /// goes by the store's record, so it is later than the leader's own knowledge if replies were lost.
    pub lease_end: Option<Boottime>,
    /// The first stamp of the next leader's command, if there was one.
    pub next: Option<Boottime>,
    /// Whether the old leader kept its leadership. `None` where the fault allows only one answer.
    pub kept: Option<bool>,
}

/// All runs of one fault on one backend. Each figure is the worst of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the fault.
    pub fault: String,
    /// The store that the candidates used.
    pub backend: String,
    /// The number of runs.
    pub runs: u64,
    /// The longest time for which two commands ran at once, in microseconds.
    pub overlap_us: u64,
    /// The shortest time from the old command's death to the end of its lease, in microseconds. It is
    /// negative if the command outlived its lease, and `None` if leases do not end by time.
    pub slack_us: Option<i64>,
    /// The longest time from the old command's last stamp to the next one's first, in microseconds.
    /// `None` if there was no next leader.
    pub next_us: Option<u64>,
    /// In how many runs the old leader kept its leadership. `None` where the fault allows only one
    /// answer.
    pub kept: Option<u64>,
}

/// Collects outcomes from any thread, and shows them in the order of faults and backends.
#[derive(Debug, Default)]
pub struct Table(Mutex<BTreeMap<(String, String), Row>>);

impl Row {
    fn new(fault: &str, backend: &str) -> Self {
        let (fault, backend) = (fault.to_owned(), backend.to_owned());
        Self { fault, backend, runs: 0, overlap_us: 0, slack_us: None, next_us: None, kept: None }
    }

    fn take(&mut self, other: &Self) {
        self.runs += other.runs;
        self.overlap_us = self.overlap_us.max(other.overlap_us);
        self.slack_us = self.slack_us.into_iter().chain(other.slack_us).min();
        self.next_us = self.next_us.max(other.next_us);
        self.kept = self.kept.into_iter().chain(other.kept).reduce(|sum, kept| sum + kept);
    }
}

impl Outcome {
    fn row(&self, fault: &str, backend: &str) -> Row {
        let overlap = self.next.map_or(Duration::ZERO, |next| self.last.since(next));
        let slack = |end: Boottime| signed(end.since(self.last)) - signed(self.last.since(end));
        Row {
            runs: 1,
            overlap_us: micros(overlap),
            slack_us: self.lease_end.map(slack),
            next_us: self.next.map(|next| micros(next.since(self.last))),
            kept: self.kept.map(u64::from),
            ..Row::new(fault, backend)
        }
    }
}

fn micros(span: Duration) -> u64 {
    span.as_micros().try_into().unwrap_or(u64::MAX)
}

fn signed(span: Duration) -> i64 {
    span.as_micros().try_into().unwrap_or(i64::MAX)
}

impl Table {
    /// Creates a table without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a table that was written as JSON.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        let table = Self::new();
        serde_json::from_str::<Vec<Row>>(text)?.iter().for_each(|row| table.take(row));
        Ok(table)
    }

    /// Reads a table that was written as Markdown, from anywhere in `text`. Its figures are exact to a
    /// tenth of a millisecond.
    pub fn from_markdown(text: &str) -> Self {
        let table = Self::new();
        text.lines().filter_map(read_line).for_each(|row| table.take(&row));
        table
    }

    /// Replaces its rows by those of `other` that have the same fault and backend, and adds the rest.
    pub fn replace(&self, other: &Self) {
        for row in other.rows() {
            let key = (row.fault.clone(), row.backend.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, row);
        }
    }

    /// Adds one run.
    pub fn add(&self, fault: &str, backend: &str, outcome: &Outcome) {
        self.take(&outcome.row(fault, backend));
    }

    /// Adds the runs of another table.
    pub fn extend(&self, other: &Self) {
        other.rows().iter().for_each(|row| self.take(row));
    }

    fn take(&self, row: &Row) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (row.fault.clone(), row.backend.clone());
        rows.entry(key).or_insert_with(|| Row::new(&row.fault, &row.backend)).take(row);
    }

    /// Returns the rows in the order of faults and backends. Faults that begin with a number come first,
    /// by that number.
    pub fn rows(&self) -> Vec<Row> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows: Vec<Row> = rows.values().cloned().collect();
        let number = |row: &Row| row.fault.split(' ').next().and_then(|word| word.parse().ok());
        rows.sort_by_cached_key(|row| number(row).unwrap_or(u64::MAX));
        rows
    }

    /// Returns the rows as a JSON list of objects, with a line feed at the end.
    ///
    /// # Panics
    /// Never: the rows are plain.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&self.rows()).expect("rows are plain") + "\n"
    }
}

/// Shows a table in Markdown.
impl Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        const HEAD: [&str; 7] = [
            "fault",
            "backend",
            "runs",
            "overlap",
            "slack before the lease could end",
            "time to the next leader",
            "leadership kept",
        ];
        let rows: Vec<_> = self.rows().iter().map(cells).collect();
        let head = HEAD.map(str::to_owned);
        let widths = std::array::from_fn(|column| {
            let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        });
        formatter.write_str(&line(&head, &widths))?;
        let rule: [_; 7] = std::array::from_fn(|column| match column {
            0 | 1 => "-".repeat(widths[column]),
            _ => "-".repeat(widths[column] - 1) + ":",
        });
        formatter.write_str(&line(&rule, &widths))?;
        rows.iter().try_for_each(|row| formatter.write_str(&line(row, &widths)))
    }
}

fn cells(row: &Row) -> [String; 7] {
    let none = || "-".to_owned();
    [
        row.fault.replace('|', "\\|"),
        row.backend.replace('|', "\\|"),
        row.runs.to_string(),
        if row.overlap_us == 0 { "none".to_owned() } else { millis(row.overlap_us, "") },
        row.slack_us.map_or_else(none, |slack| {
            millis(slack.unsigned_abs(), if slack < 0 { "-" } else { "" })
        }),
        row.next_us.map_or_else(none, |next| millis(next, "")),
        row.kept.map_or_else(none, |kept| format!("{kept} of {}", row.runs)),
    ]
}

/// The opposite of [`cells`] and [`line()`]. Returns `None` for the head, the rule, and any line that is
/// no row.
fn read_line(line: &str) -> Option<Row> {
    let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let [fault, backend, runs, overlap, slack, next, kept] = cells[..] else { return None };
    let millis = |text: &str| text.strip_suffix(" ms")?.parse::<f64>().ok();
    #[expect(clippy::cast_possible_truncation, reason = "a float this size has no more to tell")]
    let micros = |text: &str| millis(text).map(|millis| (millis * 1000.0).round() as i64);
    Some(Row {
        fault: fault.replace("\\|", "|"),
        backend: backend.replace("\\|", "|"),
        runs: runs.parse().ok()?,
        overlap_us: micros(overlap).unwrap_or_default().unsigned_abs(),
        slack_us: micros(slack),
        next_us: micros(next).map(i64::unsigned_abs),
        kept: kept.split_once(" of ").and_then(|(kept, _)| kept.parse().ok()),
    })
}

fn millis(micros: u64, sign: &str) -> String {
    format!("{sign}{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}

fn line(cells: &[String; 7], widths: &[usize; 7]) -> String {
    let mut line = String::from("|");
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        // Figures are aligned to the right.
        let _ = match column {
            0 | 1 => write!(line, " {cell:<width$} |"),
            _ => write!(line, " {cell:>width$} |"),
        };
    }
    line + "\n"
}
