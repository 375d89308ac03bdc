//! What holds of names and ranges.

use std::collections::BTreeMap;
use std::sync::Arc;

use elect_api::ElectionName;
use elect_record::table::{Body, Key, Range, Row};

use super::Ground;
use super::client::{Client, body, leader, two};

/// Rows of one election: more than a page of any store has.
const MANY: usize = 1_001;
/// Rows of 100 kB: more than an answer of any store has.
const LONG: usize = 12;

/// Names that begin alike, differ in case only, or have what some store reads as a pattern or a separator. Together
/// they have all characters of names.
fn elections() -> Vec<String> {
    let others = "abcdefghijklmnopqrstuvwxyz.ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789_@:+=";
    let names = [
        "a", "A", "aa", "a-", "a_", "ab", "a.", "a:", "a@", "a+", "a=", "a0", "_", "_a", "a-data",
        "a.leader",
    ];
    let longest = "a".repeat(ElectionName::MAX_LEN);
    let names: Vec<_> =
        names.map(str::to_owned).into_iter().chain([others.to_owned(), longest]).collect();
    for name in &names {
        name.parse::<ElectionName>().expect("a name of an election");
    }
    names
}

fn documents() -> [String; 5] {
    let waiter = |nonce: u64| format!("waiter-{nonce:016x}");
    [Key::LEADER.to_owned(), Key::DATA.to_owned(), waiter(0), waiter(7), waiter(u64::MAX)]
}

/// Creates a row of each name, with the name in its body. Returns the rows by their names.
async fn fill(client: &Client) -> BTreeMap<(String, String), Body> {
    let mut rows = BTreeMap::new();
    let all =
        elections().into_iter().flat_map(|election| documents().map(|it| (election.clone(), it)));
    for (election, document) in all.chain([(Key::STORE.to_owned(), "waited".to_owned())]) {
        let body = body(&format!("{election} {document}"));
        client.write(Key { election: &election, document: &document }, None, &body).await;
        rows.insert((election, document), body);
    }
    rows
}

/// Each name has its own row. A range has the rows that [`Range::contains`] says, and no others.
pub async fn names_and_ranges_do_not_mix(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let rows = fill(&ours).await;
    let elections = elections();
    let keys = || rows.keys().map(|(election, document)| Key { election, document });
    let ranges = elections.iter().map(|name| Range::Candidates(name)).chain(keys().map(Range::Row));
    for range in ranges.chain([Range::Leaders, Range::Candidates("absent")]) {
        let found = theirs.scan(range).await.into_iter().map(|(key, row)| (key, row.body));
        let is_in =
            |(election, document): &(String, String)| range.contains(Key { election, document });
        let expected = rows.clone().into_iter().filter(|(key, _)| is_in(key));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected.collect(), "{range:?}");
    }
    for key in keys() {
        let Row { tag, body } = theirs.get(key).await.expect("a row");
        assert_eq!(body, rows[&(key.election.to_owned(), key.document.to_owned())]);
        if key.document == Key::LEADER {
            assert!(theirs.delete(key, &tag).await);
        }
    }
    for key in keys() {
        assert_eq!(ours.get(key).await.is_some(), key.document != Key::LEADER, "{key:?}");
    }
}

/// A scan shows all rows whose writes were acknowledged before it began, however many and long they are.
pub async fn a_scan_shows_all_that_was_acknowledged_before(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    for number in 0..MANY {
        let document = format!("waiter-{number:016x}");
        ours.write(Key { election: "a", document: &document }, None, &body("x")).await;
    }
    assert_eq!(theirs.scan(Range::Candidates("a")).await.len(), MANY);
    let long = Body { cells: "x".repeat(100_000), ..body("x") };
    for number in 1..=LONG {
        ours.write(leader(&format!("a{number}")), None, &long).await;
        let leaders = theirs.scan(Range::Leaders).await;
        assert_eq!(leaders.len(), number);
        assert!(leaders.into_values().all(|row| row.body == long));
    }
    let key = Key { election: "a", document: "waiter-0000000000000001" };
    assert!(ours.delete(key, &ours.get(key).await.expect("a row").tag).await);
    assert_eq!(theirs.scan(Range::Candidates("a")).await.len(), MANY - 1);
}

/// An examination leaves rows and epoch as they are.
pub async fn an_examination_changes_nothing(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let tag = ours.write(leader("a"), None, &body("x")).await;
    for client in [&ours, &theirs] {
        let examination = client.table.examine(Arc::new(crate::clock::now)).await;
        for endpoint in examination.expect("an examination").endpoints {
            assert!(endpoint.answer.is_ok(), "{endpoint:?}");
        }
        theirs.expect(leader("a"), &tag, &body("x")).await;
        assert_eq!(ours.scan(Range::Leaders).await.len(), 1);
        let found = ours.table.get(Key { election: Key::STORE, document: "waited" }).await;
        let found = found.expect("an answer");
        assert_eq!((found.row, found.epoch.name), (None, ours.epoch.clone()));
    }
}
