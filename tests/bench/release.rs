//! The elect that is measured.

use std::path::PathBuf;

/// Returns the path at which tests/bench/run has put the binary: built and copied as for the Debian package.
pub(crate) fn path() -> PathBuf {
    let path =
        std::env::var_os("BENCHED_ELECT").expect("BENCHED_ELECT is not set: call tests/bench/run");
    path.into()
}
