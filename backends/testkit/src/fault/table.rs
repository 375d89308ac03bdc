//! What came of the faults, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use elect_api::Boottime;
use serde::{Deserialize, Serialize};

/// One run of one fault: instants of the oracle's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The last sign of the old leader's command: its last stamp. One that is frozen and then killed
    /// gave it before the freeze.
    pub last: Boottime,
    /// When the store would have ended the old leader's lease, if leases of that store end by time. By
    /// the store's own record: later than what the leader knew if replies were lost.
    pub lease_end: Option<Boottime>,
    /// The first sign of the next leader's command, if there was one.
    pub next: Option<Boottime>,
    /// Whether the old leader led through it; `None` where it cannot, or need not.
    pub kept: Option<bool>,
}

/// All runs of one fault on one backend: the worst of each figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What was done.
    pub fault: String,
    /// To whom.
    pub backend: String,
    /// How often.
    pub runs: u64,
    /// For how long two commands ran, at the most, in microseconds.
    pub overlap_us: u64,
    /// How long before the end of its lease the old command was dead, at the least, in microseconds.
    /// Below zero it outlived its lease. `None` if leases do not end by time.
    pub slack_us: Option<i64>,
    /// The time from the old command's last sign to the next one's first, at the most, in
    /// microseconds. `None` if nobody was next.
    pub next_us: Option<u64>,
    /// In how many runs the old leader led through it. `None` if it cannot, or need not.
    pub kept: Option<u64>,
}

/// Collects outcomes, from any thread, and shows them in the order of faults and backends.
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
    /// Without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that was written as JSON.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        let table = Self::new();
        serde_json::from_str::<Vec<Row>>(text)?.iter().for_each(|row| table.take(row));
        Ok(table)
    }

    /// One that was written as Markdown, wherever in the text it stands: figures to a tenth of a
    /// millisecond.
    pub fn from_markdown(text: &str) -> Self {
        let table = Self::new();
        text.lines().filter_map(read_line).for_each(|row| table.take(&row));
        table
    }

    /// Has these rows instead of its own for the same faults and backends.
    pub fn replace(&self, other: &Self) {
        for row in other.rows() {
            let key = (row.fault.clone(), row.backend.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, row);
        }
    }

    /// Notes one run.
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

    /// The rows, in the order of faults and backends: by the number that a fault begins with, if it does.
    pub fn rows(&self) -> Vec<Row> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows: Vec<Row> = rows.values().cloned().collect();
        let number = |row: &Row| row.fault.split(' ').next().and_then(|word| word.parse().ok());
        rows.sort_by_cached_key(|row| number(row).unwrap_or(u64::MAX));
        rows
    }

    /// As a list of objects, one for each row, with a line feed at the end.
    ///
    /// # Panics
    /// Never: rows are plain.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&self.rows()).expect("rows are plain") + "\n"
    }
}

/// As a table of Markdown.
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

/// The opposite of [`cells`] and [`line()`]; `None` for the head, the rule, and all that is no row.
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
        // Figures stand below each other.
        let _ = match column {
            0 | 1 => write!(line, " {cell:<width$} |"),
            _ => write!(line, " {cell:>width$} |"),
        };
    }
    line + "\n"
}
