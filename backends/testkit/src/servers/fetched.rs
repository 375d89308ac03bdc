use std::path::{Path, PathBuf};

/// Where something is that `tests/run` puts beside the build; `None` if it has not.
pub fn fetched(path: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    Some(target.join(path)).filter(|path| path.exists())
}
