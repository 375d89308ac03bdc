//! Cases of users and their rights.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::{Answer, Api, COORDINATION, Caller, lease, list, version, without};

list! {
    get: "RBAC denied: GET",
    post: "RBAC denied: POST",
    put: "RBAC denied: PUT",
    delete: "RBAC denied: DELETE",
    listing: "RBAC denied: LIST",
    watching: "RBAC denied: WATCH",
    another_name: "RBAC with resourceNames: GET of another name",
    watching_the_name: "RBAC with resourceNames: WATCH by field selector of the name is allowed",
    all_names: "RBAC with resourceNames: WATCH of all names is denied",
    update_but_not_create: "RBAC with update but not create: PUT of what is gone, without uid",
    pods: "RBAC denied: LIST of pods",
    no_token: "No token",
    unknown_token: "An unknown token",
    review_allowed: "SelfSubjectAccessReview: allowed",
    review_denied: "SelfSubjectAccessReview: denied",
    review_of_a_name: "SelfSubjectAccessReview: allowed for one name, not for another",
    review_rightless: "SelfSubjectAccessReview: a user without rights may still ask",
    review_anonymous: "SelfSubjectAccessReview: no token",
}

/// Asserts that RBAC refuses the request, in its own words.
#[track_caller]
fn denied(api: &Api<'_>, answer: Answer, user: &str, verb: &str, name: &str) {
    let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
    let namespace = api.namespace;
    answer
        .fails(403, "Forbidden")
        .says(&format!(
            "leases.coordination.k8s.io{named} is forbidden: User \"{user}\" cannot {verb} resource \"leases\" in API \
             group \"coordination.k8s.io\" in the namespace \"{namespace}\""
        ))
        .about(COORDINATION, "leases", name);
}

fn rightless(api: &Api<'_>, method: &str, path: &str, body: Option<&Value>) -> Answer {
    api.by(Caller::Nobody, method, path, body)
}

fn get(api: &Api<'_>) {
    denied(api, rightless(api, "GET", &api.lease("a"), None), "nobody", "get", "a");
}

fn post(api: &Api<'_>) {
    let answer = rightless(api, "POST", &api.leases(), Some(&lease("z")));
    denied(api, answer, "nobody", "create", "");
}

fn put(api: &Api<'_>) {
    let answer = rightless(api, "PUT", &api.lease("a"), Some(&lease("a")));
    denied(api, answer, "nobody", "update", "a");
}

fn delete(api: &Api<'_>) {
    denied(api, rightless(api, "DELETE", &api.lease("a"), None), "nobody", "delete", "a");
}

fn listing(api: &Api<'_>) {
    let path = format!("{}?labelSelector=elect%2Fof%3Dh1", api.leases());
    denied(api, api.by(Caller::Race, "GET", &path, None), "race", "list", "");
}

fn watch_of(api: &Api<'_>, name: &str) -> String {
    let rest = "allowWatchBookmarks=true&timeoutSeconds=1";
    format!("{}?watch=1&fieldSelector=metadata.name%3D{name}&{rest}", api.leases())
}

fn watching(api: &Api<'_>) {
    denied(api, rightless(api, "GET", &watch_of(api, "a"), None), "nobody", "watch", "a");
}

fn another_name(api: &Api<'_>) {
    denied(api, api.by(Caller::Race, "GET", &api.lease("a"), None), "race", "get", "a");
}

/// Creates the one Lease that [`Caller::Race`] may use anew. No other case has it at the same time.
fn raced(api: &Api<'_>) -> (MutexGuard<'static, ()>, Value) {
    static USED: Mutex<()> = Mutex::new(());
    let alone = USED.lock().unwrap_or_else(PoisonError::into_inner);
    api.delete(&api.lease("raced"));
    (alone, api.made("raced"))
}

fn watching_the_name(api: &Api<'_>) {
    let (_alone, made) = raced(api);
    let read = format!("{}?resourceVersion={}", api.lease("raced"), version(&made));
    api.by(Caller::Race, "GET", &read, None).is(200);
    let answer = api.by(Caller::Race, "GET", &watch_of(api, "raced"), None).is(200);
    answer.expect(answer.events() == [("ADDED".to_owned(), made)], "the Lease");
}

fn all_names(api: &Api<'_>) {
    let path = format!("{}?watch=1&timeoutSeconds=1", api.leases());
    denied(api, api.by(Caller::Race, "GET", &path, None), "race", "watch", "");
}

fn update_but_not_create(api: &Api<'_>) {
    let (_alone, made) = raced(api);
    let path = api.lease("raced");
    let renewed = super::with(&made, "spec.leaseTransitions", 1);
    api.by(Caller::Race, "PUT", &path, Some(&renewed)).is(200);
    api.delete(&path).is(200);
    api.by(Caller::Race, "PUT", &path, Some(&without(&made, "uid")))
        .fails(403, "Forbidden")
        .says("leases.coordination.k8s.io \"raced\" is forbidden")
        .about(COORDINATION, "leases", "raced");
}

fn pods(api: &Api<'_>) {
    let namespace = api.namespace;
    api.get(&api.core("pods"))
        .fails(403, "Forbidden")
        .says(&format!(
            "pods is forbidden: User \"seats\" cannot list resource \"pods\" in API group \"\" in the namespace \"{namespace}\""
        ))
        .about("", "pods", "");
}

fn no_token(api: &Api<'_>) {
    let answer = api.by(Caller::Anonymous, "GET", &api.lease("a"), None);
    denied(api, answer, "system:anonymous", "get", "a");
}

fn unknown_token(api: &Api<'_>) {
    api.by(Caller::Unknown, "GET", &api.lease("a"), None)
        .fails(401, "Unauthorized")
        .says("Unauthorized");
}

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn question(api: &Api<'_>, verb: &str, name: &str) -> Value {
    let attributes = json!({
        "namespace": api.namespace, "verb": verb, "group": COORDINATION, "resource": "leases", "name": name,
    });
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    })
}

/// Asks whether the user has a right, and asserts the answer.
#[track_caller]
fn review(api: &Api<'_>, caller: Caller, verb: &str, name: &str, allowed: bool) {
    let question = question(api, verb, name);
    let answer = api.by(caller, "POST", REVIEWS, Some(&question)).is(201);
    answer.expect(answer.body["kind"] == "SelfSubjectAccessReview", "kind");
    answer.expect(answer.body["status"]["allowed"] == allowed, &format!("allowed: {allowed}"));
    let told = &answer.body["spec"]["resourceAttributes"];
    answer.expect(told["verb"] == verb, "question");
}

fn review_allowed(api: &Api<'_>) {
    for verb in ["get", "list", "watch", "create", "update", "delete"] {
        review(api, Caller::Seats, verb, "", true);
    }
    review(api, Caller::Seats, "patch", "", false);
}

fn review_denied(api: &Api<'_>) {
    review(api, Caller::Race, "create", "", false);
}

fn review_of_a_name(api: &Api<'_>) {
    review(api, Caller::Race, "update", "raced", true);
    review(api, Caller::Race, "update", "", false);
    review(api, Caller::Race, "update", "other", false);
}

fn review_rightless(api: &Api<'_>) {
    review(api, Caller::Nobody, "update", "raced", false);
}

fn review_anonymous(api: &Api<'_>) {
    api.by(Caller::Anonymous, "POST", REVIEWS, Some(&question(api, "get", "")))
        .fails(403, "Forbidden")
        .says("cannot create resource \"selfsubjectaccessreviews\"")
        .says("at the cluster scope");
}
