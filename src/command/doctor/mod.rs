//! `elect doctor`: finds out what is wrong with this machine and this store, and what may go wrong.

mod machine;
mod trial;
mod ttl_advice;

use std::sync::Arc;

use anyhow::Context;
use elect_api::StoreId;
use elect_api::{
    Endpoint, EndpointAnswer, ErrorKind, Examination, Finding, Severity, Store, StoreIdentity,
};

use self::machine::Machine;
use self::trial::Trial;
use super::runtime::block_on;
use super::runtime::{ended_by, interruption};
use crate::config::{self, BackendUrl, OutputFormat};
use crate::guard::{self, Incoming, Inherited};
use crate::report::{self, DoctorReport, Log, RightReport};

/// Examines the machine and the store, which it first creates if it has to. The exit code is 0 if nothing is wrong, else 1. If a signal ends it,
/// the exit code is 128 plus the number of the signal.
///
/// # Errors
/// No endpoint of the store can be asked, for the reasons in the message. Or stdout cannot be written.
pub(super) fn doctor(
    backend: &BackendUrl,
    must_create: bool,
    output: OutputFormat,
    log: &Log,
) -> anyhow::Result<u8> {
    let store = config::connect(backend)?;
    let inherited = Inherited::take().context("cannot block signals")?;
    // The examination of the machine forks, so it comes before there is any thread.
    let machine = Machine::examine();
    let report = match block_on(examine(&*store, must_create, machine, &inherited))? {
        Ok(report) => report,
        Err(signal) => return Ok(ended_by(signal)),
    };
    report::print_report(&report, output, || {
        let promise = report::promise(&store.profile());
        let table = report.table(report::width());
        format!("backend: {}\n{promise}{table}", log.place(&report.backend))
    })?;
    Ok(u8::from(!report.well))
}

/// Returns the report, or the signal that ended the examination.
async fn examine(
    store: &dyn Store,
    must_create: bool,
    machine: Machine,
    inherited: &Inherited,
) -> anyhow::Result<Result<DoctorReport, i32>> {
    let incoming = Incoming::new(inherited).context("cannot read signals")?;
    let mut created = None;
    if must_create {
        let made = tokio::select! {
            made = store.create() => made?,
            signal = interruption(&incoming) => return Ok(Err(signal)),
        };
        created = Some(match made {
            Some(what) => Finding::note(format!("created {what}"), "candidates can run now"),
            None => Finding::note("what holds the elections is there", "leave --create out"),
        });
    }
    let mut examination = tokio::select! {
        examination = store.examine(Arc::new(guard::now)) => examination?,
        signal = interruption(&incoming) => return Ok(Err(signal)),
    };
    examination.findings.extend(created);
    expect_an_answer(&store.profile().location, &examination.endpoints)?;
    let trips = examination.endpoints.iter().filter_map(|endpoint| endpoint.answer.as_ref().ok());
    let slowest = trips.map(|answer| answer.round_trip).max().unwrap_or_default();
    let complains = examination.findings.iter().any(|it| it.severity == Severity::Error);
    let mut trial = Trial::new(store, slowest, complains)?;
    let signal = tokio::select! {
        () = trial.make() => None,
        signal = interruption(&incoming) => Some(signal),
    };
    if signal.is_none() && examination.endpoints.iter().any(is_unnamed) {
        // The trial has given the store an id if it had none.
        tokio::select! {
            again = store.examine(Arc::new(guard::now)) => examination.endpoints = again?.endpoints,
            _ = interruption(&incoming) => {}
        }
    }
    tokio::select! {
        () = trial.clear_away() => {}
        _ = interruption(&incoming) => {}
    }
    Ok(match signal {
        Some(signal) => Err(signal),
        None => Ok(report(store, machine, examination, &trial)),
    })
}

/// Fails if no endpoint has answered. A refusal of access counts as an answer.
fn expect_an_answer(location: &str, endpoints: &[Endpoint]) -> anyhow::Result<()> {
    let errors: Vec<_> =
        endpoints.iter().filter_map(|endpoint| endpoint.answer.as_ref().err()).collect();
    let is_silent = errors.len() == endpoints.len()
        && errors.iter().all(|error| error.kind() != ErrorKind::Denied);
    if errors.is_empty() || !is_silent {
        return Ok(());
    }
    let each: Vec<String> = errors.into_iter().map(|error| report::chain(error)).collect();
    anyhow::bail!("{location} cannot be asked: {}", each.join("; "))
}

