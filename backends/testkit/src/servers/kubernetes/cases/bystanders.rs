//! Cases of pods, events, and pages that are no objects.

use serde_json::{Value, json};

use super::{Answer, Api, Ask, Caller, list, new_name, version};

list! {
    labelled: "PATCH of a pod's label, and its removal (merge)",
    unchanged: "PATCH that changes nothing: nothing is written",
    stale: "PATCH with a stale resourceVersion",
    another: "PATCH with another pod's uid",
    gone: "PATCH of a pod that is gone",
    no_json: "PATCH, not JSON",
    bad_label: "PATCH, a label that is none",
    found: "LIST of pods by label",
    deleted: "DELETE of a pod, which no PUT makes again",
    event: "POST of an event on a Lease",
    event_elsewhere: "POST of an event on a Lease of another namespace",
    server_version: "GET /version, without a token",
    no_such_path: "A path that there is not",
    no_such_page: "A page that there is not, without a token",
}

const LABEL: &str = "elect/leader";

fn pod(api: &Api<'_>) -> (String, Value) {
    let name = new_name("p");
    let body = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let made = api.by(Caller::Admin, "POST", &api.core("pods"), Some(&body)).is(201).body;
    (api.core(&format!("pods/{name}")), made)
}

fn patch(api: &Api<'_>, path: &str, body: &Value) -> Answer {
    api.by(Caller::Seats, "PATCH", path, Some(body))
}

fn labels(value: &Value) -> Value {
    json!({"metadata": {"labels": {LABEL: value}}})
}

fn labelled(api: &Api<'_>) {
    let (path, made) = pod(api);
    let answer = patch(api, &path, &labels(&json!("true"))).is(200);
    answer.expect(answer.body["kind"] == "Pod", "pod");
    answer.expect(answer.body["metadata"]["labels"] == json!({LABEL: "true"}), "label");
    answer.expect(answer.body["spec"] == made["spec"], "spec as it was");
    answer.expect(version(&answer.body) > version(&made), "higher version");
    let answer = patch(api, &path, &labels(&Value::Null)).is(200);
    answer.expect(answer.body["metadata"].get("labels").is_none(), "pod without labels");
    let read = api.get(&path).is(200);
    read.expect(read.body == answer.body, "what was answered to PATCH");
}

fn unchanged(api: &Api<'_>) {
    let (path, made) = pod(api);
    let answer = patch(api, &path, &labels(&Value::Null)).is(200);
    answer.expect(version(&answer.body) == version(&made), "same version");
}

fn stale(api: &Api<'_>) {
    let (path, made) = pod(api);
    patch(api, &path, &labels(&json!("true"))).is(200);
    let metadata = json!({"resourceVersion": version(&made).to_string(), "labels": {LABEL: null}});
    patch(api, &path, &json!({"metadata": metadata}))
        .fails(409, "Conflict")
        .says("the object has been modified");
}

fn another(api: &Api<'_>) {
    let (path, _) = pod(api);
    let metadata = json!({"uid": super::NO_UID, "labels": {LABEL: "true"}});
    patch(api, &path, &json!({"metadata": metadata}))
        .fails(422, "Invalid")
        .because("FieldValueInvalid", "metadata.uid");
}

fn gone(api: &Api<'_>) {
    let name = new_name("px");
    patch(api, &api.core(&format!("pods/{name}")), &labels(&json!("true")))
        .fails(404, "NotFound")
        .says(&format!("pods \"{name}\" not found"))
        .about("", "pods", &name);
}

fn found(api: &Api<'_>) {
    let (path, _) = pod(api);
    let leader = new_name("l");
    patch(api, &path, &labels(&json!(leader))).is(200);
    let list = format!("{}?labelSelector=elect%2Fleader%3D{leader}", api.core("pods"));
    let answer = api.by(Caller::Admin, "GET", &list, None).is(200);
    answer.expect(answer.body["kind"] == "PodList", "list of pods");
    answer.expect(answer.body["items"].as_array().is_some_and(|items| items.len() == 1), "one pod");
    answer.expect(answer.body["items"][0]["metadata"]["labels"][LABEL] == leader, "its label");
}

fn an_event(api: &Api<'_>, name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": api.namespace},
        "involvedObject": {
            "kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "namespace": namespace, "name": "a", "uid": "u",
        },
        "reason": "LeaderElection", "message": "one became leader", "type": "Normal",
        "source": {"component": "elect"},
        "firstTimestamp": "2026-11-26T12:00:00Z", "lastTimestamp": "2026-11-26T12:00:00Z", "count": 1,
    })
}

fn event(api: &Api<'_>) {
    let event = an_event(api, &new_name("a.e"), api.namespace);
    let answer = api.post(&api.core("events"), &event).is(201);
    for field in ["involvedObject", "reason", "message", "type", "source", "count"] {
        answer.expect(answer.body[field] == event[field], field);
    }
    answer.expect(version(&answer.body) > 1, "version");
}

fn event_elsewhere(api: &Api<'_>) {
    let event = an_event(api, &new_name("a.e"), "nowhere");
    api.post(&api.core("events"), &event)
        .fails(422, "Invalid")
        .because("FieldValueInvalid", "involvedObject.namespace");
}

fn server_version(api: &Api<'_>) {
    let answer = api.by(Caller::Anonymous, "GET", "/version", None).is(200);
    answer.expect(answer.body["gitVersion"].is_string(), "version");
}

fn no_such_path(api: &Api<'_>) {
    let path = api.lease("a").replace("/v1/", "/v9/");
    api.by(Caller::Admin, "GET", &path, None)
        .fails(404, "NotFound")
        .says("the server could not find the requested resource");
}

fn no_json(api: &Api<'_>) {
    let (path, _) = pod(api);
    let ask = Ask { method: "PATCH", path: &path, body: b"{", ..Ask::default() };
    api.raw(Caller::Seats, &ask).fails(500, "").says("Invalid JSON Patch");
}

fn bad_label(api: &Api<'_>) {
    let (path, _) = pod(api);
    patch(api, &path, &labels(&json!("b c")))
        .fails(422, "Invalid")
        .because("FieldValueInvalid", "metadata.labels");
}

fn deleted(api: &Api<'_>) {
    let (path, made) = pod(api);
    api.by(Caller::Admin, "DELETE", &path, None).is(200);
    api.get(&path).fails(404, "NotFound");
    let metadata = json!({"name": made["metadata"]["name"]});
    let again = json!({"metadata": metadata, "spec": made["spec"]});
    api.by(Caller::Admin, "PUT", &path, Some(&again)).fails(404, "NotFound");
}

fn no_such_page(api: &Api<'_>) {
    api.by(Caller::Anonymous, "GET", "/nothing", None)
        .fails(403, "Forbidden")
        .says("forbidden: User \"system:anonymous\" cannot get path \"/nothing\"");
}
