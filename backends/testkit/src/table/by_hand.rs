//! What the laws of elections have done to an election by hand, where its documents are rows of a table.

use elect_api::{Candidate, ElectionName, Removal, Seat, Store};
use elect_record::{Document, Documents, Name, Purpose, RecordStore, Removed, Swapped};

use crate::election;

/// Kills the process with this connection and seat, and has another process redeem its ticket.
pub async fn crash(
    documents: impl Documents + 'static,
    store: Box<dyn Store>,
    seat: Box<dyn Seat>,
) {
    let ticket = seat.ticket().expect("a ticket");
    drop((seat, store));
    let store = RecordStore::new(documents);
    store.remove(&election(), Removal::Crashed(&ticket)).await.expect("gone");
}

/// Removes all documents of an election.
pub async fn wipe(documents: &impl Documents, election: &ElectionName) {
    let listing = documents.list(election, Purpose::Poll).await.expect("a list");
    let waiters = listing.waiters.into_iter().map(|it| Name::Waiter(it.nonce));
    for name in waiters.chain([Name::Record, Name::Data]) {
        let found = documents.read(election, name, Purpose::Poll).await.expect("an answer");
        if let Some(found) = found {
            remove(documents, election, name, found.version).await;
        }
    }
}

/// Removes the entry of a candidate.
pub async fn evict(documents: &impl Documents, election: &ElectionName, candidate: &Candidate) {
    let listing = documents.list(election, Purpose::Poll).await.expect("a list");
    for waiter in listing.waiters.iter().filter(|it| it.waiter.candidate.id == candidate.id) {
        remove(documents, election, Name::Waiter(waiter.nonce), waiter.version).await;
    }
    let Some((version, mut record)) = listing.record else { return };
    if record.holder.as_ref().is_some_and(|holder| holder.candidate.id == candidate.id) {
        record.last = record.holder.take().map(|holder| holder.nonce);
        let (name, document) = (Name::Record, Document::Record(record));
        let swapped = documents.swap(election, name, version, &document, Purpose::Leave).await;
        assert!(matches!(swapped.expect("an answer"), Swapped::Yes(_)));
    }
}

async fn remove(documents: &impl Documents, election: &ElectionName, name: Name, version: u64) {
    let gone = documents.remove(election, name, version, Purpose::Leave).await;
    assert_eq!(gone.expect("an answer"), Removed::Yes);
}
