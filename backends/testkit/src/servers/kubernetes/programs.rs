use std::path::PathBuf;

use super::super::fetched;

/// The variable that names the folder of the programs, if it is not the one that [`BUILD`] fills.
const OVERRIDE: &str = "ELECT_TEST_KUBERNETES";
const BUILD: &str = "tests/deep/kubernetes/build";

/// Returns the path of a program for the deep tests on Kubernetes: `kube-apiserver`, `kubectl`,
/// `elector`, `elector-0.20`.
///
/// # Panics
/// Panics if it is missing. The message names the command that builds it.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    let named = std::env::var_os(OVERRIDE).map(PathBuf::from);
    let folder = named.or_else(|| fetched("kubernetes"));
    let found = folder.map(|folder| folder.join(name)).filter(|program| program.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: {BUILD}"))
}
