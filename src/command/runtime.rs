use anyhow::Context;

/// Runs what a subcommand does with stores, on this thread.
///
/// # Errors
/// Those of `work`; or no runtime can be had.
pub(super) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let outcome = runtime.block_on(work);
    // A resolver may keep a thread for minutes.
    runtime.shutdown_background();
    outcome
}
