//! What an examination says of a bucket.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Boottime, Clock};
use elect_record::table::Table;
use elect_testkit::servers::{Database as _, DatabaseServer as _, MotoS3};

/// What is found, each with the way out.
pub(crate) async fn findings(table: &impl Table) -> String {
    // It measures round trips, which do not matter here.
    let clock: Clock = Arc::new(|| Boottime::from_boot(Duration::ZERO));
    let found = table.examine(clock).await.expect("an answer").findings;
    let found: Vec<_> = found.iter().map(|it| format!("{}: {}", it.what, it.way_out)).collect();
    found.join("\n")
}

#[tokio::test]
async fn what_does_harm_in_a_bucket_is_found() {
    let server = MotoS3::start();
    let address = server.address();
    let table = crate::table(&MotoS3::url(address, "elect", "a"));
    let found = findings(&table).await;
    assert!(found.contains("no candidate has proven yet"), "{found}");
    table.prepare().await.expect("it heeds conditions");
    // The next session reads the id.
    let table = crate::table(&MotoS3::url(address, "elect", "a"));
    assert_eq!(findings(&table).await, "");
    MotoS3::set(
        address,
        "versioning",
        "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
    );
    for (prefix, status, is_bad) in
        [("", "Disabled", false), ("b/", "Enabled", false), ("a/", "Enabled", true)]
    {
        let rule = format!(
            "<Rule><ID>a</ID><Filter><Prefix>{prefix}</Prefix></Filter><Status>{status}</Status><Expiration>\
             <Days>9</Days></Expiration></Rule>"
        );
        let rules = format!("<LifecycleConfiguration>{rule}</LifecycleConfiguration>");
        MotoS3::set(address, "lifecycle", &rules);
        let found = findings(&table).await;
        assert!(found.contains("old version of an object at each renewal"), "{found}");
        assert_eq!(found.contains("a rule that removes old objects"), is_bad, "{rule}: {found}");
    }
    let url = MotoS3::url(address, "elect", "a").replace("s3://elect/", "s3://missing/");
    let found = findings(&crate::table(&url)).await;
    assert!(found.contains("there is no bucket missing"), "{found}");
}
