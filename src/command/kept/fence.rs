//! `elect fence`: a command that is run only if nobody with a greater token has come.

use std::env;
use std::ffi::OsString;
use std::io;

use anyhow::Context;
use elect_api::Fenced;

use super::{ATTEMPTS, with_store};
use crate::command::attempts::insist;
use crate::command::unstarted::{hint, outcome_of};
use crate::config::FencePlan;
use crate::guard::become_command;
use crate::report::{LOST, Log, NOT_ACQUIRED};

/// What tells a command its token.
const TOKEN: &str = "ELECT_TOKEN";

/// Records the token, and becomes the command. Returns only if it does not: [`LOST`] if the token is stale.
///
/// # Errors
/// The store refuses, does not answer, or records no tokens.
pub(in crate::command) fn fence(plan: &FencePlan, log: &Log) -> anyhow::Result<u8> {
    let FencePlan { backend, election, resource, token, command } = plan;
    let fenced = with_store(backend, async |store, location| {
        insist(location, ATTEMPTS, async || store.fence(election, resource, *token).await).await
    });
    let tried =
        || format!("cannot record the token {token} for {resource}; the command was not run");
    match fenced.with_context(tried)? {
        Fenced::Passed => Ok(start(command, &token.to_string(), log)),
        Fenced::Stale(greatest) => {
            log.about(election).warn(format_args!(
                "token {token} is stale: {greatest} has come for {resource}; the command was not run"
            ));
            Ok(LOST)
        }
    }
}

/// Becomes the command; the exit code if that fails.
fn start(command: &[OsString], token: &str, log: &Log) -> u8 {
    let others = env::vars_os().filter(|(name, _)| name != TOKEN);
    let environment: Vec<_> = others.chain([(TOKEN.into(), token.into())]).collect();
    let error: io::Error = become_command(command, &environment);
    let program = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    let outcome = outcome_of(error.raw_os_error().unwrap_or(libc::EINVAL));
    log.error(format_args!("cannot execute {program}: {error}{}", hint(&program, outcome)));
    outcome.exit_code(NOT_ACQUIRED)
}
