use elect_api::{Candidate, Entry, stamp};
use serde::{Deserialize, Serialize};

/// The data of the node of a candidate of elect. It is written when the node is made and never changed. A successor in
/// Curator would take a change for the end, and miss its turn.
#[derive(Serialize, Deserialize)]
struct NodeData {
    candidate: Candidate,
    /// Milliseconds since 1970.
    joined: u64,
    /// The number of its first arrival, if it has given that place up and entered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrived: Option<u64>,
}

/// Returns the data for the node of a candidate that joins now. `arrived` is its first arrival, if it enters again.
pub(crate) fn write(candidate: &Candidate, arrived: Option<u64>) -> Vec<u8> {
    let record = NodeData { candidate: candidate.clone(), joined: stamp::display(), arrived };
    // Text and numbers cannot fail to become JSON.
    serde_json::to_vec(&record).unwrap_or_default()
}

/// Returns the entry of a node that the transaction `czxid` made. If elect did not make the node, its data is its name,
/// if that is text, or else the node's name. It joined when the node was `created`, in milliseconds since 1970.
pub(crate) fn read(name: &str, data: &[u8], czxid: i64, created: Option<i64>) -> Entry {
    let number = czxid.cast_unsigned();
    if let Ok(NodeData { candidate, joined, arrived }) = serde_json::from_slice(data) {
        return Entry::new(candidate, stamp::read(joined), arrived.unwrap_or(number));
    }
    let text = std::str::from_utf8(data).ok().filter(|text| is_label(text));
    let joined = created.and_then(|created| u64::try_from(created).ok()).and_then(stamp::read);
    Entry::new(Candidate::foreign(text.unwrap_or(name)), joined, number)
}

fn is_label(text: &str) -> bool {
    (1..=200).contains(&text.len()) && !text.contains(char::is_control) && !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_elect_reads_back_as_written() {
        let candidate = Candidate { pid: 7, ..Candidate::foreign("a \"quoted\"\n") };
        let entry = read("name", &write(&candidate, Some(3)), 9, None);
        assert_eq!(entry.candidate, candidate.clone().cleaned());
        assert!(entry.joined.is_some());
        assert_eq!(entry.arrival, 3);
        assert_eq!(read("name", &write(&candidate, None), 9, None).arrival, 9);
    }

    #[test]
    fn foreign_candidates_are_named_by_their_data_or_node() {
        let foreign = |data: &[u8]| read("name", data, 1, Some(1_000));
        assert_eq!(foreign(b"host-7").candidate, Candidate::foreign("host-7"));
        for data in [&b""[..], b"\xff", b"a\nb", b" "] {
            assert_eq!(foreign(data).candidate, Candidate::foreign("name"));
        }
        assert_eq!(foreign(b"").joined, stamp::read(1_000));
    }
}
