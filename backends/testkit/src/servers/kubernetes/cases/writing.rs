//! Cases of POST and PUT.

use serde_json::{Value, json};

use super::{
    Api, Ask, COORDINATION, Caller, NO_UID, lease, list, new_name, uid, version, with, without,
};

list! {
    new: "POST",
    exists: "POST of what exists",
    with_a_version: "POST with a resourceVersion",
    capitals: "POST, a name in capitals",
    too_long: "POST, a name of 254 letters",
    no_name: "POST, without a name",
    bad_label: "POST, a label that is none",
    nowhere: "POST, to a namespace that is missing",
    elsewhere: "POST, the namespace in the body differs",
    large: "POST, too large an annotation",
    huge: "POST, too large a body",
    other_kind: "POST, an object of another kind",
    other_types: "POST, fields of other types",
    below_zero: "POST, numbers below zero",
    misplaced: "POST to a Lease, and PUT and PATCH to all of them",
    current: "PUT, current",
    same: "PUT of the same content: nothing is written",
    stale: "PUT, stale resourceVersion",
    no_version: "PUT, without resourceVersion",
    other_uid: "PUT, current resourceVersion, another uid",
    no_uid: "PUT, current resourceVersion, without uid",
    version_zero: "PUT, resourceVersion 0",
    version_no_number: "PUT, a resourceVersion that is no number",
    other_name: "PUT, the name in the body differs",
    no_own_name: "PUT, without a name in the body",
    other_namespace: "PUT, the namespace in the body differs",
    annotated: "PATCH of an annotation (merge)",
    no_time: "PUT, leaseDurationSeconds 0",
    vacant: "PUT, vacant",
    strategy: "PUT, with a field that the server drops (strategy)",
    no_json: "PUT, not JSON",
    no_micros: "PUT, a time without micros",
    gone_with_uid: "PUT of what is gone, with uid",
    gone: "PUT of what is gone, without uid: it is made again, whatever the resourceVersion",
}

fn new(api: &Api<'_>) {
    let name = new_name("a");
    let answer = api.post(&api.leases(), &lease(&name)).is(201);
    let made = &answer.body;
    answer.expect(made["kind"] == "Lease", "kind");
    answer.expect(made["apiVersion"] == "coordination.k8s.io/v1", "version");
    answer.expect(made["metadata"]["name"] == name.as_str(), "name");
    answer.expect(made["metadata"]["namespace"] == api.namespace, "namespace");
    answer.expect(made["spec"] == lease(&name)["spec"], "spec as it was sent");
    answer.expect(uid(made).len() == NO_UID.len() && version(made) > 1, "uid and version");
    answer.expect(made["metadata"]["creationTimestamp"].is_string(), "time");
}

fn exists(api: &Api<'_>) {
    let name = new_name("a");
    api.made(&name);
    api.post(&api.leases(), &lease(&name))
        .fails(409, "AlreadyExists")
        .says(&format!("leases.coordination.k8s.io \"{name}\" already exists"))
        .about(COORDINATION, "leases", &name);
}

fn with_a_version(api: &Api<'_>) {
    let body = with(&lease(&new_name("a")), "metadata.resourceVersion", "1");
    api.post(&api.leases(), &body).fails(500, "").says("resourceVersion should not be set");
}

fn capitals(api: &Api<'_>) {
    api.post(&api.leases(), &lease("A_b"))
        .fails(422, "Invalid")
        .says("lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters")
        .about(COORDINATION, "Lease", "A_b")
        .because("FieldValueInvalid", "metadata.name");
}

fn too_long(api: &Api<'_>) {
    let good = new_name(&"a".repeat(253 - 9));
    api.post(&api.leases(), &lease(&good)).is(201);
    api.post(&api.leases(), &lease(&"a".repeat(254)))
        .fails(422, "Invalid")
        .says("must be no more than 253")
        .because("FieldValueInvalid", "metadata.name");
}

fn no_name(api: &Api<'_>) {
    api.post(&api.leases(), &without(&lease(""), "name"))
        .fails(422, "Invalid")
        .says("name or generateName is required")
        .because("FieldValueRequired", "metadata.name");
}

fn bad_label(api: &Api<'_>) {
    for labels in [json!({"elect/of": "a b"}), json!({"elect/of": "a".repeat(64)})] {
        api.post(&api.leases(), &with(&lease(&new_name("a")), "metadata.labels", labels))
            .fails(422, "Invalid")
            .because("FieldValueInvalid", "metadata.labels");
    }
    let labels = json!({"elect/of": "a".repeat(63)});
    api.post(&api.leases(), &with(&lease(&new_name("a")), "metadata.labels", labels)).is(201);
}

