//! Removals on behalf of others. `elect forget` removes an election that is no longer used, with all of its records.
//! `elect redeem` removes the entry of a crashed `elect run`.

use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{Division, ElectionName, Ending, Leader, Removal, Scope, Store};

use crate::command::attempts::{ATTEMPTS, aloud, insist};
use crate::command::cells::{KeptCells, UnknownName};
use crate::command::runtime::block_on;
use crate::command::survey::{
    Awaited, ElectionSnapshot, Proof, Rhythm, Watcher, time_until_over, until,
};
use crate::config::{self, ForgetPlan, RedeemPlan, Target};
use crate::election::slots;
use crate::report::{self, Log};

/// The exit code if elect only showed what it would remove.
const NOT_REMOVED: u8 = 1;

/// Prints the records of an election, and removes them if the plan says so. The exit code is 0 after the removal, and
/// [`NOT_REMOVED`] without `--yes`.
///
/// # Errors
/// The store refuses access or does not answer. The election is paused, or has a candidate. Or it has fences, and
/// `--fences` is missing.
pub(in crate::command) fn forget(plan: &ForgetPlan, log: &Log) -> anyhow::Result<u8> {
    let Target { backend, election } = &plan.target;
    let store = config::connect(backend)?;
    let location = store.profile().location;
    let log = log.about(election);
    block_on(aloud(&log, &location, forget_in(store.as_ref(), plan, &log)))
}

async fn forget_in(store: &dyn Store, plan: &ForgetPlan, log: &Log) -> anyhow::Result<u8> {
    let election = &plan.target.election;
    let mut all = Vec::new();
    for name in whole_and_parts(store, election).await? {
        let kept = KeptCells::read(store, &name, ATTEMPTS).await?;
        let over = expect_idle(store, plan, &name, &kept, log).await?;
        all.push((name, kept, over));
    }
    let mut lines: Vec<String> = Vec::new();
    for (name, kept, _) in &all {
        lines.extend(kept.lines().iter().map(|line| format!("{name}: {}", report::escape(line))));
    }
    if lines.is_empty() {
        expect_known(store, election).await?;
        lines.push(format!("{election}: nothing is kept but its name"));
    }
    report::print(&(lines.join("\n") + "\n")).context("cannot write to stdout")?;
    let refusal = all.iter().find_map(|(name, kept, _)| why_fenced(name, kept));
    let refusal = refusal.filter(|_| !plan.fences);
    if !plan.yes {
        let flags = if refusal.is_some() { "--yes --fences" } else { "--yes" };
        log.warn(format_args!("nothing is removed: {flags} removes all of this"));
        return Ok(NOT_REMOVED);
    }
    if let Some(refusal) = refusal {
        bail!("{refusal}; --fences removes the fences as well");
    }
    // The whole election goes last. As long as its records are there, its parts are known.
    let location = store.profile().location;
    for (name, _, over) in all.iter().rev() {
        if let Some(over) = *over {
            insist(&location, ATTEMPTS, async || store.remove(name, over).await).await?;
        }
        let remove = async || store.remove(name, Removal::Everything { fences: plan.fences }).await;
        let removed = insist(&location, ATTEMPTS, remove).await;
        removed.with_context(|| format!("cannot forget {name}"))?;
    }
    report::print(&format!("{election} is forgotten\n")).context("cannot write to stdout")?;
    Ok(0)
}

/// Returns why the election may not be removed without `--fences`: it has a fence, or may have one.
fn why_fenced(name: &ElectionName, kept: &KeptCells) -> Option<String> {
    let fence = kept.keys.fences.first();
    let fence = fence.map(|fence| Removal::refuse_fence(name, fence.as_str()).to_string());
    fence.or_else(|| kept.damage.clone())
}

/// Returns the name of the election, and the names of its parts if it is divided.
async fn whole_and_parts(
    store: &dyn Store,
    election: &ElectionName,
) -> anyhow::Result<Vec<ElectionName>> {
    if let Some(whole) = Division::whole(election)
        && KeptCells::read(store, &whole, ATTEMPTS).await?.control.has_part(election)
    {
        bail!("{election} is a part of {whole}; forget the whole election: elect forget {whole}");
    }
    let division = KeptCells::read(store, election, ATTEMPTS).await?.control.division();
    let numbers = if division.is_whole() { 0..0 } else { 0..division.parts() };
    let mut names = vec![election.clone()];
    for number in numbers {
        names.push(Division::part(election, number)?);
    }
    Ok(names)
}

