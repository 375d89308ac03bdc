//! A client of a table, which expects an answer to each request.

use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::ErrorKind;
use elect_record::table::{Body, Epoch, Found, Key, Put, Range, Row, Table, Tag};

use super::Ground;

/// The pause after a request that could not be sent, and how many such requests are too many.
const PAUSE: Duration = Duration::from_millis(20);
const TRIES: u32 = 1_000;

pub(super) struct Client {
    pub(super) table: Box<dyn Table>,
    /// The epoch in which it writes.
    pub(super) epoch: String,
}

/// The key of a leader.
pub(super) fn leader(election: &str) -> Key<'_> {
    Key { election, document: Key::LEADER }
}

/// A body with this text in its head and no cells.
pub(super) fn body(text: &str) -> Body {
    Body { head: format!("{{\"text\":\"{text}\"}}"), ..Body::default() }
}

pub(super) async fn two(ground: &dyn Ground) -> [Client; 2] {
    [Client::new(ground).await, Client::new(ground).await]
}

impl Client {
    pub(super) async fn new(ground: &dyn Ground) -> Self {
        let mut client = Self { table: ground.connect().await, epoch: String::new() };
        client.recover().await;
        client
    }

    /// Asks until the store answers. Returns the epoch in which the client writes from now on.
    pub(super) async fn recover(&mut self) -> Epoch {
        let mut tries = 0;
        loop {
            match self.table.get(leader("recovery")).await {
                Ok(Found { epoch, .. }) => {
                    self.epoch.clone_from(&epoch.name);
                    return epoch;
                }
                Err(error) => {
                    tries += 1;
                    let may_recover = error.kind() == ErrorKind::Unreachable && tries < TRIES;
                    assert!(may_recover, "no answer after {tries} tries: {error}: {error:?}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    pub(super) async fn get(&self, key: Key<'_>) -> Option<Row> {
        self.table.get(key).await.unwrap_or_else(|error| panic!("get: {error}: {error:?}")).row
    }

    /// The tag of a row that exists.
    pub(super) async fn tag(&self, key: Key<'_>) -> Tag {
        self.get(key).await.expect("a row").tag
    }

    pub(super) async fn put(&self, key: Key<'_>, expected: Option<&Tag>, body: &Body) -> Put {
        let put = self.table.put(key, &self.epoch, expected, body).await;
        put.unwrap_or_else(|error| panic!("put: {error}: {error:?}"))
    }

    /// Writes a row that has this tag.
    pub(super) async fn write(&self, key: Key<'_>, expected: Option<&Tag>, body: &Body) -> Tag {
        match self.put(key, expected, body).await {
            Put::Done(tag) => tag,
            Put::Conflict => panic!("{key:?} has not the tag {expected:?}"),
        }
    }

    /// Writes a row, whatever is there.
    pub(super) async fn overwrite(&self, key: Key<'_>, body: &Body) -> Tag {
        loop {
            let tag = self.get(key).await.map(|row| row.tag);
            if let Put::Done(tag) = self.put(key, tag.as_ref(), body).await {
                return tag;
            }
        }
    }

    pub(super) async fn delete(&self, key: Key<'_>, tag: &Tag) -> bool {
        let gone = self.table.delete(key, tag).await;
        gone.unwrap_or_else(|error| panic!("delete: {error}: {error:?}"))
    }

    /// The rows of a range, each once and within the range.
    pub(super) async fn scan(&self, range: Range<'_>) -> BTreeMap<(String, String), Row> {
        let found = self.table.scan(range).await;
        let mut rows = BTreeMap::new();
        for (election, document, row) in
            found.unwrap_or_else(|error| panic!("scan: {error}: {error:?}")).rows
        {
            let key = Key { election: &election, document: &document };
            assert!(range.contains(key), "{key:?} is not in {range:?}");
            let before = rows.insert((election.clone(), document.clone()), row);
            assert_eq!(before, None, "{key:?} comes twice");
        }
        rows
    }

    /// Fails if the row is not the one that was written as this body with this tag.
    pub(super) async fn expect(&self, key: Key<'_>, tag: &Tag, body: &Body) {
        let expected =
            Row { tag: tag.clone(), body: Body { has_same_cells: false, ..body.clone() } };
        assert_eq!(self.get(key).await, Some(expected));
    }
}
