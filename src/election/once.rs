//! The `--once` keys of all runs that succeeded, as a cell of the election. This cell alone decides whether a key is
//! done. Another cell says how the runs of each key went ([`runs`](super::runs)).

use elect_api::{Cell, Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// The greatest number of keys that are kept. An older key is forgotten, and a run with it would run again. A version
/// that keeps fewer keys forgets the others when it records a key.
pub const KEPT: usize = 512;

/// The number of keys that are kept however long they are.
pub const KEPT_AT_LEAST: usize = 64;

/// The known keys, the newest last.
///
/// A cell with other fields comes from a later version. An earlier version must not overwrite it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    done: Vec<String>,
}

impl Done {
    /// Reads a cell. A candidate that cannot read it does not know what was done, and must not do it again.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for a cell that no version of elect has written.
    pub fn read(cell: Option<&[u8]>) -> Result<Self, Error> {
        cell.map_or(Ok(Self::default()), |text| {
            let what = "what is known of the --once keys that are done is unreadable: remove it from the \
                        store, and no key counts as done";
            let unreadable = Error::new(ErrorKind::Unfit, what).of_a_text();
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            serde_json::from_slice(text).map_err(|error| unreadable.because(error))
        })
    }

    /// Returns whether this key is done.
    pub fn has(&self, key: &str) -> bool {
        self.done.iter().any(|done| done == key)
    }

    /// The known keys, the newest last.
    pub fn keys(&self) -> &[String] {
        &self.done
    }

    /// Returns the cell with this key added.
    pub fn with(mut self, key: &str) -> Vec<u8> {
        self.done.retain(|done| done != key);
        self.done.push(key.to_owned());
        let surplus = self.done.len().saturating_sub(KEPT);
        self.done.drain(..surplus);
        loop {
            let cell = self.cell();
            if cell.len() <= Cell::LONGEST || self.done.len() <= KEPT_AT_LEAST {
                return cell;
            }
            self.done.remove(0);
        }
    }

    /// Returns the cell without this key.
    pub fn without(mut self, key: &str) -> Vec<u8> {
        self.done.retain(|done| done != key);
        self.cell()
    }

    fn cell(&self) -> Vec<u8> {
        // A list of strings always serializes: JSON can express each of them.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &[String]) -> Done {
        keys.iter().fold(Done::default(), |done, key| Done::read(Some(&done.with(key))).unwrap())
    }

    #[test]
    fn a_done_key_is_known_until_enough_others_are_done() {
        let keys: Vec<String> = (0..=KEPT).map(|n| format!("{n} \u{FC}\"")).collect();
        let done = after(&keys);
        assert!(!done.has(&keys[0]));
        assert!(keys[1..].iter().all(|key| done.has(key)));
    }

    #[test]
    fn a_key_that_is_done_again_is_known_as_long_as_a_new_one() {
        let mut keys: Vec<String> = (0..KEPT).map(|n| n.to_string()).collect();
        keys.extend(["0".into(), "new".into()]);
        let done = after(&keys);
        assert!(done.has("0") && done.has("new") && !done.has("1"));
    }

    #[test]
    fn the_longest_cell_is_one_and_has_the_newest_keys() {
        let longest = |n: usize| format!("{n:03}{}", "\u{10FFFF}".repeat(125));
        let keys: Vec<String> = (0..150).map(longest).collect();
        let cell = keys.iter().fold(Vec::new(), |cell, key| {
            Done::read((!cell.is_empty()).then_some(cell.as_slice())).unwrap().with(key)
        });
        assert!(cell.len() <= Cell::LONGEST, "{}", cell.len());
        let done = Done::read(Some(&cell)).unwrap();
        assert!(keys[150 - KEPT_AT_LEAST..].iter().all(|key| done.has(key)));
        assert!(!done.has(&keys[0]) && done.keys().len() > KEPT_AT_LEAST);
    }

    #[test]
    fn an_undone_key_is_unknown_and_the_cell_is_as_before() {
        let one = Done::default().with("one");
        let both = Done::read(Some(&one)).unwrap().with("two");
        assert_eq!(one, br#"{"done":["one"]}"#);
        assert_eq!(Done::read(Some(&both)).unwrap().without("two"), one);
    }

    #[test]
    fn an_unreadable_cell_is_not_taken_for_an_empty_one() {
        assert_eq!(Done::read(None).unwrap(), Done::default());
        for bad in ["", "{}", "[]", "{\"done\":[1]}", "{\"done\":[],\"more\":[]}", "\u{0}"] {
            let error = Done::read(Some(bad.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{bad:?}");
        }
    }
}
