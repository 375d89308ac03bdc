//! The faults that API servers of Kubernetes have, beside those of any server.

use elect_testkit::servers::kubernetes::{Fault, Scope};

use super::case::{Case, Ending, case};
use super::cases::{ALONE, ROOMY};
use super::duel::Duel;
use crate::prelude::*;
use crate::stage::send;

/// As long as a real one waits for its etcd, or less.
const PATIENCE: Duration = Duration::from_secs(1);
/// Long for one answer, and short enough for each to be in time.
const SLOW: Duration = Duration::from_millis(300);
/// So many requests meet a fault that passes.
const SOME: u32 = 4;

pub(crate) const OUTAGES: &[Case] = &[
    case("api_server_stopped", "32 API server stopped", ALONE, Ending::Outlasts, |duel| {
        duel.api_server().stop();
    })
    .of_api_servers(),
    case("api_server_killed", "32 API server killed", ALONE, Ending::Outlasts, |duel| {
        duel.api_server().kill();
    })
    .of_api_servers(),
    case(
        "api_server_started_again",
        "32 API server killed, and started again at once",
        ROOMY,
        Ending::Rides,
        |duel| {
            duel.api_server().kill();
            duel.api_server().restart();
        },
    )
    .of_api_servers(),
    case("connections_ended", "32 all connections ended", ROOMY, Ending::Rides, |duel| {
        duel.api_server().fault(Fault::HangUp);
    })
    .of_api_servers(),
    case("etcd_stopped", "33 etcd of the API server stopped", ALONE, Ending::Outlasts, |duel| {
        duel.api_server().fault(Fault::EtcdDown(PATIENCE));
    })
    .of_api_servers(),
    case(
        "etcd_stopped_for_a_moment",
        "33 etcd of the API server stopped, which goes on",
        ROOMY,
        Ending::Rides,
        |duel| {
            let server = duel.api_server();
            server.fault(Fault::EtcdDown(PATIENCE));
            let failed = || server.counts().answers.get(&500).copied().unwrap_or_default();
            eventually("answers that it failed", || (failed() >= 2).then_some(()));
            server.fault(Fault::None);
        },
    )
    .of_api_servers(),
    case(
        "writes_done_and_failed",
        "33 writes done, and answered with 500",
        ALONE,
        Ending::Outlasts,
        |duel| {
            let scope = Scope::writes();
            duel.api_server().fault(Fault::Fail { scope, status: 500, done: true });
        },
    )
    .of_api_servers(),
    case(
        "some_writes_done_and_failed",
        "33 some writes done, and answered with 500",
        ROOMY,
        Ending::Rides,
        |duel| {
            let (server, scope) = (duel.api_server(), Scope::writes().times(SOME));
            server.fault(Fault::Fail { scope, status: 500, done: true });
            wait_for_faults(server, SOME);
        },
    )
    .of_api_servers(),
    case(
        "writes_unanswered",
        "34 writes done, and never answered",
        ALONE,
        Ending::Outlasts,
        |duel| {
            duel.api_server().fault(Fault::Hang { scope: Scope::writes(), done: true });
        },
    )
    .of_api_servers(),
    case(
        "writes_late",
        "34 writes done late by 9/10 of the TTL",
        ALONE,
        Ending::Outlasts,
        |duel| {
            let by = duel.ttl * 9 / 10;
            duel.api_server().fault(Fault::Delay { scope: Scope::writes(), by, done: false });
        },
    )
    .of_api_servers(),
    case("answers_slow", "34 answers late by 300 ms", ROOMY, Ending::Rides, |duel| {
        duel.api_server().fault(Fault::Delay { scope: Scope::all(), by: SLOW, done: true });
    })
    .of_api_servers(),
    case("throttled", "35 all answered with 429", ALONE, Ending::Outlasts, |duel| {
        duel.api_server().fault(Fault::Throttle(Scope::all(), 1));
    })
    .of_api_servers(),
    case(
        "throttled_for_a_moment",
        "35 some writes answered with 429",
        ROOMY,
        Ending::Rides,
        |duel| {
            let server = duel.api_server();
            server.fault(Fault::Throttle(Scope::writes().times(SOME), 1));
            wait_for_faults(server, SOME);
        },
    )
    .of_api_servers(),
    case("watches_silent", "36 watches silent, TERM", ALONE, Ending::Resigns, |duel| {
        duel.api_server().fault(Fault::SilentWatches);
        end(duel);
    })
    .of_api_servers(),
    case("watches_expired", "36 watches answered with 410, TERM", ALONE, Ending::Resigns, |duel| {
        duel.api_server().compact();
        duel.api_server().fault(Fault::ExpireWatches);
        end(duel);
    })
    .of_api_servers(),
    case(
        "cache_behind",
        "36 cache of the API server without news, TERM",
        ALONE,
        Ending::Resigns,
        |duel| {
            duel.api_server().fault(Fault::CacheLags);
            end(duel);
        },
    )
    .of_api_servers(),
];

/// Waits until so many requests have met a fault.
fn wait_for_faults(server: &ApiServer, count: u32) {
    let all = u64::from(count);
    eventually("requests that meet a fault", || (server.counts().faults >= all).then_some(()));
}

fn end(duel: &Duel) {
    send(duel.wrapper, Signal::SIGTERM);
}
