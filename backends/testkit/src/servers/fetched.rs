use std::path::{Path, PathBuf};

/// Returns the path of a file that `tests/run` has put beside the build, or `None` if it is not
/// there.
pub fn fetched(path: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    Some(target.join(path)).filter(|path| path.exists())
}
