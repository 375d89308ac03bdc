//! All who take part name the same number.

use elect_testkit::program::Running;

use super::arena::on_each_store;
use crate::cli::see::{Arena, Ground};
use crate::store::real::Brand;

on_each_store! {
    a_candidate_with_another_number_is_refused_with_both_numbers
    candidates_with_and_without_slots_exclude_each_other
    without_candidates_the_number_may_change
}

fn arena(brand: Option<Brand>) -> Arena {
    Arena::on(match brand {
        None => Ground::File,
        Some(Brand::Consul) => Ground::Consul,
        Some(Brand::DynamoDb) => Ground::DynamoDb,
        Some(Brand::Etcd) => Ground::Etcd,
        Some(Brand::ZooKeeper) => Ground::ZooKeeper,
        Some(Brand::Kubernetes) => Ground::Kubernetes,
        Some(Brand::MariaDb) => Ground::MariaDb,
        Some(Brand::PostgreSql) => Ground::PostgreSql,
        Some(Brand::Redis) => Ground::Redis,
        Some(Brand::S3) => Ground::S3,
    })
}

fn leader(arena: &Arena, label: &str, slots: &[&str]) -> Running {
    let running = arena.candidate_with(label, 15, |run| run.args(slots));
    arena.wait_for_leader(label);
    running
}

fn refused(arena: &Arena, flags: &[&str], ours: &str, theirs: &str) {
    let run = arena.elect("run").args(["-e", "job"]).args(flags).args(["--", "true"]);
    run.run().exits(125).says(ours).says(theirs).says("give all candidates the same");
}

fn a_candidate_with_another_number_is_refused_with_both_numbers(brand: Option<Brand>) {
    let arena = arena(brand);
    let _three = leader(&arena, "three", &["--slots", "3"]);
    refused(
        &arena,
        &["--slots", "5"],
        "this candidate has 5 slots",
        "takes part in job with 3 slots",
    );
    refused(
        &arena,
        &["--slots", "1"],
        "this candidate has 1 slot",
        "takes part in job with 3 slots",
    );
    refused(
        &arena,
        &["--shards", "3"],
        "this candidate has 3 shards",
        "takes part in job with 3 slots",
    );
    let _same = leader(&arena, "same", &["--slots", "3"]);
}

fn candidates_with_and_without_slots_exclude_each_other(brand: Option<Brand>) {
    let arena = arena(brand);
    let slots = leader(&arena, "slots", &["--slots", "2"]);
    refused(&arena, &[], "this candidate has neither slots nor shards", "with 2 slots");
    refused(&arena, &["-n"], "this candidate has neither slots nor shards", "with 2 slots");
    end(slots);
    let _plain = leader(&arena, "plain", &[]);
    refused(
        &arena,
        &["--slots", "2"],
        "this candidate has 2 slots",
        "with neither slots nor shards",
    );
}

fn without_candidates_the_number_may_change(brand: Option<Brand>) {
    let arena = arena(brand);
    for slots in [Some("4"), Some("2"), None, Some("3")] {
        let flags: Vec<&str> = slots.iter().flat_map(|slots| ["--slots", slots]).collect();
        let run = arena.elect("run").args(["-e", "job"]).args(flags);
        let slot = if slots.is_some() { "0\n" } else { "\n" };
        run.sh("echo $ELECT_SLOT").run().exits(0).prints(slot);
    }
}

#[track_caller]
fn end(leader: Running) {
    leader.ended_by(nix::sys::signal::Signal::SIGTERM).exits(128 + 15);
}
