//! The bytes of the documents, which must stay the same because releases share an election.

use std::collections::BTreeMap;

use elect_api::Candidate;
use elect_record::{Data, Holder, Record, Text, Waiter};

const RECORD: &str = r#"{"token":7,"holder":{"nonce":5,"beat":2,"ttl":15000,"candidate":{"id":"a-1","host":"h","pid":1,"command":"job","containment":"cgroup"},"joined":1,"since":2,"arrival":3},"last":4,"entered":true,"has_data":true,"has_epochs":true,"overwrites":1,"control":{"version":9,"bytes":"{}"},"once":{"version":8,"bytes":{"base64":"/wA="}}}"#;
const WAITER: &str = r#"{"rank":11,"arrived":3,"ahead":2,"beat":2,"ttl":15000,"candidate":{"id":"a-1","host":"h","pid":1,"command":"job","containment":"cgroup"},"joined":1}"#;
const DATA: &str = r#"{"epoch":7,"texts":{"fence:disk":{"version":3,"bytes":"7"},"value:cursor":{"version":4,"bytes":"\u0000"}}}"#;

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

#[test]
fn documents_keep_their_bytes() {
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
    let data = Data { epoch: 7, texts, damage: None };
    assert_eq!(serde_json::to_string(&record).expect("text"), RECORD);
    assert_eq!(serde_json::to_string(&waiter).expect("text"), WAITER);
    assert_eq!(serde_json::to_string(&data).expect("text"), DATA);
    assert_eq!(serde_json::from_str::<Record>(RECORD).expect("a record"), record);
    assert_eq!(serde_json::from_str::<Waiter>(WAITER).expect("a waiter"), waiter);
    assert_eq!(serde_json::from_str::<Data>(DATA).expect("data"), data);
}
