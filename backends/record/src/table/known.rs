//! What a process knows of the rows of a table from the last answers.

use std::collections::{BTreeMap, HashMap};

use elect_api::{Cell, ElectionName, stamp};

use super::{Epoch, Heard, Row, Tag};
use crate::{Document, Name, Stored};

/// What the last answers said.
#[derive(Default)]
pub(super) struct Known {
    /// The rows that this process may write, as they were read or written last.
    pub(super) rows: HashMap<(ElectionName, Name), Seen>,
    /// The greatest version of any document of each election.
    pub(super) greatest: HashMap<ElectionName, u64>,
    /// The newest listing of each surveyed election: its number, and the version of each document.
    pub(super) listings: HashMap<ElectionName, (u64, Versions)>,
    /// The number of listings so far.
    pub(super) listed: u64,
}

pub(super) type Versions = BTreeMap<Name, u64>;

/// A row as it was read or written last.
#[derive(Clone)]
pub(super) struct Seen {
    /// 0 if there is no row.
    pub(super) version: u64,
    pub(super) tag: Option<Tag>,
    pub(super) epoch: Epoch,
    /// Whether the lease in it is in doubt, because of another epoch.
    pub(super) is_doubted: bool,
    pub(super) cells: String,
    /// Whether this process has written it.
    pub(super) is_ours: bool,
    /// The version of its control cell.
    pub(super) control: u64,
    /// The marks of the notices from before the request that showed this.
    pub(super) heard: Heard,
}

impl Known {
    pub(super) fn saw(&mut self, election: &ElectionName, version: u64) {
        match self.greatest.get_mut(election) {
            Some(greatest) => *greatest = (*greatest).max(version),
            None => _ = self.greatest.insert(election.clone(), version),
        }
    }

    /// The version of the next write, which replaces `expected`.
    pub(super) fn next(&mut self, election: &ElectionName, expected: u64) -> u64 {
        let greatest = self.greatest.get(election).copied().unwrap_or_default().max(expected);
        let version = stamp::micros().max(greatest.saturating_add(1));
        self.saw(election, version);
        version
    }
}

impl Seen {
    pub(super) fn of(
        stored: Option<&Stored>,
        row: Option<Row>,
        epoch: Epoch,
        heard: Heard,
    ) -> Self {
        let version = stored.map_or(0, |stored| stored.version);
        let control = stored.map_or(0, |stored| control(&stored.document));
        let is_doubted = match stored.map(|stored| &stored.document) {
            Some(Document::Record(record)) => record.doubt.is_some() || record.epoch != epoch.name,
            _ => false,
        };
        let (tag, cells) = row.map(|row| (row.tag, row.body.cells)).unzip();
        let cells = cells.unwrap_or_default();
        Self { version, tag, epoch, is_doubted, cells, is_ours: false, control, heard }
    }
}

/// The version of the control cell; 0 in a document without one.
pub(super) fn control(document: &Document) -> u64 {
    if let Document::Record(record) = document { record.cell(Cell::Control).version } else { 0 }
}
