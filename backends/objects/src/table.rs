//! The rows in a bucket, as elect uses them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile};
use elect_record::table::{Body, Epoch, Key, NamedRow, Put, Range, Rows, Table, Tag};
use elect_remote::{Link, Session as _};

use crate::error::Failure;
use crate::object;
use crate::session::proof::{self, Writer};
use crate::session::{Bucket, Session};
use crate::{PRICE, PRODUCT};

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

    /// What writes rows. The way to the store is proven first, if it is not.
    async fn writer(&self) -> Result<Writer, Error> {
        let session = self.session().await?;
        if let Some(writer) = session.writer() {
            return Ok(writer);
        }
        proof::ensure(&self.0, &session).await?;
        let session = self.session().await?;
        session.writer().ok_or_else(|| {
            let what = format!("{} is another server than before", PRODUCT.at(session.place()));
            Error::new(ErrorKind::Unreachable, what)
        })
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
        Profile {
            order,
            usual_ttl: USUAL_TTL,
            price: Some(PRICE),
            is_in_service: true,
            ..self.0.profile()
        }
    }

    fn may_lose(&self) -> bool {
        false
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
        let writer = self.writer().await?;
        let session = &writer.session;
        let doing = format!("cannot write the row {key}");
        let (path, text) = (session.bucket.object(key), object::with(body));
        let mut put = writer.put(&path, expected, text.clone()).await;
        if expected.is_none() && matches!(put, Ok(Put::Conflict)) {
            // A tombstone may be there.
            let found = session.read(&path).await;
            let found = found.map_err(|failure| session.failed(&doing, &failure, false))?;
            if let Some(grave) = found.filter(object::Object::is_tombstone) {
                put = writer.put(&path, Some(&grave.tag), text).await;
            }
        }
        put.map_err(|failure| session.failed(&doing, &failure, true))
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let writer = self.writer().await?;
        let session = &writer.session;
        let doing = format!("cannot remove the row {key}");
        let path = session.bucket.object(key);
        let removed = writer.delete(&path, tag).await;
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
        self.writer().await.map(drop)
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.0.examine(&clock).await)
    }
}
