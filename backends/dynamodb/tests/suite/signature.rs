//! The signatures of requests. The programs of the other tests do not check them.

use std::fs;
use std::path::Path;

use elect_api::ErrorKind;
use elect_record::table::{Key, Table as _};
use elect_testkit::program::line_of;
use elect_testkit::servers::{Place, Process};
use elect_testkit::table::refused;
use tempfile::TempDir;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

/// A server that knows one secret, and the URL of a table of it for a caller with this one.
fn verifier(folder: &Path, secret: &str) -> (Process, String) {
    let credentials = folder.join("credentials");
    let text = format!("[default]\naws_access_key_id = AKIA\naws_secret_access_key = {secret}\n");
    fs::write(&credentials, text).expect("written");
    let (program, log) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/verifier.py"), folder.join("log"));
    let server = Process::start(&["python3", program], &Place::here(), &log, "python3");
    let (port, credentials) = (line_of(&log), credentials.display());
    let endpoint = format!("http://127.0.0.1:{}", port.trim());
    let options = format!("region=eu-west-1&endpoint={endpoint}&credentials-file={credentials}");
    (server, format!("dynamodb://elect?{options}"))
}

#[tokio::test]
async fn requests_are_signed() {
    let folder = TempDir::new().expect("a folder");
    let (_server, url) = verifier(folder.path(), "any");
    let found = crate::table(&url).get(ROW).await.expect("an answer");
    assert_eq!(found.row, None);
}

#[tokio::test]
async fn another_secret_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let (_server, url) = verifier(folder.path(), "hush");
    let words = ["it does not match (InvalidSignatureException)", "correct the credentials"];
    refused(&crate::table(&url), ErrorKind::Denied, &words).await;
}
