//! Examines the API server, and the rights of these credentials there.

use std::error::Error as _;
use std::time::Duration;

use elect_api::{
    Clock, Endpoint, EndpointAnswer, Error, ErrorKind, Examination, Finding, Grants, StoreIdentity,
    middle,
};
use hyper::Method;
use serde_json::{Value, json};

use crate::api::Api;
use crate::client::Failure;
use crate::error::{Said, Verb, strange};

/// The time limit for one answer.
const LIMIT: Duration = Duration::from_secs(6);
/// The number of measured questions.
const QUESTIONS: usize = 5;
/// An API server that takes longer than this is not asked again.
const LONG: Duration = Duration::from_secs(1);

/// The rights of a candidate if each waiting candidate has a Lease.
const QUEUE: &[Verb] =
    &[Verb::Get, Verb::List, Verb::Watch, Verb::Create, Verb::Update, Verb::Delete];
/// The rights of a candidate to the Leases of its election if waiting candidates have none.
const RACE: &[Verb] = &[Verb::Get, Verb::Watch, Verb::Create, Verb::Update];

pub(crate) async fn examine(
    api: &Api,
    is_queue: bool,
    least_ttl: Duration,
    clock: &Clock,
) -> Examination {
    let answer = visit(api, clock).await;
    let findings = match &answer {
        Ok(_) if is_queue => rights(api, QUEUE).await,
        Ok(_) => {
            let mut findings = rights(api, RACE).await;
            findings.extend(listing(api).await);
            findings
        }
        Err(_) => Vec::new(),
    };
    let endpoint = Endpoint { address: api.server.clone(), answer };
    let grants = Grants { least: Some(least_ttl), greatest: None };
    Examination { endpoints: vec![endpoint], grants, findings, ..Examination::default() }
}

async fn visit(api: &Api, clock: &Clock) -> Result<EndpointAnswer, Error> {
    api.client.log_in(LIMIT).await.map_err(|failure| unheard(api, failure))?;
    let (mut spans, mut version) = (Vec::new(), None);
    // The first one connects.
    while spans.len() <= QUESTIONS && spans.last().is_none_or(|span| *span < LONG) {
        let sent = clock();
        match api.client.call(Method::GET, "/version", None, LIMIT).await {
            Ok(answer) => version = answer["gitVersion"].as_str().map(str::to_owned),
            Err(failure) if spans.is_empty() => return Err(unheard(api, failure)),
            Err(_) => break,
        }
        spans.push(clock().since(sent));
    }
    if spans.len() > 1 {
        spans.remove(0);
    }
    Ok(EndpointAnswer {
        round_trip: middle(spans),
        version,
        role: None,
        store: StoreIdentity::Untold,
    })
}

/// Returns the error of a server that did not answer properly. The failure's message names the API server, unless it is
/// about credentials.
fn unheard(api: &Api, failure: Failure) -> Error {
    let server = &api.server;
    match failure {
        Failure::Unreachable(why) | Failure::Unknown(why) => {
            Error::new(ErrorKind::Unreachable, why)
        }
        Failure::Denied(why) => {
            let what = format!("there are no credentials for the API server at {server}");
            Error::new(ErrorKind::Denied, what).because(why)
        }
        Failure::Strange { status, what } => {
            let tried = format!("cannot ask the API server at {server}");
            Error::new(ErrorKind::Unreachable, tried)
                .because(strange(status, what))
                .and("look where the server of the kubeconfig leads")
        }
        Failure::Refused { status, reason, message, .. } => {
            let is_denied = matches!(status, 401 | 403);
            let kind = if is_denied { ErrorKind::Denied } else { ErrorKind::Unreachable };
            let said = Said { status, reason: &reason, message: &message };
            Error::new(kind, format!("cannot ask the API server at {server}"))
                .because(said.to_string())
        }
    }
}

/// Returns the missing rights of a candidate.
async fn rights(api: &Api, needed: &[Verb]) -> Vec<Finding> {
    let (mut missing, mut findings) = (Vec::new(), Vec::new());
    for verb in needed {
        match may(api, *verb).await {
            Ok(true) => {}
            Ok(false) => missing.push(verb.name()),
            Err(failure) => {
                let error = unheard(api, failure);
                let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
                let what = format!(
                    "what we may do in the namespace {} is not known: {error}{cause}",
                    api.namespace
                );
                findings.push(Finding::warning(what, "ask again, or try elect selftest"));
                break;
            }
        }
    }
    if !missing.is_empty() {
        findings.push(lacking(&missing.join(", "), &api.namespace, needed == RACE));
    }
    findings
}

/// Returns a note about the right to list elections, which a race does not need, but people may want.
async fn listing(api: &Api) -> Option<Finding> {
    if may(api, Verb::List).await.ok()? {
        return None;
    }
    let what = format!(
        "cannot list elections: the Role lacks list on leases in the namespace {}",
        api.namespace
    );
    Some(Finding::note(
        what,
        "add the verb list to the Role, for people who want to list elections",
    ))
}

fn lacking(verbs: &str, namespace: &str, may_be_named: bool) -> Finding {
    let what = format!("the Role lacks {verbs} on leases in the namespace {namespace}");
    if may_be_named {
        let way_out = "that is well if the Role names the Leases of your elections, NAME and NAME.data: \
                       elect help kubernetes-store shows one";
        return Finding::warning(what, way_out);
    }
    let way_out = format!(
        "add to the Role: apiGroups [coordination.k8s.io], resources [leases], verbs [{verbs}]; elect help kubernetes-store shows all of it"
    );
    Finding::error(what, way_out)
}

async fn may(api: &Api, verb: Verb) -> Result<bool, Failure> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": api.namespace,
            "verb": verb.name(),
            "group": "coordination.k8s.io",
            "resource": "leases",
        }},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer: Value = api.client.call(Method::POST, path, Some(&review), LIMIT).await?;
    Ok(answer["status"]["allowed"].as_bool() == Some(true))
}
