//! The rows in a bucket, as elect uses them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, Examination, Profile, StoreId};
use elect_record::table::{Body, Epoch, Found, Key, NamedRow, Put, Range, Rows, Table, Tag};
use elect_remote::{Link, Session as _};

use crate::PRICE;
use crate::error::Failure;
use crate::object;
use crate::proof;
use crate::session::{Bucket, Session};

/// The default TTL: a lease of 15 s costs four times as much.
const USUAL_TTL: Duration = Duration::from_secs(60);

/// The rows of one bucket.
pub(crate) struct ObjectTable(Link<Bucket>);

impl ObjectTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        Link::new(url, Bucket::of).map(Self)
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.0.session().await
    }

    /// Gives the store an id if it has none, and notes what its server has proven. The session is left, as the next one
    /// reads the id.
    async fn create(&self, session: &Session) -> Result<(), Error> {
        let proof = proof::of(&self.0).await?;
        let id = session.store().cloned().unwrap_or_else(StoreId::fresh);
        let body = Body { head: id.as_str().to_owned(), cells: proof.written(), ..Body::default() };
        let expected = session.id.as_ref().map(|(object, _)| &object.tag);
        let made = session.write(&session.bucket.id(), expected, object::with(&body)).await;
        session.close();
        // Another candidate may have been faster.
        made.map(drop)
            .map_err(|failure| session.failed("cannot write the id of the store", &failure, true))
    }
}

/// The rows of these keys.
async fn read(
    session: &Session,
    keys: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<NamedRow>, Failure> {
    let mut rows = Vec::new();
    for (election, document) in keys {
        let path = session.bucket.object(Key { election: &election, document: &document });
        let row = session.read(&path).await?.and_then(object::Object::row);
        rows.extend(row.map(|row| (election, document, row)));
    }
    Ok(rows)
}

/// The rows in a range.
async fn scan(session: &Session, range: Range<'_>) -> Result<Vec<NamedRow>, Failure> {
    let owned = |key: Key<'_>| (key.election.to_owned(), key.document.to_owned());
    match range {
        Range::Row(key) => read(session, [owned(key)]).await,
        Range::Candidates(election) => {
            let documents = session.documents(election, Key::DATA).await?.into_iter();
            let keys = documents.map(|document| (election.to_owned(), document));
            let is_in = |(election, document): &(String, String)| {
                range.contains(Key { election, document })
            };
            read(session, keys.filter(is_in)).await
        }
        Range::Leaders => {
            let elections = session.elections().await?.into_iter();
            read(session, elections.map(|election| (election, Key::LEADER.to_owned()))).await
        }
    }
}

#[async_trait]
impl Table for ObjectTable {
    fn profile(&self) -> Profile {
        let order = self.0.opener().order;
        Profile { order, usual_ttl: USUAL_TTL, price: Some(PRICE), ..self.0.profile() }
    }

    fn may_lose(&self) -> bool {
        false
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        let rows = self.scan(Range::Row(key)).await?;
        let row = rows.rows.into_iter().next().map(|(.., row)| row);
        Ok(Found { epoch: rows.epoch, row })
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        if !epoch.is_empty() {
            return Ok(Put::Conflict);
        }
        let session = self.session().await?;
        if session.store().is_none() {
            return self.create(&session).await.map(|()| Put::Conflict);
        }
        let doing = format!("cannot write the row {key}");
        let (path, text) = (session.bucket.object(key), object::with(body));
        let mut put = session.write(&path, expected, text.clone()).await;
        if expected.is_none() && matches!(put, Ok(Put::Conflict)) {
            // A tombstone may be there.
            let found = session.read(&path).await;
            let found = found.map_err(|failure| session.failed(&doing, &failure, false))?;
            if let Some(grave) = found.filter(object::Object::is_tombstone) {
                put = session.write(&path, Some(&grave.tag), text).await;
            }
        }
        put.map_err(|failure| session.failed(&doing, &failure, true))
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let session = self.session().await?;
        let doing = format!("cannot remove the row {key}");
        let path = session.bucket.object(key);
        let removed = if session.proof().is_some_and(|proof| proof.is_of_deletes) {
            session.remove_if(&path, tag).await
        } else {
            let written = session.write(&path, Some(tag), object::tombstone()).await;
            written.map(|put| put != Put::Conflict)
        };
        if removed.map_err(|failure| session.failed(&doing, &failure, true))? {
            return Ok(true);
        }
        let found = session.read(&path).await;
        let found = found.map_err(|failure| session.failed(&doing, &failure, false))?;
        Ok(found.is_none_or(|found| found.is_tombstone()))
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let session = self.session().await?;
        let rows = scan(&session, range).await;
        let rows = rows.map_err(|failure| session.failed(&range.doing(), &failure, false))?;
        Ok(Rows { epoch: Epoch::only(), rows })
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        if session.store().is_some() && session.proof().is_some() {
            return Ok(());
        }
        match (&session.id, session.noted()) {
            (Some((id, _)), Some(noted)) => {
                proof::try_the_way(&session, id).await?;
                session.bucket.note(noted);
                Ok(())
            }
            _ => self.create(&session).await,
        }
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.0.examine(&clock).await)
    }
}
