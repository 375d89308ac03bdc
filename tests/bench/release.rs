//! The elect that is measured.

use std::path::PathBuf;

/// Where tests/bench/run has put it: built and copied as it is for the Debian package.
pub(crate) fn path() -> PathBuf {
    let path =
        std::env::var_os("BENCHED_ELECT").expect("BENCHED_ELECT is not set: call tests/bench/run");
    path.into()
}
