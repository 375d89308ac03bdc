//! The fuzz targets: all readers of text that other programs wrote.

use elect_api::FuzzTarget;
use elect_remote::fuzz_url;

use crate::address::{self, OPTIONS};

/// All readers by name.
pub(crate) const TARGETS: &[FuzzTarget] = &[("redis-url", url)];

fn url(bytes: &[u8]) {
    let files = ["ca", "cert", "key", "password-file"];
    fuzz_url(bytes, (OPTIONS, &files), address::parse);
}
