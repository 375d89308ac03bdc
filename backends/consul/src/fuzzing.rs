//! The fuzz targets: all readers of text that other programs wrote.

use elect_api::FuzzTarget;
use elect_remote::fuzz_url;

use crate::address::{self, OPTIONS};
use crate::transaction::{self, Outcome};

/// All readers by name.
pub(crate) const TARGETS: &[FuzzTarget] = &[("consul-pairs", pairs), ("consul-url", url)];

fn url(bytes: &[u8]) {
    let files = ["ca", "cert", "key", "password-file", "token-file"];
    fuzz_url(bytes, (OPTIONS, &files), address::parse);
}

/// A part of an answer: the keys that a query found.
fn pairs(bytes: &[u8]) {
    let found = transaction::pairs(bytes).or_else(|| Outcome::of(bytes).map(Outcome::pairs));
    for pair in found.unwrap_or_default() {
        let _ = pair.text();
    }
}
