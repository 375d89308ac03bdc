//! A store whose promise is weak: reports say so, and `--require-strong` refuses it.

use elect_testkit::sim::{Kind, Options, SimServer};

use super::http::client::{address, get, sample};
use crate::prelude::*;
use crate::store::real::{Brand, Home};
use crate::support::{report, run_at};

fn weak() -> SimServer {
    SimServer::start(&Options::new(Kind::Record).weak())
}

const LINE: &str = "promise: weak (elect help sim)\n";

#[test]
fn status_and_doctor_tell_a_weak_promise() {
    let (server, ground) = (weak(), Ground::new());
    let (weak, strong) = (server.url(), format!("file://{}", ground.state().display()));
    for (url, promise, well) in [(&weak, "weak", 1), (&strong, "strong", 0)] {
        let elect = |words: &[&str]| Elect::new(ELECT).args(words).args(["-b", url]);
        let status = report(&elect(&["status", "job", "-o", "json"]).run().exits(1));
        assert_eq!(status["elections"][0]["promise"], promise, "{status}");
        let doctor = elect(&["doctor", "-o", "json"]).run();
        assert_eq!(report(&doctor)["promise"], promise, "{doctor:?}");
        let is_cautioned = doctor.stdout.contains("two may lead at a time");
        assert_eq!(is_cautioned, promise == "weak", "{doctor:?}");
        for (words, code) in [(&["status", "job"][..], 1), (&["doctor"], well)] {
            let said = elect(words).run().exits(code).stdout;
            let begins = format!("backend: {url}\n{}", if promise == "weak" { LINE } else { "" });
            assert!(said.starts_with(&begins), "{said}");
            assert_eq!(said.matches("promise:").count(), begins.matches("promise:").count());
        }
    }
}

#[test]
fn a_weak_store_is_refused_before_anything_is_sent_to_it() {
    let (server, ground) = (weak(), Ground::new());
    let before = server.controls().tally().requests;
    let config = ground.configure("require-strong: true\n");
    let run = || run_at(&server.url(), "x").arg("true");
    let sidecar = Elect::new(ELECT).args(["sidecar", "-e", "job", "-b", &server.url()]);
    for elect in [
        run_at(&server.url(), "x").args(["--require-strong", "true"]),
        run_at(&server.url(), "x").args(["--require-strong", "--slots", "2", "true"]),
        run_at(&server.url(), "x").args(["--require-strong", "--shards", "2", "true"]),
        run().env("ELECT_REQUIRE_STRONG", "1"),
        run().env("ELECT_CONFIG", &config),
        sidecar.arg("--require-strong"),
    ] {
        let ended = elect
            .run()
            .exits(125)
            .prints("")
            .says("--require-strong needs a store with a strong promise");
        let ended = ended.says("that of sim is weak").says("take another store");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    assert_eq!(server.controls().tally().requests, before);
    // A limit that was meant is not dropped.
    run().env("ELECT_REQUIRE_STRONG", "").run().exits(125).says("ELECT_REQUIRE_STRONG is empty");
    // Without the flag it is told once, and a strong store does with it.
    let ended = run().run().exits(0).says("two may lead at a time: take a strong store");
    assert_eq!(ended.stderr.matches("two may lead").count(), 1, "{ended:?}");
    ground.run().args(["--require-strong", "true"]).run().exits(0).is_quiet();
}

/// As cron jobs want it, whose output is mailed.
#[test]
fn a_promise_that_the_url_accepts_is_not_warned_of() {
    let redis = Home::usual(Brand::Redis);
    let accepted = format!("{}&promise=weak", redis.url());
    run_at(&redis.url(), "x").arg("true").run().exits(0).says("promise=weak in the URL accepts it");
    run_at(&accepted, "x").arg("true").run().exits(0).is_quiet();
    let status = Elect::new(ELECT).args(["status", "-o", "json", "-b", &accepted, "job"]).run();
    assert_eq!(report(&status.exits(1))["elections"][0]["promise"], "weak");
    run_at(&accepted, "x").args(["--require-strong", "true"]).run().exits(125);
}

#[test]
fn a_gauge_tells_a_weak_promise() {
    let (server, ground) = (weak(), Ground::new());
    for (elect, value) in [(run_at(&server.url(), "x"), 1.0), (ground.run(), 0.0)] {
        let at = address();
        let _candidate = elect.args(["--http", &at.to_string(), "sleep", "3600"]).spawn();
        let page = get(at, "/metrics").body;
        assert_eq!(sample(&page, "elect_store_weak{"), Some(value), "{page}");
    }
}

#[test]
fn a_program_in_rust_can_refuse_a_weak_store() {
    let server = weak();
    let campaign = elect::Campaign::new(&server.url(), "job").expect("a campaign");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let before = server.controls().tally().requests;
    let refusal = runtime.block_on(campaign.clone().require_strong().try_lead()).map(drop);
    let Err(elect::Error::Invalid(why)) = refusal else { panic!("{refusal:?}") };
    assert!(why.starts_with("require_strong needs a store with a strong promise"), "{why}");
    assert_eq!(server.controls().tally().requests, before);
    assert!(runtime.block_on(campaign.try_lead()).is_ok_and(|won| won.is_some()));
}
