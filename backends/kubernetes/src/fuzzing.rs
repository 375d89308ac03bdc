//! Fuzz targets: the readers of this store whose input other programs or people wrote.

use elect_api::FuzzTarget;
use std::str;
use std::time::UNIX_EPOCH;

use elect_record::{Document, Name};
use serde_json::Value;

use crate::address::Address;
use crate::client::Kubeconfig;
use crate::{lease, name};

/// All fuzz targets, by name.
pub const TARGETS: &[FuzzTarget] = &[
    ("kubernetes-kubeconfig", Kubeconfig::fuzz),
    ("kubernetes-lease", document),
    ("kubernetes-name", of_an_election),
    ("kubernetes-url", url),
];

fn url(bytes: &[u8]) {
    let Ok(Ok(address)) = str::from_utf8(bytes).map(Address::parse) else { return };
    let address = Address { kubeconfig: None, ..address };
    let namespace = address.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let again = Address::parse(&address.location(&namespace));
    assert_eq!(again.ok(), Some(Address { namespace: Some(namespace), ..address }));
}

fn of_an_election(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Some(election) = name::election(text) {
        assert_eq!(name::of(&election, Name::Record).ok().as_deref(), Some(text));
    }
}

/// Asserts that a document read from a Lease reads the same after it is written back.
fn document(bytes: &[u8]) {
    let Ok(found) = serde_json::from_slice::<Value>(bytes) else { return };
    for name in [Name::Record, Name::Waiter(1), Name::Data] {
        let Ok(read) = lease::document(name, &found) else { continue };
        // Damaged data is never written back as it is.
        if matches!(&read.document, Document::Data(data) if data.damage.is_some()) {
            continue;
        }
        let label = "x";
        let written = lease::written(Some(&found), "x", label, &read.document, UNIX_EPOCH);
        let Ok(written) = written else { continue };
        let again = lease::document(name, &written).map(|again| again.document);
        match (&read.document, again.expect("what was written is a document")) {
            // A foreign holder is not in the annotation, and its beat is a hash of the whole spec.
            (Document::Record(record), Document::Record(again)) => assert_eq!(*record, again),
            (document, again) => assert_eq!(*document, again),
        }
    }
}
