//! Answers of stores that refuse, and of servers that are no store, and elect's reaction in each state of a candidate.
//! The page `refusals` has the results: with `ELECT_WRITE_MANUAL` in the environment the tests write it.

mod clouds;
mod front;
mod seen;
mod stores;

use elect_testkit::fault::TcpProxy;

pub(super) use self::front::front;
use self::seen::{Saw, see};
use crate::cli::manual;
use crate::prelude::*;

/// The rows of the page, in their order.
pub(super) const ANSWERS: [&str; 13] = [
    "connection closed without a byte",
    "connection reset",
    "HTTP status 503",
    "user, password or token refused (401)",
    "a right is missing (403)",
    "certificate of an unknown authority",
    "expired certificate",
    "certificate for another name",
    "too many connections",
    "read-only server",
    "no space",
    "foreign bytes",
    "silence",
];
const COLUMNS: [&str; 10] = [
    "etcd",
    "ZooKeeper",
    "Kubernetes",
    "PostgreSQL",
    "MariaDB",
    "Redis",
    "Consul",
    "DynamoDB",
    "S3",
    "local disk",
];

/// A store that is well, and what makes it give an answer, and takes that back.
pub(super) struct Refuser {
    pub answer: &'static str,
    pub url: String,
    pub begin: Box<dyn FnMut() + Send>,
    pub end: Box<dyn FnMut() + Send>,
    /// Values that must live as long.
    pub keeps: Box<dyn Send>,
}

/// One whose proxy leads elsewhere for a while.
pub(super) fn redirected(
    answer: &'static str,
    target: SocketAddr,
    elsewhere: SocketAddr,
    url: &dyn Fn(SocketAddr) -> String,
) -> Refuser {
    let proxy = Arc::new(TcpProxy::start(target));
    let (url, other) = (url(proxy.address()), Arc::clone(&proxy));
    let begin = Box::new(move || proxy.redirect(elsewhere));
    Refuser {
        answer,
        url,
        begin,
        end: Box::new(move || other.redirect(target)),
        keeps: Box::new(()),
    }
}

/// The cell of a table, by heading, answer and column; it is empty where nothing is known.
fn cell(page: &str, heading: &str, answer: &str, column: usize) -> String {
    let section = page.split("\n## ").find(|section| section.starts_with(heading));
    let row = section.into_iter().flat_map(str::lines).find(|line| {
        line.strip_prefix("| ").is_some_and(|rest| rest.starts_with(&format!("{answer} |")))
    });
    let cell = row.and_then(|row| row.split(" | ").nth(column + 1));
    cell.unwrap_or_default().trim_end_matches(" |").trim().to_owned()
}

/// The page with another cell.
fn with_cell(page: &str, heading: &str, answer: &str, column: usize, text: &str) -> String {
    let mut is_there = false;
    let lines = page.lines().map(|line| {
        if let Some(title) = line.strip_prefix("## ") {
            is_there = title == heading;
        }
        if !is_there || !line.starts_with(&format!("| {answer} |")) {
            return line.to_owned();
        }
        let mut cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        cells[column + 1] = text;
        format!("| {} |", cells.join(" | "))
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// All answers of a store at once, each with candidates of its own. The words of the page are a part of those that
/// every candidate says.
fn the_page_has(store: &str, stages: Vec<Refuser>) {
    let column = COLUMNS.iter().position(|name| *name == store).expect("a column");
    let mut page = manual::page("refusals");
    let before = page.clone();
    let all = stages.into_iter().map(|stage| {
        let words = cell(&page, "Words", stage.answer, column);
        let is_silent = words.is_empty() || words.contains("in time");
        (stage.answer, thread::spawn(move || see(stage, is_silent)))
    });
    let all: Vec<_> = all.collect();
    for (answer, saw) in all {
        assert!(ANSWERS.contains(&answer), "{answer}");
        let saw: Saw = saw.join().expect("a cell");
        eprintln!("{answer}: {saw:#?}");
        let words = cell(&page, "Words", answer, column);
        let fits = !words.is_empty() && words != "-" && saw.all_say(words.trim_matches('`'));
        let words = if fits { words } else { saw.words() };
        let cells =
            [("At the start", saw.start()), ("Waiting", saw.waiting()), ("Leading", saw.leading())];
        for (heading, text) in cells.into_iter().chain([("Words", words)]) {
            page = with_cell(&page, heading, answer, column, &text);
        }
    }
    if page == before {
        return;
    }
    if std::env::var_os("ELECT_WRITE_MANUAL").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manual/refusals.md");
        fs::write(path, page).expect("a page");
        return;
    }
    let changed = page.lines().zip(before.lines()).filter(|(new, old)| new != old);
    let changed: Vec<_> = changed.map(|(new, old)| format!("- {old}\n+ {new}")).collect();
    panic!("ELECT_WRITE_MANUAL=1 writes what was seen:\n{}", changed.join("\n"));
}

#[test]
fn etcd_refuses_as_the_page_has_it() {
    the_page_has("etcd", stores::etcd());
}

#[test]
fn zookeeper_refuses_as_the_page_has_it() {
    the_page_has("ZooKeeper", stores::zookeeper());
}

#[test]
fn kubernetes_refuses_as_the_page_has_it() {
    the_page_has("Kubernetes", stores::kubernetes());
}

#[test]
fn postgresql_refuses_as_the_page_has_it() {
    the_page_has("PostgreSQL", stores::postgresql());
}

#[test]
fn mariadb_refuses_as_the_page_has_it() {
    the_page_has("MariaDB", stores::mariadb());
}

#[test]
fn redis_refuses_as_the_page_has_it() {
    the_page_has("Redis", stores::redis());
}

#[test]
fn consul_refuses_as_the_page_has_it() {
    the_page_has("Consul", stores::consul());
}

#[test]
fn dynamodb_refuses_as_the_page_has_it() {
    the_page_has("DynamoDB", clouds::dynamodb());
}

#[test]
fn s3_refuses_as_the_page_has_it() {
    the_page_has("S3", clouds::s3());
}

#[test]
fn a_local_disk_refuses_as_the_page_has_it() {
    the_page_has("local disk", stores::local());
}
