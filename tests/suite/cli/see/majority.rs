//! A store of which a majority is missing: what is said names all its members, and what asks each.

use elect_testkit::program::{Elect, Running};
use elect_testkit::servers::Etcd;

#[test]
fn a_store_without_its_majority_is_told_from_one_member_that_is_down() {
    let mut etcd = Etcd::start_own(3);
    let url = etcd.url();
    let elect = |words: &[&str]| {
        Elect::new(env!("CARGO_BIN_EXE_elect")).env("ELECT_BACKEND", &url).args(words).spawn()
    };
    elect(&["run", "-e", "job", "true"]).wait().exits(0);
    for member in [1, 2] {
        etcd.member(member).kill();
    }
    let told =
        format!("a majority of the 3 members must answer (`elect doctor -b {url}` asks each): ");
    let all = [
        &["status", "job"][..],
        &["run", "-n", "-e", "job", "true"],
        &["run", "-n", "-E", "0", "-e", "job", "true"],
        &["done", "job"],
        &["done", "job", "today", "--record"],
        &["wait", "job", "--timeout", "10s"],
        &["forget", "job"],
    ];
    let all = all.map(elect);
    for ended in all.map(Running::wait) {
        ended.exits(125).says(&told);
    }
}