fn nowhere(api: &Api<'_>) {
    let path = "/apis/coordination.k8s.io/v1/namespaces/nowhere/leases";
    api.by(Caller::Admin, "POST", path, Some(&lease("a")))
        .fails(404, "NotFound")
        .says("namespaces \"nowhere\" not found")
        .about("", "namespaces", "nowhere");
}

fn elsewhere(api: &Api<'_>) {
    api.post(&api.leases(), &with(&lease(&new_name("a")), "metadata.namespace", "nowhere"))
        .fails(400, "BadRequest")
        .says("namespace of the provided object does not match the namespace sent on the request");
}

fn large(api: &Api<'_>) {
    let name = new_name("big");
    let annotated =
        |size| with(&lease(&name), "metadata.annotations", json!({"x": "y".repeat(size)}));
    api.post(&api.leases(), &annotated(256 << 10))
        .fails(422, "Invalid")
        .about(COORDINATION, "Lease", &name)
        .because("FieldValueTooLong", "metadata.annotations");
    api.post(&api.leases(), &annotated((256 << 10) - 1)).is(201);
}

fn huge(api: &Api<'_>) {
    let large = with(&lease(&new_name("big")), "spec.holderIdentity", "y".repeat(3 << 20));
    api.post(&api.leases(), &large)
        .fails(413, "RequestEntityTooLarge")
        .says("Request entity too large: limit is 3145728");
    // A request can be small enough for the server and still too large for etcd.
    let large = with(&lease(&new_name("big")), "spec.holderIdentity", "y".repeat(7 << 18));
    api.post(&api.leases(), &large).fails(500, "").says("etcdserver: request is too large");
}

fn current(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let renewed = with(&made, "spec.renewTime", "2026-11-26T12:00:02.000000Z");
    let renewed = with(&renewed, "metadata.annotations", json!({"elect/record": "{}"}));
    let answer = api.put(&api.lease(&name), &renewed).is(200);
    let after = &answer.body;
    answer.expect(after["spec"] == renewed["spec"], "spec as it was sent");
    answer.expect(after["metadata"]["annotations"] == json!({"elect/record": "{}"}), "annotation");
    answer.expect(version(after) > version(&made), "higher version");
    for field in ["uid", "creationTimestamp"] {
        answer.expect(after["metadata"][field] == made["metadata"][field], field);
    }
}

fn same(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let answer = api.put(&api.lease(&name), &made).is(200);
    answer.expect(version(&answer.body) == version(&made), "same version");
}

fn stale(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let renewed = with(&made, "spec.holderIdentity", "two");
    api.put(&api.lease(&name), &renewed).is(200);
    // The content does not matter: an object that was put a moment ago is just as stale.
    for body in [&made, &renewed] {
        api.put(&api.lease(&name), body)
            .fails(409, "Conflict")
            .says("the object has been modified; please apply your changes to the latest version and try again")
            .about(COORDINATION, "leases", &name);
    }
}

fn no_version(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &without(&made, "resourceVersion"))
        .fails(422, "Invalid")
        .says("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update")
        .about(COORDINATION, "leases", &name)
        .because("FieldValueInvalid", "metadata.resourceVersion");
}

fn other_uid(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let own = uid(&made);
    api.put(&api.lease(&name), &with(&made, "metadata.uid", NO_UID))
        .fails(409, "Conflict")
        .says(&format!("UID in precondition: {NO_UID}, UID in object meta: {own}"))
        .about(COORDINATION, "leases", &name);
}

fn no_uid(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let body = without(&with(&made, "spec.holderIdentity", "two"), "uid");
    let answer = api.put(&api.lease(&name), &body).is(200);
    answer.expect(uid(&answer.body) == uid(&made), "uid as it was");
    answer.expect(answer.body["spec"]["holderIdentity"] == "two", "new holder");
}

fn other_name(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &with(&made, "metadata.name", "b"))
        .fails(400, "BadRequest")
        .says(&format!("the name of the object (b) does not match the name on the URL ({name})"));
}

fn no_time(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &with(&made, "spec.leaseDurationSeconds", 0))
        .fails(422, "Invalid")
        .says("spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0")
        .about(COORDINATION, "Lease", &name)
        .because("FieldValueInvalid", "spec.leaseDurationSeconds");
}

fn vacant(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let left = with(&with(&made, "spec.holderIdentity", ""), "spec.leaseDurationSeconds", 1);
    let answer = api.put(&api.lease(&name), &left).is(200);
    answer.expect(answer.body["spec"] == left["spec"], "empty holder");
}

fn strategy(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let body = with(&made, "spec.strategy", "OldestEmulationVersion");
    let answer = api.put(&api.lease(&name), &body).is(200);
    answer.expect(answer.body["spec"] == made["spec"], "spec without strategy");
    answer.expect(version(&answer.body) == version(&made), "same version");
}

