//! The value of a candidate's key: JSON of elect, or any text of another program.

use elect_api::{Candidate, Entry, stamp};
use serde::{Deserialize, Serialize};

/// The value of a key that elect made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Value {
    #[serde(flatten)]
    pub(crate) candidate: Candidate,
    /// Milliseconds since 1970.
    joined: u64,
    /// The time of the win, in milliseconds since 1970; written with the first renewal after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// The revision of the candidate's first entry, if the candidate has given that up and entered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrived: Option<u64>,
}

impl Value {
    pub(crate) fn joining(candidate: &Candidate) -> Self {
        Self { candidate: candidate.clone(), joined: stamp::display(), since: None, arrived: None }
    }

    /// Returns the value of an entry that replaces the one created at `revision`.
    pub(crate) fn rejoining(&self, revision: Option<u64>) -> Self {
        Self {
            joined: stamp::display(),
            since: None,
            arrived: self.arrived.or(revision),
            ..self.clone()
        }
    }

    pub(crate) fn won(&self, since: u64) -> Self {
        Self { since: Some(since), ..self.clone() }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Strings and numbers cannot fail to serialize.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a value that elect wrote; `None` for a value of another program.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(crate) fn since(&self) -> Option<std::time::SystemTime> {
        self.since.and_then(stamp::read)
    }

    /// Returns the entry of a key that was created at `revision`.
    pub(crate) fn into_entry(self, revision: u64) -> Entry {
        Entry::new(self.candidate, stamp::read(self.joined), self.arrived.unwrap_or(revision))
    }
}

/// Returns the entry of a program that is not elect. Its proposal is its name, or else its lease.
pub(crate) fn foreign(proposal: &[u8], lease: &str, revision: u64) -> Entry {
    let text = String::from_utf8_lossy(proposal);
    let text = text.trim();
    Entry::new(Candidate::foreign(if text.is_empty() { lease } else { text }), None, revision)
}

#[cfg(test)]
mod tests {
    use elect_api::text;

    use super::*;

    #[test]
    fn values_keep_the_data_of_candidates() {
        let mut candidate = Candidate::foreign("me \"x\" \u{1F642}\n");
        candidate.pid = 7;
        let value = Value::joining(&candidate);
        let read = Value::read(&value.won(12_345).to_bytes()).expect("our own value");
        assert_eq!(read.candidate, candidate);
        assert_eq!(read.since(), stamp::read(12_345));
        assert!(!String::from_utf8(value.to_bytes()).expect("text").contains("since"));
    }

    #[test]
    fn foreign_candidates_are_named_by_proposal_or_lease() {
        for theirs in [&b""[..], b"host-7", b"{}", b"\"x\"", b"\xff"] {
            assert!(Value::read(theirs).is_none());
        }
        assert_eq!(foreign(b"host-7\n", "a1", 1).candidate.id, "host-7");
        assert_eq!(foreign(b"", "a1", 1).candidate.id, "a1");
        assert_eq!(
            foreign("\u{00FC}".repeat(300).as_bytes(), "a1", 1).candidate.id.chars().count(),
            text::NAME
        );
    }
}
