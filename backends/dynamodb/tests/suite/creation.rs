//! What an administrator does: creating the table, and reading what `elect doctor` says of it.

use std::sync::Arc;

use elect_api::{ErrorKind, Finding, Severity};
use elect_record::table::{Body, Key, Put, Table};
use elect_testkit::oracle::now;
use elect_testkit::run;
use elect_testkit::servers::{Database as _, DatabaseServer as _, DatabaseSetup, Moto};
use serde_json::json;

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

async fn findings(table: &impl Table) -> Vec<Finding> {
    let examination = table.examine(Arc::new(now)).await.expect("an examination");
    assert!(examination.endpoints.iter().all(|endpoint| endpoint.answer.is_ok()));
    examination.findings
}

fn says(findings: &[Finding], severity: Severity, words: &[&str]) {
    let is_it = |it: &&Finding| {
        let said = format!("{} {}", it.what, it.way_out);
        it.severity == severity && words.iter().all(|word| said.contains(word))
    };
    assert!(findings.iter().any(|it| is_it(&it)), "{words:?}: {findings:?}");
}

#[test]
fn a_missing_table_is_named_and_created_once() {
    run("a creation", async {
        let server = Moto::start_as(&DatabaseSetup::default());
        let url = Moto::url(server.address(), "elect", "elections");
        let ours = table(&url);
        let error = ours.get(ROW).await.expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("elect doctor --create"), "{error}");
        let missing = ["no table elections in eu-west-1", "aws dynamodb create-table --region"];
        says(&findings(&ours).await, Severity::Error, &missing);
        // A new table is unknown at first.
        let of = ["DescribeTable"];
        server.fault(&json!({"of": of, "error": "missing", "done": "never", "times": 2}));
        let made = ours.create().await.expect("the right to make it");
        assert_eq!(made.as_deref(), Some("the table elections in eu-west-1"));
        assert_eq!(ours.create().await.expect("it is there"), None);
        ours.get(ROW).await.expect("an answer");
        let table = server.try_ask("DescribeTable", &json!({"TableName": "elections"}));
        let table = &table.expect("a table")["Table"];
        assert_eq!(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
        assert_eq!(table["DeletionProtectionEnabled"], true);
        assert!(findings(&ours).await.is_empty(), "{:?}", findings(&ours).await);
    });
}

/// A watch may begin before the table is made.
#[test]
fn a_table_that_is_made_later_is_the_store_that_the_url_names() {
    run("another store", async {
        let server = Moto::start_as(&DatabaseSetup::default());
        let url = Moto::url(server.address(), "elect", "later");
        let (theirs, free) = (table(&url), table(&url));
        let pinned = || table(&format!("{url}&store-id=00000000000000a1"));
        let (reads, writes) = (pinned(), pinned());
        let body = Body { head: "x".to_owned(), ..Body::default() };
        for ours in [&reads, &writes, &free] {
            ours.get(ROW).await.expect_err("there is no table");
        }
        // These sessions begin without the table, and have not asked for a row.
        reads.prepare().await.expect_err("there is no table");
        writes.prepare().await.expect_err("there is no table");
        free.prepare().await.expect_err("there is no table");
        theirs.create().await.expect("the right to make it");
        let tag = theirs.put(ROW, "", None, &body).await.expect("an answer");
        assert!(matches!(tag, Put::Done(_)), "{tag:?}");
        for _ in 0..2 {
            reads.get(ROW).await.expect_err("another store, or the session has ended");
            let put = writes.put(ROW, "", None, &body).await;
            put.expect_err("another store, or the session has ended");
        }
        for error in [
            reads.get(ROW).await.expect_err("another store"),
            writes.prepare().await.expect_err("another store"),
        ] {
            assert!(error.to_string().contains("00000000000000a1"), "{error}");
        }
        // Without an id in the URL the table is taken as it is.
        free.get(ROW).await.expect_err("the session has ended");
        assert!(free.get(ROW).await.expect("the table").row.is_some());
    });
}

/// A table that other programs made for themselves, and one that any fault may hit.
#[test]
fn what_is_wrong_with_a_table_is_named() {
    run("an examination", async {
        let server = Moto::start_as(&DatabaseSetup::default());
        let make = |name: &str, keys: [&str; 2]| {
            let [key, sort] = keys;
            let attribute = |name| json!({"AttributeName": name, "AttributeType": "S"});
            let made = json!({
                "TableName": name, "BillingMode": "PROVISIONED",
                "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}],
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                "AttributeDefinitions": [attribute(key), attribute(sort)],
            });
            server.try_ask("CreateTable", &made).expect("a table");
            table(&Moto::url(server.address(), "elect", name))
        };
        let theirs = make("other", ["job", "document"]);
        let error = theirs.prepare().await.expect_err("another table");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("a table of its own"), "{error}");
        let ours = make("ours", ["election", "document"]);
        let found = findings(&ours).await;
        says(&found, Severity::Note, &["fixed capacity"]);
        says(&found, Severity::Note, &["may be deleted"]);
        server.fault(&json!({"of": ["DescribeTable"], "error": "denied", "done": "never"}));
        says(&findings(&ours).await, Severity::Warning, &["dynamodb:DescribeTable"]);
    });
}