fn no_json(api: &Api<'_>) {
    let path = api.lease(&new_name("a"));
    let ask = Ask { method: "PUT", path: &path, body: b"{", ..Ask::default() };
    api.raw(Caller::Seats, &ask)
        .fails(400, "BadRequest")
        .says("json parse error: unexpected end of JSON input");
}

fn no_micros(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    for time in ["2026-11-26T12:00:02Z", "2026-11-26T12:00:02.000Z", "2026-11-26 12:00:02.000000Z"]
    {
        api.put(&api.lease(&name), &with(&made, "spec.renewTime", time))
            .fails(400, "BadRequest")
            .says("cannot be handled as a Lease");
    }
}

fn deleted(api: &Api<'_>) -> (String, Value) {
    let name = new_name("a");
    let made = api.made(&name);
    api.delete(&api.lease(&name)).is(200);
    (name, made)
}

fn gone_with_uid(api: &Api<'_>) {
    let (name, made) = deleted(api);
    let own = uid(&made);
    let answer = api.put(&api.lease(&name), &made).fails(409, "Conflict");
    let answer = answer.says(&format!("UID in precondition: {own}, UID in object meta: ")).about(
        COORDINATION,
        "leases",
        &name,
    );
    let message = answer.body["message"].as_str().unwrap_or_default();
    answer.expect(message.trim_end().ends_with("UID in object meta:"), "silence about a uid");
}

fn gone(api: &Api<'_>) {
    let (name, made) = deleted(api);
    let answer = api.put(&api.lease(&name), &without(&made, "uid")).is(201);
    answer.expect(uid(&answer.body) != uid(&made), "new uid");
    answer.expect(version(&answer.body) > version(&made), "higher version");
    answer.expect(answer.body["spec"] == made["spec"], "spec as it was sent");
}

fn other_kind(api: &Api<'_>) {
    let name = new_name("a");
    for (field, value) in [("kind", "Pod"), ("apiVersion", "v1")] {
        api.post(&api.leases(), &with(&lease(&name), field, value)).fails(400, "BadRequest");
    }
    let ask = Ask { method: "POST", path: &api.leases(), body: b"[1]", ..Ask::default() };
    api.raw(Caller::Seats, &ask).fails(400, "BadRequest");
    api.get(&api.lease(&name)).is(404);
}

fn other_types(api: &Api<'_>) {
    let name = new_name("a");
    for (path, value) in [
        ("spec.holderIdentity", json!(1)),
        ("spec.leaseDurationSeconds", json!("15")),
        ("metadata.labels", json!({"a": 1})),
        ("metadata.annotations", json!({"a": {}})),
        ("spec", json!("one")),
    ] {
        api.post(&api.leases(), &with(&lease(&name), path, value))
            .fails(400, "BadRequest")
            .says("cannot be handled as a Lease");
    }
}

fn below_zero(api: &Api<'_>) {
    let body = with(&lease(&new_name("a")), "spec.leaseTransitions", -1);
    api.post(&api.leases(), &with(&body, "spec.leaseDurationSeconds", -1))
        .fails(422, "Invalid")
        .because("FieldValueInvalid", "spec.leaseDurationSeconds")
        .because("FieldValueInvalid", "spec.leaseTransitions");
}

fn misplaced(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    for (method, path) in
        [("POST", api.lease(&name)), ("PUT", api.leases()), ("PATCH", api.leases())]
    {
        api.by(Caller::Admin, method, &path, Some(&made)).fails(405, "MethodNotAllowed");
    }
}

fn version_zero(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &with(&made, "metadata.resourceVersion", "0"))
        .fails(422, "Invalid")
        .because("FieldValueInvalid", "metadata.resourceVersion");
}

fn version_no_number(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &with(&made, "metadata.resourceVersion", "x"))
        .fails(500, "")
        .says("strconv.ParseUint: parsing \"x\": invalid syntax");
}

fn no_own_name(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &without(&made, "name"))
        .fails(400, "BadRequest")
        .says(&format!("the name of the object ({name} based on URL) was undeterminable"));
}

fn other_namespace(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &with(&made, "metadata.namespace", "nowhere"))
        .fails(400, "BadRequest")
        .says("the namespace of the object (nowhere) does not match the namespace on the request");
}

fn annotated(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let body = json!({"metadata": {"annotations": {"a": "b"}}});
    let answer = api.by(Caller::Admin, "PATCH", &api.lease(&name), Some(&body)).is(200);
    answer.expect(answer.body["metadata"]["annotations"] == json!({"a": "b"}), "annotation");
    answer.expect(answer.body["spec"] == made["spec"], "spec as it was");
}
