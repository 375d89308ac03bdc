//! The cells that an election leaves beside its entries. They tell whether a name is known, and what `elect forget`
//! would remove.

use std::collections::BTreeSet;
use std::fmt;

use elect_api::{Cell, Division, ElectionName, Error, Keys, Scope, Store, stamp};

use super::attempts::insist;
use crate::config::nearest_names;
use crate::election::control::Control;
use crate::election::history::History;
use crate::election::once::Done;
use crate::report::Log;

/// The number of similar names that a message lists.
const NAMES: usize = 3;

/// The cells of one election.
#[derive(Debug, Default)]
pub(super) struct KeptCells {
    /// The orders that are in force.
    pub(super) control: Control,
    /// The keys of its fences and values.
    pub(super) keys: Keys,
    /// The reason why the keys are unknown. elect has not written the data.
    pub(super) damage: Option<String>,
    /// What leaders have left, for people.
    left: Vec<String>,
}

impl KeptCells {
    /// Reads the cells, each in up to `attempts` attempts.
    ///
    /// # Errors
    /// The store does not answer, or refuses access.
    pub(super) async fn read(
        store: &dyn Store,
        election: &ElectionName,
        attempts: u32,
    ) -> anyhow::Result<Self> {
        let location = store.profile().location;
        let read = async |cell| {
            insist(&location, attempts, async || bytes(store, election, cell).await).await
        };
        let control = read(Cell::Control).await?;
        // An unreadable cell gives no orders, and is there all the same.
        let asked = control.map(|bytes| bytes.and_then(|text| Control::read(Some(&text)).ok()));
        let control = asked.flatten().unwrap_or_default().as_of(stamp::display());
        let mut left = Vec::new();
        for cell in Cell::OF_LEADERS {
            if let Some(bytes) = read(cell).await? {
                left.extend(in_words(cell, bytes.as_deref()));
            }
        }
        let keys = async || match store.keys(election).await {
            Ok(keys) => Ok((keys, None)),
            Err(error) if error.is_of_a_text() => Ok((Keys::default(), Some(error.to_string()))),
            Err(error) => Err(error),
        };
        let (keys, damage) = insist(&location, attempts, keys).await?;
        Ok(Self { control, keys, damage, left })
    }

    /// Returns whether the cells hold nothing that a user could miss.
    pub(super) fn is_nothing(&self) -> bool {
        self.lines().is_empty()
    }