/// Checks that the election has no candidate and is not paused. If the lease of its leader is over, returns the removal
/// of that leader's entry.
async fn expect_idle(
    store: &dyn Store,
    plan: &ForgetPlan,
    election: &ElectionName,
    kept: &KeptCells,
    log: &Log,
) -> anyhow::Result<Option<Removal<'static>>> {
    let location = store.profile().location;
    let mut survey = insist(&location, ATTEMPTS, async || store.survey(election).await).await?;
    let over = match &survey.leader {
        Some(leader) => outlast(plan, election, leader, log).await?,
        None => None,
    };
    if over.is_some() {
        survey.leader = None;
    }
    if let Some(first) = survey.entries().next() {
        let (number, id) = (survey.entries().count(), &first.candidate.id);
        if over.is_some() {
            bail!(
                "{election} has {number} waiting, the first is {id}, and the lease of who led is over: the next leader \
                 removes them if they are dead: elect run -n -e {election} true"
            );
        }
        if number == 1 {
            bail!("{election} has 1 candidate, {id}: stop it first");
        }
        bail!("{election} has {number} candidates, the first is {id}: stop them first");
    }
    if let Some(pause) = kept.control.pausing() {
        let pause = pause.in_words("paused");
        bail!("{election} is {pause}; end the pause first: elect resume {election}");
    }
    Ok(over)
}

/// Waits until the leader is known to live, or its lease is over, in a store where candidates judge leases. Returns the
/// removal of its entry if the lease is over.
async fn outlast(
    plan: &ForgetPlan,
    election: &ElectionName,
    leader: &Leader,
    log: &Log,
) -> anyhow::Result<Option<Removal<'static>>> {
    let Some(Ending::Judged { within, mark, .. }) = leader.ending else { return Ok(None) };
    log.info(format_args!(
        "looking whether {} lives, for {} at most",
        leader.entry.candidate.id,
        humantime::format_duration(Duration::from_secs(time_until_over(within).as_secs() + 1))
    ));
    let store = config::connect(&plan.target.backend)?;
    let watcher = Watcher::over(store, vec![election.clone()], Rhythm::Calm)?;
    let is_same = |leader: &Leader| matches!(leader.ending, Some(Ending::Judged { mark: now, .. }) if now == mark);
    let is_over = |seen: &ElectionSnapshot| !seen.survey.leader.as_ref().is_some_and(is_same);
    Ok(match until(watcher, None, log, is_over).await? {
        Awaited::Met(ElectionSnapshot { proof: Proof::Over(leader), .. }) if is_same(&leader) => {
            Some(Removal::Leader { token: leader.token, mark: Some(mark) })
        }
        _ => None,
    })
}

/// Checks that there is such an election, though the store has no records of it.
async fn expect_known(store: &dyn Store, election: &ElectionName) -> anyhow::Result<()> {
    let location = store.profile().location;
    for scope in [Scope::Entered, Scope::Kept] {
        let all = insist(&location, ATTEMPTS, async || store.list(scope).await).await?;
        if all.contains(election) {
            return Ok(());
        }
    }
    match UnknownName::find(store, election, ATTEMPTS).await? {
        Some(unknown) => bail!("{unknown}"),
        None => Ok(()),
    }
}

/// The number of attempts. If all fail, the entry ends with its lease, as it would without this command.
const TRIES: u32 = 9;

/// Gives up the entry of a crashed `elect run`. The guardian calls this once the command tree is proven dead. The exit
/// code is 0.
///
/// # Errors
/// The store refuses access, or does not answer.
pub(in crate::command) fn redeem(plan: &RedeemPlan) -> anyhow::Result<u8> {
    let store = config::connect(&plan.backend)?;
    let location = store.profile().location;
    let redeem = async || slots::redeem(&*store, &plan.election, &plan.ticket).await;
    block_on(insist(&location, TRIES, redeem)).context("cannot give the entry up")?;
    Ok(0)
}
