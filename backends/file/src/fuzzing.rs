//! The readers of data that other programs may have written, for fuzzing.

use elect_api::FuzzTarget;
use std::str;

use crate::{entry, queue, token, two_place_file, url};

/// All readers by name.
pub const TARGETS: &[FuzzTarget] = &[
    ("file-entry", entry),
    ("file-queue", queue),
    ("file-two-place", two_place_file::fuzz),
    ("file-token", token),
    ("file-url", url),
];

fn url(bytes: &[u8]) {
    let Ok(Ok(address)) = str::from_utf8(bytes).map(url::parse) else { return };
    if let Some(directory) = &address.directory {
        let again = url::parse(&url::of(directory)).expect("what was printed is a URL");
        assert_eq!(again.directory.as_ref(), Some(directory));
    }
}

fn entry(bytes: &[u8]) {
    let candidate = match entry::parse(bytes, 1) {
        None => return,
        Some(entry::Reading::Waiting(entry)) => entry.candidate,
        Some(entry::Reading::Won(leader)) => leader.entry.candidate,
    };
    let printed = entry::joining(&candidate, None).expect("text becomes JSON");
    let Some(entry::Reading::Waiting(again)) = entry::parse(&printed, 1) else {
        panic!("what was printed is no entry")
    };
    assert_eq!(again.candidate, candidate);
}

fn token(bytes: &[u8]) {
    if let Some(token) = token::decode(bytes) {
        assert_eq!(token::decode(token::encode(token).as_bytes()), Some(token));
    }
}

fn queue(bytes: &[u8]) {
    if let Some(number) = queue::number_of(bytes) {
        assert_eq!(queue::name_of(number).as_bytes(), bytes);
    }
}