    /// Returns what the cells hold, one line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.left.clone();
        let listed = |what: &str, keys: &[elect_api::Key]| {
            let keys: Vec<&str> = keys.iter().map(elect_api::Key::as_str).collect();
            (!keys.is_empty())
                .then(|| format!("{}: {}", counted(keys.len(), what), keys.join(", ")))
        };
        lines.extend(listed("fence", &self.keys.fences));
        lines.extend(listed("value", &self.keys.values));
        lines.extend(
            self.damage.iter().map(|_| "fences and values, which cannot be read".to_owned()),
        );
        let pause = self.control.pausing().map(|pause| pause.in_words("paused"));
        lines.extend(pause);
        let division = self.control.division();
        if !division.is_whole() {
            lines.push(division.to_string());
        }
        if self.control.clone().paused(None).divided(Division::Whole).is_kept() {
            lines.push("priorities".to_owned());
        }
        lines
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns the text of a cell. `None` if there is none, and `Some(None)` if elect has not written it.
async fn bytes(
    store: &dyn Store,
    election: &ElectionName,
    cell: Cell<'_>,
) -> Result<Option<Option<Vec<u8>>>, Error> {
    match store.read(election, cell).await {
        Ok(found) => Ok(found.bytes.map(Some)),
        Err(error) if error.is_of_a_text() => Ok(Some(None)),
        Err(error) => Err(error),
    }
}

/// Returns what a leader has left in a cell, for people.
fn in_words(cell: Cell<'_>, bytes: Option<&[u8]>) -> Option<String> {
    let unreadable = || Some(format!("{cell}, which cannot be read"));
    let Some(bytes) = bytes else { return unreadable() };
    match cell {
        Cell::History => match History::read(Some(bytes)) {
            Ok(history) => {
                let (number, last) = (history.records().len(), history.records().last()?);
                let number = counted(number, "leadership");
                Some(format!("the history of {number}, the last by {}", last.id()))
            }
            Err(_) => unreadable(),
        },
        Cell::Once => match Done::read(Some(bytes)) {
            Ok(done) => {
                let (number, last) = (done.keys().len(), done.keys().last()?);
                let last = elect_api::text::escape(last);
                Some(format!("{}, the last {last}", counted(number, "--once key")))
            }
            Err(_) => unreadable(),
        },
        Cell::Runs => Some("how the runs of each --once key went".to_owned()),
        cell => Some(cell.to_string()),
    }
}

/// A name that the store does not know: the election has neither candidates nor cells.
#[derive(Debug)]
pub(super) struct UnknownName {
    election: ElectionName,
    location: String,
    /// Similar names, the nearest first.
    nearest: Vec<String>,
}

impl UnknownName {
    /// Returns the name if the store does not know it. Each question is asked up to `attempts` times.
    ///
    /// # Errors
    /// The store does not answer, or refuses access.
    pub(super) async fn find(
        store: &dyn Store,
        election: &ElectionName,
        attempts: u32,
    ) -> anyhow::Result<Option<Self>> {
        let location = store.profile().location;
        let survey = insist(&location, attempts, async || store.survey(election).await).await?;
        let is_there = survey.entries().next().is_some();
        if is_there || !KeptCells::read(store, election, attempts).await?.is_nothing() {
            return Ok(None);
        }
        if let Some(whole) = Division::whole(election)
            && KeptCells::read(store, &whole, attempts).await?.control.has_part(election)
        {
            return Ok(None);
        }
        let mut known = BTreeSet::new();
        for scope in [Scope::Entered, Scope::Kept] {
            known.extend(insist(&location, attempts, async || store.list(scope).await).await?);
        }
        known.remove(election);
        let known = known.iter().map(ElectionName::as_str);
        let nearest = nearest_names(election.as_str(), known, NAMES);
        Ok(Some(Self { election: election.clone(), location, nearest }))
    }

    /// Returns the message for people who may mean this name, with what they can do.
    pub(super) fn unless(&self, way_out: &str) -> String {
        let stop = if self.nearest.is_empty() { ";" } else { "" };
        format!("{self}{stop} {way_out}")
    }

    /// Warns if the store does not know the name, and answers at the first attempt. Returns whether it has warned.
    pub(super) async fn warn_of(store: &dyn Store, election: &ElectionName, log: &Log) -> bool {
        let found = Self::find(store, election, 1).await.ok().flatten();
        if let Some(unknown) = &found {
            log.warn(unknown);
        }
        found.is_some()
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { election, location, nearest } = self;
        write!(f, "no election {election} at {location}: it has no candidates, and no past")?;
        match nearest.split_last() {
            None => Ok(()),
            Some((only, [])) => write!(f, "; did you mean {only}?"),
            Some((last, others)) => write!(f, "; did you mean {} or {last}?", others.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_have_been_meant_are_told_as_people_do() {
        let unknown = |nearest: &[&str]| {
            let nearest = nearest.iter().map(|&name| name.to_owned()).collect();
            let election = "nigthly".parse().unwrap();
            UnknownName { election, location: "file:///x".into(), nearest }
        };
        let said = |nearest: &[&str]| unknown(nearest).to_string();
        let known = "no election nigthly at file:///x: it has no candidates, and no past";
        assert_eq!(said(&[]), known);
        assert_eq!(said(&["nightly"]), format!("{known}; did you mean nightly?"));
        assert_eq!(said(&["a", "b", "c"]), format!("{known}; did you mean a, b or c?"));
        assert_eq!(unknown(&[]).unless("try"), format!("{known}; try"));
        assert_eq!(unknown(&["a"]).unless("try"), format!("{known}; did you mean a? try"));
    }

    #[test]
    fn an_empty_cell_is_described_as_nothing() {
        assert_eq!(in_words(Cell::Once, Some(br#"{"done":[]}"#)), None);
        assert!(KeptCells::default().is_nothing());
        let done = in_words(Cell::Once, Some(br#"{"done":["a","b"]}"#));
        assert_eq!(done.as_deref(), Some("2 --once keys, the last b"));
        let odd = in_words(Cell::History, Some(b"?")).unwrap();
        assert_eq!(odd, "the history, which cannot be read");
    }
}