fn report(
    store: &dyn Store,
    machine: Machine,
    examination: Examination,
    trial: &Trial<'_>,
) -> DoctorReport {
    let profile = store.profile();
    let Examination { endpoints, grants, mut supplies, mut findings, .. } = examination;
    findings.extend(store.profile().cautions);
    if !is_told_by(trial, &endpoints) {
        findings.extend(out_of_order(&endpoints));
    }
    findings.extend(divided(&endpoints));
    findings.extend(machine.findings(&profile));
    findings.extend(trial.findings());
    let ttl_advice = ttl_advice::prescribe(&profile, trial.renewal(), grants);
    findings.extend(ttl_advice.findings);
    supplies.extend(machine.supplies);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    DoctorReport {
        backend: profile.location,
        promise: profile.promise,
        store_id: answers(&endpoints).find_map(|(_, answer)| answer.store.id()).map(id),
        well: findings.iter().all(|finding| finding.severity == Severity::Note),
        endpoints: endpoints.iter().map(Into::into).collect(),
        rights: trial.rights().iter().map(RightReport::from).collect(),
        renewal: ttl_advice.renewal,
        ttl: ttl_advice.ttl,
        clock: machine.clock,
        containment: machine.containment,
        limits: supplies,
        findings,
    }
}

fn answers(endpoints: &[Endpoint]) -> impl Iterator<Item = (&str, &EndpointAnswer)> {
    endpoints
        .iter()
        .filter_map(|endpoint| Some((&*endpoint.address, endpoint.answer.as_ref().ok()?)))
}

fn is_unnamed(endpoint: &Endpoint) -> bool {
    endpoint.answer.as_ref().is_ok_and(|answer| answer.store == StoreIdentity::NotYet)
}

fn id(id: &StoreId) -> String {
    id.to_string()
}

/// Returns a finding if the endpoints of the URL lead to several stores.
fn divided(endpoints: &[Endpoint]) -> Option<Finding> {
    let told: Vec<(&str, &StoreIdentity)> = answers(endpoints)
        .map(|(address, answer)| (address, &answer.store))
        .filter(|(_, store)| **store != StoreIdentity::Untold)
        .collect();
    let (_, first) = told.first()?;
    if told.iter().all(|(_, store)| store == first) {
        return None;
    }
    let words: Vec<String> = told
        .iter()
        .map(|(address, store)| match store.id() {
            Some(id) => format!("{address} is the store {id}"),
            None => format!("{address} is one that has no id yet"),
        })
        .collect();
    Some(Finding::error(
        format!(
            "the URL leads to several stores, and each may have a leader of its own: {}",
            words.join(", ")
        ),
        "take those out of the URL that are not meant, and name the one that is: `store-id=` and its id",
    ))
}

/// Returns whether the trial reports the errors of all endpoints itself, as when none grants access.
fn is_told_by(trial: &Trial<'_>, endpoints: &[Endpoint]) -> bool {
    let told: Vec<String> = trial.errors().map(|(_, error)| report::root(error)).collect();
    let is_told = |endpoint: &Endpoint| match &endpoint.answer {
        Ok(_) => false,
        Err(error) => told.contains(&report::root(error)),
    };
    !told.is_empty() && endpoints.iter().all(is_told)
}

/// Returns a finding for each endpoint that does not answer.
fn out_of_order(endpoints: &[Endpoint]) -> Vec<Finding> {
    let (whole, answering) =
        (endpoints.len(), endpoints.iter().filter(|endpoint| endpoint.answer.is_ok()).count());
    let failing = endpoints.iter().filter_map(|endpoint| endpoint.answer.as_ref().err());
    failing
        .map(|error| {
            let what = report::chain(error);
            if error.kind() == ErrorKind::Denied {
                return Finding::error(
                    what,
                    "give it credentials that the store takes, or their rights",
                );
            }
            let way_out = if error.is_permanent() {
                "correct what the URL says of it, or take it out of the URL"
            } else {
                "start it, mend the way to it, or take it out of the URL"
            };
            Finding::warning(format!("{what}; {answering} of the {whole} named answer"), way_out)
        })
        .collect()
}
