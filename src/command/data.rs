//! `elect fence`, `get` and `put`: the greatest token of each resource, and the values that leaders keep.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;

use anyhow::Context;
use elect_api::{Cell, Error, Fenced, If, Store};

use super::attempts::{ATTEMPTS, aloud, insist};
use super::cells::UnknownName;
use super::runtime::block_on;
use crate::config::variables::TOKEN;
use crate::config::{self, FencePlan, GetPlan, PutPlan, Target};
use crate::guard::become_command;
use crate::report::{self, LOST, Log, NOT_ACQUIRED, Outcome};

/// Asks the store, and retries errors that may pass. Warns if that takes long.
async fn asked<T>(
    store: &dyn Store,
    log: &Log,
    ask: impl AsyncFnMut() -> Result<T, Error>,
) -> anyhow::Result<T> {
    let location = store.profile().location;
    aloud(log, &location, insist(&location, ATTEMPTS, ask)).await
}

/// Records the token and executes the command in place of this process. Returns only if the command was not
/// started, with [`LOST`] if the token is stale.
///
/// # Errors
/// The store refuses, does not answer, or records no tokens.
pub(super) fn fence(plan: &FencePlan, log: &Log) -> anyhow::Result<u8> {
    let FencePlan { target: Target { backend, election }, resource, token, command } = plan;
    let store = config::connect(backend)?;
    let fence = async || elect_api::fence(&*store, election, resource, *token).await;
    let fenced = block_on(asked(&*store, log, fence));
    let tried =
        || format!("cannot record the token {token} for {resource}; the command was not run");
    match fenced.with_context(tried)? {
        Fenced::Passed => Ok(start(command, &token.to_string(), log)),
        Fenced::Stale(greatest) => {
            log.about(election).warn(format_args!(
                "token {token} is stale: {greatest} has passed the fence of {resource}; the command was not run"
            ));
            Ok(LOST)
        }
    }
}

/// Executes the command in place of this process. Returns the exit code if that fails.
fn start(command: &[OsString], token: &str, log: &Log) -> u8 {
    let others = env::vars_os().filter(|(name, _)| name != TOKEN);
    let environment: Vec<_> = others.chain([(TOKEN.into(), token.into())]).collect();
    let error: io::Error = become_command(command, &environment);
    let program = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    let outcome = Outcome::not_started(error.raw_os_error().unwrap_or(libc::EINVAL));
    log.error(format_args!("cannot execute {program}: {error}{}", outcome.hint(&program)));
    outcome.exit_code(NOT_ACQUIRED)
}

/// The exit code of `get` if the key has no value.
const NOTHING: u8 = 1;

/// Prints the value as it was written, and returns 0. Returns [`NOTHING`] if there is no value. A name of an election
/// of which nothing is known may be a typing error.
///
/// # Errors
/// The store refuses, does not answer, or keeps no values; stdout cannot be written.
pub(super) fn get(plan: &GetPlan, log: &Log) -> anyhow::Result<u8> {
    let GetPlan { target: Target { backend, election }, key } = plan;
    let log = &log.about(election);
    let store = config::connect(backend)?;
    let value = block_on(async {
        let read = async || store.read(election, Cell::Value(key)).await;
        let value = asked(&*store, log, read).await?.bytes;
        if value.is_none() {
            UnknownName::warn_of(&*store, election, log).await;
        }
        anyhow::Ok(value)
    });
    let Some(value) = value.with_context(|| format!("cannot read {key}"))? else {
        return Ok(NOTHING);
    };
    Cell::Value(key).check_length(&value).with_context(|| format!("cannot read {key}"))?;
    report::print(&value).context("cannot write to stdout")?;
    Ok(0)
}

/// Writes the value, and returns 0. Returns [`LOST`] if the candidate with the token leads no more.
///
/// # Errors
/// The value cannot be read, or is too long; the store refuses, does not answer, or keeps no values.
pub(super) fn put(plan: &PutPlan, log: &Log) -> anyhow::Result<u8> {
    let PutPlan { target: Target { backend, election }, token, key, value } = plan;
    let value = match value {
        Some(value) => value.clone().into_vec(),
        None => read().context("cannot read the value from standard input")?,
    };
    let cell = Cell::Value(key);
    cell.check_length(&value)?;
    let mut attempts = 0;
    let store = config::connect(backend)?;
    let write = async || {
        attempts += 1;
        store.write(election, cell, &value, If::Leads(*token)).await
    };
    let written = block_on(asked(&*store, log, write));
    let written = written.with_context(|| format!("cannot write {key}"))?;
    match written.why_not() {
        None => Ok(0),
        Some(why) => {
            let but =
                if attempts > 1 { ", unless by an earlier request without an answer" } else { "" };
            log.about(election).warn(format_args!("{key} is not written{but}: {why}"));
            Ok(LOST)
        }
    }
}

/// Returns standard input. Reads no further than one byte beyond the longest allowed value, so that the
/// caller can refuse it.
fn read() -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    io::stdin().lock().take(Cell::LONGEST as u64 + 1).read_to_end(&mut value)?;
    Ok(value)
}
