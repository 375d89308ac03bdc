//! What `elect doctor` learns about a bucket.

use elect_api::Finding;
use elect_remote::Respondent;

use crate::error::Failure;
use crate::session::proof::is_without_deletes;
use crate::session::{Session, is_without_bucket};

/// Whether the bucket is there.
pub(crate) enum State {
    Missing,
    There,
}

pub(crate) async fn state(session: &Session) -> Result<State, Failure> {
    match session.read(&session.bucket.id()).await {
        Ok(_) => Ok(State::There),
        Err(failure) if is_without_bucket(&failure) => Ok(State::Missing),
        Err(failure) => Err(failure),
    }
}

/// What `elect doctor` shows of the bucket.
pub(crate) async fn examine(session: &Session, state: &State) -> Respondent {
    let (bucket, server) = (&session.bucket.name, session.server.clone());
    let mut findings = match state {
        State::Missing => vec![Finding::error(
            format!("there is no bucket {bucket}"),
            "correct its name, the region or the endpoint, or make it as elect help s3 shows",
        )],
        State::There if session.noted().is_some() => Vec::new(),
        State::There => vec![Finding::note(
            format!("no candidate has proven yet that {server:?} heeds the conditions of a put"),
            "elect run does so before it first leads there, and refuses a store that does not",
        )],
    };
    if matches!(state, State::There) {
        findings.extend(settings(session).await);
        if is_without_deletes(session).await {
            findings.push(Finding::note(
                "the credentials may not remove objects: each deleted row leaves one of 16 bytes behind",
                format!("permit s3:DeleteObject on {}", session.bucket.arn()),
            ));
        }
    }
    Respondent {
        version: server,
        role: "bucket",
        store: session.store().cloned(),
        is_primary: true,
        findings,
        connections: None,
    }
}

/// The settings that do harm. What the credentials may not read, or the store does not know, is passed over.
async fn settings(session: &Session) -> Vec<Finding> {
    let (bucket, mut findings) = (&session.bucket.name, Vec::new());
    let says = |text: &str, words: &[&str]| words.iter().all(|word| text.contains(word));
    let versioning = session.setting("versioning").await.unwrap_or_default();
    if says(&versioning, &["<Status>Enabled</Status>"]) {
        findings.push(Finding::note(
            format!("the bucket {bucket} keeps the old version of an object at each renewal"),
            "take a bucket without versioning, or one with a rule that removes old versions soon",
        ));
    }
    let rules = session.setting("lifecycle").await.unwrap_or_default();
    if says(&rules, &["<Expiration>", "<Status>Enabled</Status>"]) {
        findings.push(Finding::warning(
            format!("the bucket {bucket} has a rule that removes old objects"),
            "limit it to other prefixes: elect would forget fences and values that are old",
        ));
    }
    findings
}
