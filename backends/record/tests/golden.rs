//! The bytes of the documents, which must stay the same because releases share an election.

use std::collections::BTreeMap;

use elect_api::{Candidate, ElectionName};
use elect_record::table::{Body, Key, MemoryTable, Put, Table as _, TableDocuments};
use elect_record::{
    Data, Document, Documents as _, Holder, Name, Purpose, Record, Stored, Swapped, Text, Waiter,
};

const RECORD: &str = r#"{"token":7,"holder":{"nonce":5,"beat":2,"ttl":15000,"candidate":{"id":"a-1","host":"h","pid":1,"command":"job","containment":"cgroup"},"joined":1,"since":2,"arrival":3},"last":4,"entered":true,"has_data":true,"has_epochs":true,"overwrites":1,"control":{"version":9,"bytes":"{}"},"once":{"version":8,"bytes":{"base64":"/wA="}}}"#;
const WAITER: &str = r#"{"rank":11,"arrived":3,"ahead":2,"beat":2,"ttl":15000,"candidate":{"id":"a-1","host":"h","pid":1,"command":"job","containment":"cgroup"},"joined":1}"#;
const DATA: &str = r#"{"epoch":7,"texts":{"fence:disk":{"version":3,"bytes":"7"},"value:cursor":{"version":4,"bytes":"\u0000"}}}"#;

/// The rows of these documents in a table: the document's name, the head, the cells.
const ROWS: [[&str; 3]; 3] = [
    [
        "leader",
        r#"{"layout":1,"version":9000000000000000,"salt":1,"entered":true,"has_data":true,"has_epochs":true,"holder":{"arrival":3,"beat":2,"candidate":{"command":"job","containment":"cgroup","host":"h","id":"a-1","pid":1},"joined":1,"nonce":5,"since":2,"ttl":15000},"last":4,"overwrites":1,"token":7}"#,
        r#"{"control":{"bytes":"{}","version":9},"once":{"bytes":{"base64":"/wA="},"version":8}}"#,
    ],
    [
        "waiter-00000000000000ff",
        r#"{"layout":1,"version":9000000000000000,"salt":1,"ahead":2,"arrived":3,"beat":2,"candidate":{"command":"job","containment":"cgroup","host":"h","id":"a-1","pid":1},"joined":1,"rank":11,"ttl":15000}"#,
        "",
    ],
    [
        "data",
        r#"{"layout":1,"version":9000000000000000,"salt":1}"#,
        r#"{"epoch":7,"texts":{"fence:disk":{"bytes":"7","version":3},"value:cursor":{"bytes":"\u0000","version":4}}}"#,
    ],
];
/// A version after the time of any writer.
const VERSION: u64 = 9_000_000_000_000_000;

fn candidate() -> Candidate {
    Candidate {
        host: "h".into(),
        pid: 1,
        command: "job".into(),
        containment: "cgroup".into(),
        ..Candidate::foreign("a-1")
    }
}

fn text(version: u64, bytes: &[u8]) -> Text {
    Text { version, bytes: bytes.to_vec() }
}

fn documents() -> (Record, Waiter, Data) {
    let holder = Holder {
        nonce: 5,
        beat: 2,
        ttl: 15_000,
        candidate: candidate(),
        joined: 1,
        since: 2,
        arrival: 3,
        renewed: None,
    };
    let record = Record {
        token: 7,
        holder: Some(holder),
        last: Some(4),
        entered: true,
        has_data: true,
        has_epochs: true,
        overwrites: 1,
        control: Some(text(9, b"{}")),
        once: Some(text(8, &[255, 0])),
        ..Record::default()
    };
    let waiter = Waiter {
        rank: Some(11),
        arrived: Some(3),
        ahead: Some(2),
        beat: 2,
        ttl: 15_000,
        candidate: candidate(),
        joined: 1,
    };
    let texts = [("fence:disk", text(3, b"7")), ("value:cursor", text(4, b"\0"))];
    let texts: BTreeMap<_, _> = texts.map(|(name, text)| (name.to_owned(), text)).into();
    (record, waiter, Data { epoch: 7, texts, damage: None })
}

#[test]
fn documents_keep_their_bytes() {
    let (record, waiter, data) = documents();
    assert_eq!(serde_json::to_string(&record).expect("text"), RECORD);
    assert_eq!(serde_json::to_string(&waiter).expect("text"), WAITER);
    assert_eq!(serde_json::to_string(&data).expect("text"), DATA);
    assert_eq!(serde_json::from_str::<Record>(RECORD).expect("a record"), record);
    assert_eq!(serde_json::from_str::<Waiter>(WAITER).expect("a waiter"), waiter);
    assert_eq!(serde_json::from_str::<Data>(DATA).expect("data"), data);
}

#[test]
fn rows_keep_their_bytes() {
    elect_testkit::run("rows", async {
        let (record, waiter, data) = documents();
        let documents = [
            (Name::Record, Document::Record(record)),
            (Name::Waiter(255), Document::Waiter(waiter)),
            (Name::Data, Document::Data(data)),
        ];
        let election: ElectionName = "an-election".parse().expect("a name");
        for ((name, document), [of_key, head, cells]) in documents.into_iter().zip(ROWS) {
            let (table, key) =
                (MemoryTable::default(), Key { election: "an-election", document: of_key });
            let layer = TableDocuments::new(table.clone());
            let body = Body { head: head.to_owned(), cells: cells.to_owned(), ..Body::default() };
            let put = table.put(key, "", None, &body).await;
            assert!(matches!(put.expect("an answer"), Put::Done(_)));
            let found = layer.read(&election, name, Purpose::Poll).await.expect("an answer");
            assert_eq!(found, Some(Stored { version: VERSION, document: document.clone() }));
            let swapped = layer.swap(&election, name, VERSION, &document, Purpose::Poll).await;
            assert_eq!(swapped.expect("an answer"), Swapped::Yes(VERSION + 1));
            let mut body = table.get(key).await.expect("an answer").row.expect("a row").body;
            let salt = body.head.split_once("\"salt\":").expect("a salt").1;
            let salt = &salt[..salt.find([',', '}']).expect("an end")];
            let (salt, version) = (format!("\"salt\":{salt}"), (VERSION + 1).to_string());
            body.head =
                body.head.replace(&salt, "\"salt\":1").replace(&version, &VERSION.to_string());
            assert_eq!([body.head.as_str(), &body.cells], [head, cells]);
        }
    });
}
