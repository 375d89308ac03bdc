//! The fuzz targets: all readers of text that other programs wrote.

use std::str;

use elect_api::FuzzTarget;

use crate::address::Address;
use crate::error::Refusal;
use crate::read::Reader;
use crate::wire::Greeting;

/// All readers by name.
pub const TARGETS: &[FuzzTarget] = &[("mariadb-packet", packet), ("mariadb-url", url)];

/// A packet as a server sends it, in each of its roles.
fn packet(bytes: &[u8]) {
    if let Ok(greeting) = Greeting::read(bytes) {
        assert!(greeting.salt.len() >= 8);
    }
    let _ = Refusal::read(bytes);
    let mut row = Reader(bytes);
    while !row.0.is_empty() && row.column().is_ok() {}
}

fn url(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    // A mutated URL must not make the reader open arbitrary files.
    let names_file = ["file", "ssl-ca", "ssl-cert", "ssl-key"].iter().any(|it| text.contains(it));
    if !names_file && let Ok(address) = Address::parse(text, |_| None) {
        assert!(!address.places.is_empty() && !address.database.is_empty());
    }
}
