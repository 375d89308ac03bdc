//! Cases of DELETE.

use serde_json::{Value, json};

use super::{Answer, Api, Ask, COORDINATION, Caller, NO_UID, list, new_name, uid, version};

list! {
    other_version: "DELETE, wrong resourceVersion",
    other_uid: "DELETE, wrong uid",
    right: "DELETE, right",
    without_conditions: "DELETE, without conditions",
    gone: "DELETE of what is gone",
    no_json: "DELETE, not JSON",
}

fn on_condition(api: &Api<'_>, name: &str, conditions: &Value) -> Answer {
    let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions});
    api.by(Caller::Seats, "DELETE", &api.lease(name), Some(&body))
}

fn other_version(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    on_condition(api, &name, &json!({"uid": uid(&made), "resourceVersion": "1"}))
        .fails(409, "Conflict")
        .says(&format!(
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({})",
            version(&made)
        ))
        .about(COORDINATION, "Lease", &name);
    api.get(&api.lease(&name)).is(200);
}

fn other_uid(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    on_condition(api, &name, &json!({"uid": NO_UID}))
        .fails(409, "Conflict")
        .says(&format!(
            "the UID in the precondition ({NO_UID}) does not match the UID in record ({})",
            uid(&made)
        ))
        .about(COORDINATION, "Lease", &name);
    api.get(&api.lease(&name)).is(200);
}

fn right(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let version = version(&made).to_string();
    let answer = on_condition(api, &name, &json!({"uid": uid(&made), "resourceVersion": version}));
    let answer = answer.is(200).about(COORDINATION, "leases", &name);
    answer.expect(answer.body["status"] == "Success", "success");
    answer.expect(answer.body["details"]["uid"] == uid(&made), "uid");
    api.get(&api.lease(&name)).fails(404, "NotFound");
}

fn without_conditions(api: &Api<'_>) {
    let name = new_name("a");
    api.made(&name);
    api.delete(&api.lease(&name)).is(200);
    api.get(&api.lease(&name)).fails(404, "NotFound");
}

fn gone(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let conditions = json!({"uid": uid(&made), "resourceVersion": version(&made).to_string()});
    on_condition(api, &name, &conditions).is(200);
    on_condition(api, &name, &conditions).fails(404, "NotFound").about(
        COORDINATION,
        "leases",
        &name,
    );
}

fn no_json(api: &Api<'_>) {
    let name = new_name("a");
    api.made(&name);
    let path = api.lease(&name);
    let ask = Ask { method: "DELETE", path: &path, body: b"{", ..Ask::default() };
    api.raw(Caller::Seats, &ask).fails(500, "").says("json parse error");
    api.get(&path).is(200);
}
