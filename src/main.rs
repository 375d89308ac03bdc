//! Parse, dispatch, exit code.

use std::env;
use std::process::ExitCode;

use elect::{cli, command};

fn main() -> ExitCode {
    match cli::parse(env::args_os()) {
        Ok(cli) => command::dispatch(cli),
        Err(said) => command::explain(&said),
    }
}
