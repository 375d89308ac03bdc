//! The fuzz targets: all readers of text that other programs wrote.

use std::str;

use elect_api::FuzzTarget;
use elect_api::Ticket;
use elect_remote::{Credentials, Tls, Url};

use crate::entry;
use crate::guid::Guid;
use crate::layout::Layout;
use crate::queue::{Position, Queue};
use crate::settings::{DEFAULT_PORT, OWN_OPTIONS, Settings};

/// All readers by name.
pub const TARGETS: &[FuzzTarget] = &[
    ("zookeeper-entry", entry),
    ("zookeeper-queue", queue),
    ("zookeeper-ticket", ticket),
    ("zookeeper-url", url),
];

fn url(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let known = [&OWN_OPTIONS[..], Credentials::OPTIONS, Tls::OPTIONS].concat();
    let Ok(url) = Url::parse(text, DEFAULT_PORT, &known) else { return };
    // A mutated URL must not make the reader open arbitrary files.
    if ["password-file", "ca", "cert", "key"].iter().all(|option| url.option(option).is_none())
        && let Ok(settings) = Settings::of(text, |_| None)
    {
        assert!(!settings.cluster().is_empty());
        let election = "job".parse().expect("a name");
        assert!(settings.path_of(&election).starts_with('/'));
    }
}

fn entry(bytes: &[u8]) {
    let entry = entry::read("latch-0000000001", bytes, 1, Some(0));
    let again = entry::read("another", &entry::write(&entry.candidate, None), 1, None);
    assert_eq!(again.candidate, entry.candidate);
}

/// The children of an election, one on each line.
fn queue(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let children: Vec<String> = text.lines().map(str::to_owned).collect();
    for layout in [Layout::CuratorLatch, Layout::CuratorLock, Layout::Kazoo] {
        let queue = Queue::of(children.clone(), layout);
        let backwards = Queue::of(children.iter().rev().cloned().collect(), layout);
        let names: Vec<&str> = queue.names().collect();
        assert_eq!(names, backwards.names().collect::<Vec<_>>(), "the server's order counts");
        if let Some(first) = names.first() {
            assert_eq!(queue.position(first), Position::First);
        }
    }
}

fn ticket(bytes: &[u8]) {
    let Ok(Ok(ticket)) = str::from_utf8(bytes).map(str::parse::<Ticket>) else { return };
    let Ok(guid) = Guid::of_ticket(&ticket) else { return };
    let again = guid.ticket().expect("it has a ticket");
    assert!(Guid::of_ticket(&again).is_ok_and(|again| again == guid));
}
