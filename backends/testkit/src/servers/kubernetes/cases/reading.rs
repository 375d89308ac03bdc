//! Cases of GET and LIST.

use serde_json::{Value, json};

use super::{Api, COORDINATION, lease, list, new_name, version, with};

list! {
    missing: "GET of what is missing",
    there: "GET",
    cached: "GET, resourceVersion=0",
    from_the_future: "GET, a resourceVersion that there is not yet",
    no_number: "GET and LIST, a resourceVersion that is no number",
    by_label: "LIST by label",
    by_labels: "LIST by two labels",
    by_name: "LIST by the name as a field",
    nothing: "LIST by label, nothing found",
    in_parts: "LIST by label, limit=1, and what follows",
    in_parts_cached: "LIST by label, limit=1, resourceVersion=0: the limit does not hold",
}

fn missing(api: &Api<'_>) {
    let name = new_name("a");
    api.get(&api.lease(&name))
        .fails(404, "NotFound")
        .says(&format!("leases.coordination.k8s.io \"{name}\" not found"))
        .about(COORDINATION, "leases", &name);
}

fn there(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let read = api.get(&api.lease(&name)).is(200);
    read.expect(read.body == made, "what was answered to POST");
}

fn cached(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    // The cache gets the object a little later.
    let path = format!("{}?resourceVersion={}", api.lease(&name), version(&made));
    let read = api.get(&path).is(200);
    read.expect(read.body == made, "what was answered to POST");
    let read = api.get(&format!("{}?resourceVersion=0", api.lease(&name))).is(200);
    read.expect(read.body == made, "what was answered to POST");
}

fn from_the_future(api: &Api<'_>) {
    let name = new_name("a");
    api.made(&name);
    let answer = api.get(&format!("{}?resourceVersion=99999999", api.lease(&name)));
    let answer =
        answer.fails(504, "Timeout").says("Too large resource version: 99999999, current: ");
    let details = &answer.body["details"];
    answer.expect(details["retryAfterSeconds"] == 1, "time to wait");
    answer.expect(details["causes"][0]["reason"] == "ResourceVersionTooLarge", "cause");
}

fn no_number(api: &Api<'_>) {
    for path in [api.lease("a"), api.leases()] {
        api.get(&format!("{path}?resourceVersion=x"))
            .fails(500, "")
            .says("resourceVersion: Invalid value: \"x\"");
    }
}

/// Creates two Leases with their own label.
fn two(api: &Api<'_>) -> (String, [Value; 2]) {
    let label = new_name("h");
    let make = |start: &str| {
        let labels = json!({"elect/of": label, "elect/seat": start});
        let body = with(&lease(&new_name(start)), "metadata.labels", labels);
        api.post(&api.leases(), &body).is(201).body
    };
    let leases = [make("seat1"), make("seat2")];
    (label, leases)
}

/// Returns the object as it is in a list.
fn item(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["kind", "apiVersion"] {
        object.as_object_mut().map(|fields| fields.remove(field));
    }
    object
}

fn by_label(api: &Api<'_>) {
    let (label, made) = two(api);
    let found = api.get(&format!("{}?labelSelector=elect%2Fof%3D{label}", api.leases())).is(200);
    found.expect(found.body["kind"] == "LeaseList", "list of Leases");
    found.expect(found.body["items"] == json!(made.each_ref().map(item)), "two Leases");
    found.expect(version(&found.body) >= version(&made[1]), "version of a quorum");
}

fn by_labels(api: &Api<'_>) {
    let (label, made) = two(api);
    let selector = format!("elect%2Fof%3D{label},elect%2Fseat%3Dseat2");
    let found = api.get(&format!("{}?labelSelector={selector}", api.leases())).is(200);
    found.expect(found.body["items"] == json!([item(&made[1])]), "one Lease");
    let selector = format!("elect%2Fof%3D{label},%21elect%2Fseat");
    let found = api.get(&format!("{}?labelSelector={selector}", api.leases())).is(200);
    found.expect(found.body["items"] == json!([]), "no Lease");
}

fn by_name(api: &Api<'_>) {
    let made = api.made(&new_name("a"));
    let name = made["metadata"]["name"].as_str().unwrap_or_default();
    let found = api.get(&format!("{}?fieldSelector=metadata.name%3D{name}", api.leases())).is(200);
    found.expect(found.body["items"] == json!([item(&made)]), "one Lease");
}

fn nothing(api: &Api<'_>) {
    let made = api.made(&new_name("a"));
    let found = api.get(&format!("{}?labelSelector=elect%2Fof%3Dnone", api.leases())).is(200);
    found.expect(found.body["items"] == json!([]), "empty list");
    found.expect(version(&found.body) >= version(&made), "version of a quorum");
}

fn in_parts(api: &Api<'_>) {
    let (label, made) = two(api);
    let path = format!("{}?labelSelector=elect%2Fof%3D{label}&limit=1", api.leases());
    let first = api.get(&path).is(200);
    first.expect(first.body["items"] == json!([item(&made[0])]), "first Lease");
    let metadata = &first.body["metadata"];
    first.expect(metadata.get("remainingItemCount").is_none(), "silence about how many are left");
    let token = metadata["continue"].as_str().unwrap_or_default();
    first.expect(!token.is_empty(), "way to go on");
    // Writes between two pages are not visible in the second.
    let name = made[1]["metadata"]["name"].as_str().unwrap_or_default();
    api.put(&api.lease(name), &with(&made[1], "spec.holderIdentity", "two")).is(200);
    let rest = api.get(&format!("{path}&continue={token}")).is(200);
    rest.expect(rest.body["items"] == json!([item(&made[1])]), "second Lease");
    rest.expect(version(&rest.body) == version(&first.body), "same version");
    // The server does not check whether the other objects of the namespace have the label.
    if let Some(token) = rest.body["metadata"]["continue"].as_str() {
        let end = api.get(&format!("{path}&continue={token}")).is(200);
        end.expect(end.body["items"] == json!([]), "end");
        end.expect(end.body["metadata"].get("continue").is_none(), "end");
    }
}

fn in_parts_cached(api: &Api<'_>) {
    let (label, made) = two(api);
    let newest = version(&made[1]);
    api.get(&format!("{}?resourceVersion={newest}", api.leases())).is(200);
    let path = format!("{}?labelSelector=elect%2Fof%3D{label}&limit=1", api.leases());
    let found = api.get(&format!("{path}&resourceVersion=0")).is(200);
    // The cache has no order.
    let mut items = found.body["items"].as_array().cloned().unwrap_or_default();
    items.sort_by_key(version);
    found.expect(items == made.each_ref().map(item), "two Leases");
}
