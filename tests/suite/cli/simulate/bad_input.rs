//! Senseless arguments are refused before anything runs, and the message says what to write instead.

use std::fs;

use super::simulate;
use crate::support::Ground;

/// So many runs would take minutes: what is refused late is refused after a time-out of the test.
const MANY: &str = "--runs 1000000";

#[track_caller]
fn refuses(words: &str, says: &[&str]) {
    let ended = simulate(&format!("{words} {MANY}")).run().exits(125).prints("");
    for part in says {
        assert!(ended.stderr.contains(part), "{words}: {:?} is not in {}", part, ended.stderr);
    }
}

#[test]
fn faults_of_missing_nodes_are_refused() {
    refuses("what-if --candidates 5 --split 1,2,9/3,4,5", &["no candidate 9", "1 to 5"]);
    refuses("what-if --split 1,s4/2,s1", &["no member s4", "s1 to s3"]);
    refuses(
        "what-if --kill s0",
        &["\"s0\" names no process", "leader, 1 for the first", "s1 for the store's"],
    );
    refuses("what-if --drift 7:+5%", &["no candidate 7", "1 to 3"]);
    refuses("what-if --one-way 1:s8", &["no member s8"]);
    refuses("what-if --split 1,s2/3,s2", &["s2 is named twice", "name each once"]);
    refuses("what-if --split leader/2", &["who leads is not known beforehand", "by its number"]);
    refuses(
        "what-if --kill leader.kernel",
        &["\"kernel\" is no process", "wrapper, guardian or both"],
    );
    refuses("what-if --suspend leader.wrapper", &["--suspend names a machine"]);
    refuses("compare --kill s1", &["s1 is a member of a store", "are of candidates"]);
}

#[test]
fn distributions_and_numbers_that_make_no_sense_are_refused() {
    refuses("ttl --rtt 9ms..2ms", &["9ms..2ms is empty", "60ms..100ms"]);
    refuses("ttl --rtt normal:5ms", &["not a round trip", "normal:80ms:5ms"]);
    refuses("ttl --rtt lognormal:5ms:9", &["sigma", "lognormal:80ms:0.3"]);
    refuses("ttl --between 1,s1/2,s2", &["--between", "1,s1/2,s2=80ms"]);
    refuses("ttl --between 1,s1=80ms", &["--between", "two sides at least"]);
    refuses("ttl --between 1,s1/2,s1=80ms", &["s1 is named twice"]);
    refuses("what-if --between 1/4,s1=80ms", &["no candidate 4", "1 to 3"]);
    refuses("ttl --between 1/2,s4=80ms", &["no member s4", "s1 to s3"]);
    refuses("compare --between 1/2,s4=80ms", &["no member s4", "s1 to s3"]);
    refuses("what-if --between 1/2=-5ms", &["--between", "cannot be negative"]);
    refuses("ttl --rtt -5ms", &["--rtt", "cannot be negative"]);
    refuses("ttl --rtt 80", &["--rtt", "80 has no unit", "80ms"]);
    refuses("what-if --kill leader@-5s", &["--kill", "cannot be negative", "15s"]);
    refuses("what-if --ttl -5s", &["--ttl", "cannot be negative"]);
    refuses("what-if --loss -1%", &["--loss", "0.1 or 10%"]);
    refuses("what-if --drift 1:-100%", &["--drift", "stands still"]);
    refuses("ttl --tolerate -1", &["--tolerate", "write 0.1"]);
    refuses("ttl --outage -1s/day", &["--outage", "cannot be negative"]);
    refuses("ttl --outage 1s/decade", &["--outage", "hour, day, week, month or year"]);
    refuses("what-if --members 10", &["--members", "1..=9"]);
}

#[test]
fn faults_that_would_not_come_or_not_end_as_they_are_told_to_are_refused() {
    refuses("what-if --kill leader@20s --for 10s", &["last fault", "longer --for"]);
    refuses("what-if --kill leader@20s..20s", &["20s..20s ends before it begins"]);
    refuses(
        "what-if --isolate 1@20s..40s --isolate 2@30s..50s",
        &["cuts of the network that overlap", "end at the same time"],
    );
    refuses("what-if --kill leader@2h", &["at most an hour"]);
    refuses("what-if --drift leader:+5%@20s..30s", &["name it by its number"]);
    refuses("compare --isolate leader@20s", &["at 20s", "no leader before 30s", "@30s"]);
    refuses("compare --ttl 1m --kill leader", &["at 30s", "no leader before 120s", "@2m"]);
}

#[test]
fn a_lease_that_leaves_no_time_is_refused_as_run_refuses_it() {
    for call in ["what-if --ttl 5s --kill-grace 4s", "compare --ttl 5s --kill-grace 4s"] {
        refuses(
            call,
            &["a lease of 5s leaves no time", "TTL of 11s 700ms", "grace of at most 1s 500ms"],
        );
    }
    refuses("ttl --kill-grace 100s", &["a lease of 3m leaves no time", "grace of at most"]);
    refuses("what-if --ttl 500ms", &["less than 1s"]);
}

#[test]
fn files_without_round_trips_are_refused() {
    let ground = Ground::new();
    let file = |name: &str, text: &str| {
        let path = ground.path().join(name);
        fs::write(&path, text).expect("a file");
        format!("ttl --rtt @{}", path.display())
    };
    refuses("ttl --rtt @/no/such/file", &["cannot read /no/such/file"]);
    refuses(&file("empty", ""), &["has no round trips", "elect doctor -o json"]);
    refuses(&file("words", "hello"), &["neither what `elect doctor -o json` writes nor a list"]);
    refuses(&file("other.json", "{\"a\":1}"), &["has no round trips", "elect doctor -o json"]);
    refuses(&file("list.json", "[1]"), &["neither what `elect doctor -o json` writes nor a list"]);
}

/// The picture is written last. That it cannot be written is known first.
#[test]
fn pictures_that_cannot_be_written_are_refused_first() {
    for call in ["ttl", "what-if", "compare"] {
        for flag in ["--svg", "--html"] {
            refuses(&format!("{call} {flag} /no/such/place"), &["cannot write /no/such/place"]);
        }
    }
}

#[test]
fn a_link_is_not_written_through_and_says_so() {
    let ground = Ground::new();
    let link = ground.path().join("link");
    std::os::unix::fs::symlink(ground.path().join("file"), &link).expect("a link");
    let call = format!("ttl --svg {}", link.display());
    refuses(&call, &["link: it is a symbolic link, and elect writes through none"]);
    refuses("ttl --svg - --html /dev/stdout", &["cannot both be written to stdout"]);
}
