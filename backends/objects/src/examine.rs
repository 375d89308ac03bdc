//! What `elect doctor` learns about a bucket.

use elect_api::Finding;
use elect_remote::Respondent;

use crate::error::Failure;
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
pub(crate) fn examine(session: &Session, state: &State) -> Respondent {
    let (bucket, server) = (&session.bucket.name, session.server.clone());
    let findings = match state {
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
    Respondent {
        version: server,
        role: "bucket",
        store: session.store().cloned(),
        is_primary: true,
        findings,
        connections: None,
    }
}
