//! Parse, dispatch, exit code.

use std::env;
use std::process::ExitCode;

use elect::{cli, command};

/// Tests prove with it that the guardian never allocates.
#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: elect::guard::NoAlloc = elect::guard::NoAlloc;

fn main() -> ExitCode {
    match cli::parse(env::args_os()) {
        Ok(given) => command::dispatch(given),
        Err(said) => command::explain(&said),
    }
}
