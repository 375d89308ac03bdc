//! The content of a candidate's file in the queue: one line when it joins, and one more when it
//! wins.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use elect_api::{Candidate, Ending, Entry, Leader, Token, stamp};
use serde::{Deserialize, Serialize};

use crate::reading::read_up_to;
use crate::standstill;

/// The greatest length that is read. It is more than any entry has, and keeps a foreign file from
/// being read to its end.
const MAX_LEN: usize = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Newcomer {
    candidate: Candidate,
    /// Milliseconds since 1970.
    joined: u64,
    /// The number of its first place, if the candidate has given that place up and come again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct Won {
    token: Token,
    /// Milliseconds since 1970.
    since: u64,
}

/// The content of an entry.
pub(crate) enum Reading {
    Waiting(Entry),
    Won(Leader),
}

/// Writes the line of a joining candidate, with its first number `arrived` if it comes again.
/// Returns the offset of the next line.
pub(crate) fn write_joined(
    file: &File,
    candidate: &Candidate,
    arrived: Option<u64>,
) -> io::Result<u64> {
    let line = joining(candidate, arrived)?;
    file.write_all_at(&line, 0)?;
    Ok(line.len() as u64)
}

/// The line of a candidate that joins now.
pub(crate) fn joining(candidate: &Candidate, arrived: Option<u64>) -> io::Result<Vec<u8>> {
    line(&Newcomer { candidate: candidate.clone(), joined: stamp::display(), first: arrived })
}

/// Writes the line of the win at `offset`, over any remains of an earlier attempt.
pub(crate) fn write_won(file: &File, offset: u64, token: Token) -> io::Result<()> {
    file.write_all_at(&line(&Won { token, since: stamp::display() })?, offset)
}

/// Copies the entry of a winner into another file, in place of its content.
pub(crate) fn copy(entry: &File, to: &File) -> io::Result<()> {
    let text = read_up_to(entry, MAX_LEN)?;
    to.write_all_at(&text, 0)?;
    to.set_len(text.len() as u64)
}

/// Reads the entry with this number; `None` if the file is damaged or is not an entry.
pub(crate) fn read(file: &File, number: u64) -> Option<Reading> {
    parse(&read_up_to(file, MAX_LEN).ok()?, number)
}

/// Whether the candidate of an entry waits, and its process is stopped.
pub(crate) fn stands_still(file: &File, number: u64) -> bool {
    matches!(read(file, number), Some(Reading::Waiting(entry)) if standstill::is_stopped(entry.candidate.pid))
}

/// Decodes the bytes of the entry with this number.
pub(crate) fn parse(bytes: &[u8], number: u64) -> Option<Reading> {
    // Only complete lines count. A line without its end is still being written.
    let mut lines =
        bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let Newcomer { candidate, joined, first } = serde_json::from_slice(lines.next()?).ok()?;
    let entry = Entry::new(candidate, stamp::read(joined), first.unwrap_or(number));
    Some(match lines.next().and_then(|line| serde_json::from_slice(line).ok()) {
        Some(Won { token, since }) => {
            let since = stamp::read(since);
            let ending = Some(Ending::WithItsProcess);
            Reading::Won(Leader { since, ending, ..Leader::new(entry, token) })
        }
        None => Reading::Waiting(entry),
    })
}

fn line(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate() -> Candidate {
        Candidate {
            id: "a\n\u{1F642}".into(),
            host: "h".into(),
            pid: 7,
            command: "c".into(),
            containment: "tree".into(),
            priority: Candidate::USUAL_PRIORITY,
            division: elect_api::Division::Whole,
            work: None,
        }
    }

    #[test]
    fn an_entry_reads_as_far_as_its_lines_are_complete() {
        let file = tempfile::tempfile().unwrap();
        let offset = write_joined(&file, &candidate(), None).unwrap();
        assert!(
            matches!(read(&file, 1), Some(Reading::Waiting(entry)) if entry.candidate == candidate().cleaned())
        );
        write_won(&file, offset, Token::new(9)).unwrap();
        let whole = file.metadata().unwrap().len();
        assert!(
            matches!(read(&file, 1), Some(Reading::Won(leader)) if leader.token == Token::new(9))
        );
        for len in 0..whole {
            file.set_len(len).unwrap();
            match read(&file, 1) {
                None => assert!(len < offset),
                Some(Reading::Waiting(_)) => assert!(len >= offset),
                Some(Reading::Won(_)) => panic!("a win read from {len} of {whole} bytes"),
            }
            write_joined(&file, &candidate(), None).unwrap();
            write_won(&file, offset, Token::new(9)).unwrap();
        }
    }

    #[test]
    fn foreign_files_are_no_entries() {
        for bytes in [
            &b""[..],
            b"\n",
            b"\n\n",
            b"{}\n",
            b"\0\0\0\0",
            b"[1]\n",
            &vec![0xff; 100_000],
            &vec![b'['; 100_000],
        ] {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(bytes, 0).unwrap();
            assert!(read(&file, 1).is_none());
        }
    }

    #[test]
    fn times_beyond_all_times_do_no_harm() {
        let line = br#"{"candidate":{"id":"a","host":"h","pid":1,"command":"c","containment":"t"},"joined":18446744073709551615}"#;
        assert!(matches!(parse(&[&line[..], b"\n"].concat(), 1), Some(Reading::Waiting(_))));
    }
}
