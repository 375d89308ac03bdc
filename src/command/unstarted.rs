//! A command that could not be started: what that means, and what people take it for.

use std::path::Path;

use crate::report::Outcome;

/// What an errno of its execution comes to.
pub(super) const fn outcome_of(errno: i32) -> Outcome {
    match errno {
        // The guardian got its order too late.
        libc::ETIME => Outcome::Lost,
        libc::ENOENT | libc::ENOTDIR => Outcome::NotFound,
        libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE => Outcome::Failed,
        _ => Outcome::NotExecutable,
    }
}

/// What is behind an errno that people take for something else.
pub(super) fn hint(program: &str, outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::NotFound if !program.contains('/') => " (in no folder of PATH)",
        Outcome::NotFound if Path::new(program).exists() => {
            " (the file is there; what its first line names to run it is not)"
        }
        _ => "",
    }
}
