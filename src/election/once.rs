//! What is to be done once: the keys of all runs that succeeded, as a note of the election.

use elect_api::{Cell, Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// How many keys are kept. An older one is forgotten, and a run with it would be run again.
pub const KEPT: usize = 64;

/// The keys that are known, the newest last.
///
/// A note with more in it is a later version's, which an earlier one must not write over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    done: Vec<String>,
}

impl Done {
    /// Reads a note. Whoever cannot read it does not know what was done, and must not do it again.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for what no version of elect has written.
    pub fn read(note: Option<&[u8]>) -> Result<Self, Error> {
        note.map_or(Ok(Self::default()), |text| {
            let what = "the election's note of what was done once is unreadable: remove it from the \
                        store, and every key counts as not done";
            let unreadable = Error::new(ErrorKind::Unfit, what);
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            serde_json::from_slice(text).map_err(|error| unreadable.because(error))
        })
    }

    /// Whether this was done.
    pub fn has(&self, key: &str) -> bool {
        self.done.iter().any(|done| done == key)
    }

    /// All that are known, the newest last.
    pub fn keys(&self) -> &[String] {
        &self.done
    }

    /// The note that says so, of this one too.
    pub fn with(mut self, key: &str) -> Vec<u8> {
        self.done.retain(|done| done != key);
        self.done.push(key.to_owned());
        let surplus = self.done.len().saturating_sub(KEPT);
        self.done.drain(..surplus);
        // A list of strings: there is nothing in it that JSON cannot say.
        serde_json::to_vec(&self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &[String]) -> Done {
        keys.iter().fold(Done::default(), |done, key| Done::read(Some(&done.with(key))).unwrap())
    }

    #[test]
    fn what_was_done_is_known_until_sixty_four_others_were() {
        let keys: Vec<String> = (0..=KEPT).map(|n| format!("{n} \u{FC}\"")).collect();
        let done = after(&keys);
        assert!(!done.has(&keys[0]));
        assert!(keys[1..].iter().all(|key| done.has(key)));
    }

    #[test]
    fn what_is_done_again_is_known_for_as_long_as_what_is_new() {
        let mut keys: Vec<String> = (0..KEPT).map(|n| n.to_string()).collect();
        keys.extend(["0".into(), "new".into()]);
        let done = after(&keys);
        assert!(done.has("0") && done.has("new") && !done.has("1"));
    }

    #[test]
    fn the_longest_note_is_one() {
        let longest = |n: usize| format!("{n:02}{}", "\u{10FFFF}".repeat(126));
        let note = (0..KEPT).map(longest).fold(Vec::new(), |note, key| {
            Done::read((!note.is_empty()).then_some(note.as_slice())).unwrap().with(&key)
        });
        assert!(note.len() <= 64 * 1024, "{}", note.len());
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_nothing() {
        assert_eq!(Done::read(None).unwrap(), Done::default());
        for bad in ["", "{}", "[]", "{\"done\":[1]}", "{\"done\":[],\"more\":[]}", "\u{0}"] {
            let error = Done::read(Some(bad.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{bad:?}");
        }
    }
}
