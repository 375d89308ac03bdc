//! `elect put`: a value that only a leader writes.

use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;

use anyhow::Context;
use elect_api::{LONGEST_VALUE, Noted, check_value};

use super::{ATTEMPTS, with_store};
use crate::command::attempts::insist;
use crate::config::PutPlan;
use crate::report::{LOST, Log};

/// Writes the value. The exit code is 0 then, and [`LOST`] if whoever has the token leads no more.
///
/// # Errors
/// The value cannot be read, or is too long; the store refuses, does not answer, or keeps no values.
pub(in crate::command) fn put(plan: &PutPlan, log: &Log) -> anyhow::Result<u8> {
    let PutPlan { backend, election, token, key, value } = plan;
    let value = match value {
        Some(value) => value.clone().into_vec(),
        None => read().context("cannot read the value from standard input")?,
    };
    check_value(&value)?;
    let mut attempts = 0;
    let noted = with_store(backend, async |store, location| {
        let put = async || {
            attempts += 1;
            store.put(election, *token, key, &value).await
        };
        insist(location, ATTEMPTS, put).await
    });
    match noted.with_context(|| format!("cannot write {key}"))? {
        Noted::Written => Ok(0),
        Noted::Gone(why) => {
            let but = if attempts > 1 {
                ", unless it was before, by a request that nobody answered"
            } else {
                ""
            };
            log.about(election).warn(format_args!("{key} is not written{but}: {why}"));
            Ok(LOST)
        }
    }
}

/// Standard input, or so much of it that it is too long.
fn read() -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    io::stdin().lock().take(LONGEST_VALUE as u64 + 1).read_to_end(&mut value)?;
    Ok(value)
}
