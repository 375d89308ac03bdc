//! The faults of services in a cloud, beside those of any server.

use elect_testkit::servers::DatabaseServer;
use serde_json::{Value, json};

use super::case::{Case, Ending, case};
use super::cases::{ALONE, ROOMY};
use crate::prelude::*;
use crate::stage::send;

/// So many requests meet a fault that passes.
const SOME: u64 = 4;

/// Requests that change something.
const WRITES: [&str; 5] = ["UpdateItem", "PutItem", "DeleteItem", "PUT", "DELETE"];
const READS: [&str; 5] = ["GetItem", "Query", "Scan", "GET", "LIST"];

pub(crate) const CLOUDS: &[Case] = &[
    case(
        "cloud_writes_done_and_failed",
        "56 writes done, and answered with 500",
        ALONE,
        Ending::Outlasts,
        |duel| duel.cloud().fault(&failing(&WRITES, "failed", "first")),
    )
    .of_clouds(),
    case(
        "some_cloud_writes_done_and_failed",
        "56 some writes done, and answered with 500",
        ROOMY,
        Ending::Rides,
        |duel| meet(duel.cloud(), failing(&WRITES, "failed", "first")),
    )
    .of_clouds(),
    case(
        "cloud_writes_late",
        "57 writes done late by 9/10 of the TTL",
        ALONE,
        Ending::Outlasts,
        |duel| {
            let late = duel.ttl.as_secs_f64() * 0.9;
            duel.cloud().fault(&json!({"of": WRITES, "late": late, "done": "late"}));
        },
    )
    .of_clouds(),
    case("cloud_throttles", "58 all throttled", ALONE, Ending::Outlasts, |duel| {
        duel.cloud().fault(&failing(&[], "throttled", "never"));
    })
    .of_clouds(),
    case("cloud_throttles_some", "58 some throttled", ROOMY, Ending::Rides, |duel| {
        meet(duel.cloud(), failing(&[], "throttled", "never"));
    })
    .of_clouds(),
    case("credentials_expire", "59 credentials expired", ALONE, Ending::Outlasts, |duel| {
        duel.cloud().fault(&failing(&[], "expired", "never"));
    })
    .of_clouds(),
    case(
        "credentials_expire_for_a_moment",
        "59 credentials expired, and renewed",
        ROOMY,
        Ending::Rides,
        |duel| meet(duel.cloud(), failing(&[], "expired", "never")),
    )
    .of_clouds(),
    case(
        "cloud_answers_from_the_past",
        "60 some reads answered from the past, TERM",
        ALONE,
        Ending::Resigns,
        |duel| {
            duel.cloud().fault(&json!({"of": READS, "past": true, "times": 5 * SOME}));
            send(duel.wrapper, Signal::SIGTERM);
        },
    )
    .of_clouds(),
    case(
        "cloud_writes_conflict",
        "61 all writes meet another one",
        ALONE,
        Ending::Outlasts,
        |duel| {
            duel.cloud().fault(&failing(&WRITES, "conflict", "never"));
        },
    )
    .of_clouds(),
    case(
        "some_cloud_writes_conflict",
        "61 some writes meet another one",
        ROOMY,
        Ending::Rides,
        |duel| meet(duel.cloud(), failing(&WRITES, "conflict", "never")),
    )
    .of_clouds(),
    case(
        "cloud_writes_unmet",
        "62 all writes answered as if their condition did not hold",
        ALONE,
        Ending::Outlasts,
        |duel| duel.cloud().fault(&failing(&WRITES, "unmet", "never")),
    )
    .of_clouds(),
];

/// Answers these operations with an error. `done` says whether they are carried out.
fn failing(of: &[&str], error: &str, done: &str) -> Value {
    json!({"of": of, "error": error, "done": done})
}

/// Has some requests meet a fault, and waits until they have.
fn meet(server: &dyn DatabaseServer, mut fault: Value) {
    fault["times"] = json!(SOME);
    // The leader's row, which A writes.
    fault["row"] = json!("leader");
    server.fault(&fault);
    eventually("requests that meet a fault", || (server.met() >= SOME).then_some(()));
}
