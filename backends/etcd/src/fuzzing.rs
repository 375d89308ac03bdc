//! The fuzz targets: all readers of text that other programs wrote.

use std::str;

use elect_api::{ElectionName, FuzzTarget, Ticket};
use elect_remote::{Credentials, Tls, Url};

use crate::address::{Address, DEFAULT_PORT};
use crate::layout::{self, Keyspace, Mark};
use crate::value::{self, Value};

/// All readers by name.
pub const TARGETS: &[FuzzTarget] =
    &[("etcd-key", key), ("etcd-ticket", ticket), ("etcd-url", url), ("etcd-value", value)];

fn url(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let known = [&["prefix"], Credentials::OPTIONS, Tls::OPTIONS].concat();
    let Ok(url) = Url::parse(text, DEFAULT_PORT, &known) else { return };
    // A mutated URL must not make the reader open arbitrary files.
    if ["password-file", "ca", "cert", "key"].iter().all(|option| url.option(option).is_none())
        && let Ok(address) = Address::parse(text, |_| None)
    {
        assert!(!address.hosts.is_empty());
        assert!(!address.location.is_empty());
    }
}

fn value(bytes: &[u8]) {
    let Some(value) = Value::read(bytes) else {
        let entry = value::foreign(bytes, "a1", 1);
        assert!(!entry.candidate.id.is_empty());
        return;
    };
    let again = Value::read(&value.to_bytes()).expect("what was printed is a value");
    assert_eq!(again.since(), value.since());
    assert_eq!(again.into_entry(1), value.into_entry(1));
}

fn key(bytes: &[u8]) {
    let Some(election) = layout::election_of("elect/", bytes) else { return };
    let keyspace = Keyspace::new("elect/", &election);
    let number = keyspace.number_of(bytes).expect("a candidate of its own election");
    let other: ElectionName = "another".parse().expect("a name");
    assert!(election == other || Keyspace::new("elect/", &other).number_of(bytes).is_none());
    assert!(bytes.ends_with(number.as_bytes()));
}

fn ticket(bytes: &[u8]) {
    let Ok(Ok(ticket)) = str::from_utf8(bytes).map(str::parse::<Ticket>) else { return };
    let Ok(mark) = Mark::redeemed(&ticket) else { return };
    let again = mark.ticket().expect("an entry has a ticket");
    assert!(Mark::redeemed(&again).is_ok_and(|again| again == mark));
}
