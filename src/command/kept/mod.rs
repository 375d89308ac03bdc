//! What an election keeps for its leaders: the greatest token of each resource, and values.

mod fence;
mod get;
mod put;

use anyhow::Context;
use elect_api::Store;

use crate::config::{self, BackendUrl};

pub(super) use fence::fence;
pub(super) use get::get;
pub(super) use put::put;

/// How often a store is asked before it counts as out of reach.
const ATTEMPTS: u32 = 5;

/// Does something with the store at a URL, to which its location is told.
fn with_store<T>(
    backend: &BackendUrl,
    work: impl AsyncFnOnce(&dyn Store, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let store = config::connect(backend)?;
    let location = store.profile().location;
    let outcome = runtime.block_on(work(store.as_ref(), &location));
    // A resolver may keep a thread for minutes.
    runtime.shutdown_background();
    outcome
}
