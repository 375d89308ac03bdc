//! `elect wait`: until an election has a leader, or a certain one, or none.

use anyhow::{Context, bail};
use elect_api::Survey;

use super::candidacy::BootClock;
use super::look::{Look, Lookout, Rhythm};
use crate::config::{self, Goal, WaitPlan, is_known_as};
use crate::election::driver::Clock as _;
use crate::guard;
use crate::report::{Log, NOT_ACQUIRED};

/// Waits. The exit code is 0 when it is so, and [`NOT_ACQUIRED`] when the time was over before.
///
/// # Errors
/// The store refuses us, or has not answered once before the time was over.
pub(super) fn wait(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let code = runtime.block_on(look_on(plan, &log.about(&plan.election)));
    // A resolver may keep a thread for minutes.
    runtime.shutdown_background();
    code
}

async fn look_on(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    let clock = BootClock::new()?;
    let end = plan.timeout.map(|timeout| guard::now() + timeout);
    let store = config::connect(&plan.backend)?;
    let mut lookout = Lookout::over(store, vec![plan.election.clone()], Rhythm::Calm)?;
    // What was seen last, and what was wrong last.
    let (mut seen, mut trouble): (Option<Survey>, Option<String>) = (None, None);
    let mut has_complained = false;
    loop {
        // One look is owed to whoever has no time at all.
        let is_due = seen.is_some() || trouble.is_some();
        let look = tokio::select! {
            biased;
            look = lookout.next() => look?,
            () = clock.until(end.filter(|_| is_due)) => break,
        };
        match look {
            Look::Seen(sight) => {
                let survey = sight.into_only();
                if is_met(&plan.goal, &survey) {
                    return Ok(0);
                }
                seen = Some(survey);
            }
            Look::Silent(silence) => {
                if silence.is_outage && !std::mem::replace(&mut has_complained, true) {
                    log.warn(format_args!("waiting for the store: {}", silence.reason));
                }
                trouble = Some(silence.reason);
            }
        }
    }
    let limit = humantime::format_duration(plan.timeout.unwrap_or_default());
    let Some(survey) = seen else {
        bail!("no answer within {limit}: {}", trouble.unwrap_or_default());
    };
    log.warn(format_args!("not so within {limit}: {}", in_words(&survey)));
    Ok(NOT_ACQUIRED)
}

fn is_met(goal: &Goal, survey: &Survey) -> bool {
    let leader = survey.leader.as_ref().map(|leader| leader.entry.candidate.id.as_str());
    match goal {
        Goal::Led => leader.is_some(),
        Goal::Vacant => leader.is_none(),
        Goal::LedBy(text) => leader.is_some_and(|id| is_known_as(id, text)),
    }
}

fn in_words(survey: &Survey) -> String {
    match &survey.leader {
        Some(leader) => format!("{} leads", leader.entry.candidate.id),
        None => "nobody leads".to_owned(),
    }
}
