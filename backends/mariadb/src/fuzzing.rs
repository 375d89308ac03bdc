//! The fuzz targets: all readers of text that other programs wrote.

use elect_api::FuzzTarget;
use elect_remote::fuzz_url;

use crate::address::{self, OPTIONS};
use crate::error::Refusal;
use crate::read::Reader;
use crate::wire::Greeting;

/// All readers by name.
pub(crate) const TARGETS: &[FuzzTarget] = &[("mariadb-packet", packet), ("mariadb-url", url)];

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
    let files = ["defaults-file", "password-file", "ssl-ca", "ssl-cert", "ssl-key"];
    fuzz_url(bytes, (OPTIONS, &files), address::parse);
}
