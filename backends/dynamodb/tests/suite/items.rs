//! What a row costs: its item stays below a kilobyte, whatever its cells hold.

use std::net::SocketAddr;
use std::time::Duration;

use elect_record::table::{Body, Key, Put, Table as _, Tag};
use elect_testkit::servers::Database as _;
use elect_testkit::servers::{DatabaseServer as _, Dynalite};
use serde_json::{Value, json};

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };
/// What DynamoDB bills as one.
const KILOBYTE: usize = 1024;

/// The documents of the election, and the sizes of their items.
fn items(server: SocketAddr) -> Vec<(String, usize)> {
    let found = Dynalite::ask_at(server, "Scan", &json!({"TableName": "elect"})).expect("items");
    let of = |item: &Value, name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    let size = |item: &Value| {
        let attributes = item.as_object().expect("an item");
        attributes.keys().map(|name| name.len() + of(item, name).len()).sum()
    };
    let all = found["Items"].as_array().expect("items").iter();
    let own = all.filter(|item| of(item, "election") == ROW.election);
    own.map(|item| (of(item, "document"), size(item))).collect()
}

fn is_row((document, _): &(String, usize)) -> bool {
    document == ROW.document
}

async fn put(table: &impl elect_record::table::Table, tag: Option<&Tag>, body: &Body) -> Tag {
    match table.put(ROW, "", tag, body).await.expect("an answer") {
        Put::Done(tag) => tag,
        Put::Conflict => panic!("no other writer is there"),
    }
}

#[tokio::test]
async fn long_cells_are_kept_once_beside_the_row() {
    let server = Dynalite::start();
    let address = server.address();
    Dynalite::create(address, "elect");
    let table = crate::table(&Dynalite::url(address, "elect", "elect"));
    table.prepare().await.expect("the right to write");
    let head = "h".repeat(400);
    let body = |letter: &str, length| Body {
        head: head.clone(),
        cells: letter.repeat(length),
        ..Body::default()
    };
    let parcels = || {
        let all = items(address);
        assert!(
            all.iter().filter(|item| is_row(item)).all(|(_, size)| *size < KILOBYTE),
            "{all:?}"
        );
        let mut others: Vec<_> =
            all.iter().filter(|item| !is_row(item)).map(|(document, _)| document.clone()).collect();
        (others.len() < 2).then(|| others.pop())
    };
    let mut tag = put(&table, None, &body("a", 300)).await;
    assert_eq!(parcels(), Some(None), "short cells are in the row");
    tag = put(&table, Some(&tag), &body("b", 100_000)).await;
    let first = parcels().expect("one parcel");
    assert!(first.is_some());
    let renewal = Body { has_same_cells: true, is_renewal: true, ..body("b", 100_000) };
    tag = put(&table, Some(&tag), &renewal).await;
    assert_eq!(parcels(), Some(first.clone()), "a renewal leaves it alone");
    tag = put(&table, Some(&tag), &body("c", 100_000)).await;
    let found = table.get(ROW).await.expect("an answer").row.expect("a row");
    assert_eq!((found.body.cells.len(), &found.tag), (100_000, &tag));
    let replaced = |now: &Option<String>| now.is_some() && *now != first;
    soon("the replaced parcel to go", || parcels().filter(replaced)).await;
    tag = put(&table, Some(&tag), &body("d", 0)).await;
    soon("the last parcel to go", || parcels().filter(Option::is_none)).await;
    assert!(table.delete(ROW, &tag).await.expect("an answer"));
    assert!(items(address).is_empty());
}

/// Waits for something that the table does beside its calls.
async fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) {
    let seen = async {
        while look().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.unwrap_or_else(|_| panic!("{what}"));
}
