//! Cases of WATCH.

use serde_json::{Value, json};

use super::{Answer, Api, lease, list, new_name, version, with};

list! {
    since: "WATCH, from a version: all that came since",
    from_now: "WATCH, without a version: first what there is",
    from_the_future: "WATCH, from the future: silence",
    no_number: "WATCH, resourceVersion is no number",
    made_again: "WATCH, from a deleted version: its end and its successor",
    by_label: "WATCH by label: what gets it appears, what loses it goes",
    unchanged: "WATCH: a PUT of the same content is no event",
}

fn watched(api: &Api<'_>, selector: &str, rest: &str) -> Answer {
    let path = format!("{}?watch=1&{selector}&allowWatchBookmarks=true{rest}", api.leases());
    api.get(&path)
}

fn watch(api: &Api<'_>, name: &str, rest: &str) -> Answer {
    watched(api, &format!("fieldSelector=metadata.name%3D{name}"), rest)
}

/// Asserts the events by kind, holder and version.
#[track_caller]
fn expect(answer: &Answer, expected: &[(&str, &str, Option<u64>)]) {
    let events = answer.events();
    let told: Vec<_> = events
        .iter()
        .map(|(kind, object)| {
            let holder = object["spec"]["holderIdentity"].as_str().unwrap_or_default();
            (kind.as_str(), holder, version(object))
        })
        .collect();
    let fits = told.len() == expected.len()
        && told.iter().zip(expected).all(|(told, expected)| {
            (told.0, told.1) == (expected.0, expected.1)
                && expected.2.is_none_or(|version| version == told.2)
        });
    answer.expect(fits, &format!("events {expected:?}, but {told:?}"));
    let rises = told.windows(2).all(|pair| pair[0].2 < pair[1].2);
    answer.expect(rises, "rising versions");
}

/// Gives the Lease another holder, and returns it.
fn taken(api: &Api<'_>, object: &Value, holder: &str) -> Value {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    api.put(&api.lease(name), &with(object, "spec.holderIdentity", holder)).is(200).body
}

fn since(api: &Api<'_>) {
    let name = new_name("a");
    let before = api.made(&new_name("other"));
    let made = api.made(&name);
    let second = taken(api, &made, "two");
    api.delete(&api.lease(&name)).is(200);
    let rest = format!("&resourceVersion={}&timeoutSeconds=1", version(&before));
    let answer = watch(api, &name, &rest).is(200);
    let expected = [
        ("ADDED", "one", Some(version(&made))),
        ("MODIFIED", "two", Some(version(&second))),
        // The object as it was last, with the version of its deletion.
        ("DELETED", "two", None),
    ];
    expect(&answer, &expected);
}

fn from_now(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    let second = taken(api, &made, "two");
    let path = format!("{}?resourceVersion={}", api.lease(&name), version(&second));
    api.get(&path).is(200);
    let answer = watch(api, &name, "&timeoutSeconds=1").is(200);
    expect(&answer, &[("ADDED", "two", Some(version(&second)))]);
}

fn from_the_future(api: &Api<'_>) {
    let name = new_name("a");
    api.made(&name);
    let answer = watch(api, &name, "&resourceVersion=99999999&timeoutSeconds=1").is(200);
    answer.expect(answer.body == json!(""), "silence");
}

fn no_number(api: &Api<'_>) {
    watch(api, "a", "&resourceVersion=x&timeoutSeconds=1")
        .fails(500, "")
        .says("resourceVersion: Invalid value: \"x\"");
}

fn made_again(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.delete(&api.lease(&name)).is(200);
    let again = api.post(&api.leases(), &with(&lease(&name), "spec.holderIdentity", "two"));
    let again = again.is(201).body;
    let rest = format!("&resourceVersion={}&timeoutSeconds=1", version(&made));
    let answer = watch(api, &name, &rest).is(200);
    expect(&answer, &[("DELETED", "one", None), ("ADDED", "two", Some(version(&again)))]);
}

fn by_label(api: &Api<'_>) {
    let label = new_name("h");
    let name = new_name("a");
    let made = api.made(&name);
    let labels = json!({"elect/of": label});
    let labelled = taken(api, &with(&made, "metadata.labels", labels), "two");
    taken(api, &with(&labelled, "metadata.labels", json!({})), "three");
    let rest = format!("&resourceVersion={}&timeoutSeconds=1", version(&made));
    let answer = watched(api, &format!("labelSelector=elect%2Fof%3D{label}"), &rest).is(200);
    expect(&answer, &[("ADDED", "two", Some(version(&labelled))), ("DELETED", "two", None)]);
}

fn unchanged(api: &Api<'_>) {
    let name = new_name("a");
    let made = api.made(&name);
    api.put(&api.lease(&name), &made).is(200);
    let second = taken(api, &made, "two");
    let rest = format!("&resourceVersion={}&timeoutSeconds=1", version(&made));
    let answer = watch(api, &name, &rest).is(200);
    expect(&answer, &[("MODIFIED", "two", Some(version(&second)))]);
}
