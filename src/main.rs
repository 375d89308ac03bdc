//! Parse, dispatch, exit code.

use std::env;
use std::process::ExitCode;

use elect::{cli, command};

/// Tests prove with it that the guardian never allocates.
#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: elect::guard::NoAlloc = elect::guard::NoAlloc;

#[cfg(all(not(debug_assertions), target_env = "musl"))]
#[global_allocator]
static ALLOCATOR: elect::guard::Allocator = elect::guard::Allocator;

fn main() -> ExitCode {
    elect::guard::make_ready();
    #[cfg(all(not(debug_assertions), target_env = "musl"))]
    elect::guard::let_forks_allocate();
    let code = match cli::parse(env::args_os()) {
        Ok(given) => command::dispatch(given),
        Err(said) => {
            let words: Vec<_> = env::args_os().collect();
            command::explain(&said, &words, cli::log_format(&words))
        }
    };
    elect_system::helpers::end_all();
    code
}
