//! What a run that has led needs before it can campaign again: the files that its store is opened with.

use std::time::Duration;

use anyhow::Context;
use elect_api::{Boottime, Error};

use crate::command::runtime::{block_on, interruption};
use crate::config::{self, RunPlan, Wait};
use crate::guard::{self, Incoming, Inherited};
use crate::report::{Complaints, Level, Log, ServiceManager, chain};

/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest, unless a service manager wants signs of life more often.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// With `-n`.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until the store can be opened. It was opened with the same words before, so its files are wrong: one with a
/// password or a certificate is being renewed. Returns the signal that has ended the wait, if one has.
///
/// # Errors
/// The last one, once the time is over that `-w` gives.
pub(super) fn wait_for_files(
    plan: &RunPlan,
    log: &Log,
    inherited: &Inherited,
) -> anyhow::Result<Option<i32>> {
    let open = || config::connect(&plan.campaign.backend).map(drop);
    let Err(error) = open() else { return Ok(None) };
    let end = match plan.rules.wait {
        Wait::Forever => None,
        Wait::For(limit) => Some(guard::now() + limit),
        Wait::No => Some(guard::now() + PATIENCE),
    };
    block_on(async {
        let incoming = Incoming::new(inherited).context("cannot read signals")?;
        tokio::select! {
            signal = interruption(&incoming) => Ok(Some(signal)),
            outcome = insist(open, error, end, log) => outcome.map(|()| None),
        }
    })
}

async fn insist(
    open: impl Fn() -> anyhow::Result<()>,
    mut error: anyhow::Error,
    end: Option<Boottime>,
    log: &Log,
) -> anyhow::Result<()> {
    let manager = ServiceManager::from_environment().ok().flatten();
    let longest = ServiceManager::watchdog().map_or(LONGEST_PAUSE, |it| LONGEST_PAUSE.min(it / 3));
    let (mut told, mut pause) = (Complaints::none(), PAUSE.min(longest));
    loop {
        let Some(trouble) = error.downcast_ref::<Error>() else { return Err(error) };
        if end.is_some_and(|end| end <= guard::now() + pause) {
            return Err(error);
        }
        let text = chain(trouble);
        if let Some(more) = told.tell(Level::Warn, &text) {
            log.warn(format_args!("cannot campaign again: {text}; trying again{more}"));
        }
        if let (Some(manager), Some(_)) = (&manager, ServiceManager::watchdog()) {
            // A manager that does not read it is told again after the pause.
            let _ = manager.tell("WATCHDOG=1");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
        match open() {
            Ok(()) => return Ok(()),
            Err(new) => error = new,
        }
    }
}
