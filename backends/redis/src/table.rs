//! The hashes in the server, as elect uses them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile, Promise, StoreId};
use elect_record::table::{Body, Epoch, Heard, Key, NamedRow, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _, Version};
use redis::Value;

use crate::address::PROMISE;
use crate::script::{NONE, Scripts, named};
use crate::session::{Session, text};

/// The channel of the requests in a row ends so.
const REQUESTS: &str = " requests";

/// The oldest version that knows flags of scripts.
const FLAGS: Version = Version(7, 0, 0);

/// The rows of one prefix.
pub(crate) struct RedisTable {
    link: Link<Scripts>,
    /// The URL says that the weaker promise is known.
    is_accepted: bool,
}

impl RedisTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let mut is_accepted = false;
        let link = Link::new(url, |address| {
            is_accepted = address.url.option(PROMISE).is_some();
            Scripts::new(&address.space)
        })?;
        Ok(Self { link, is_accepted })
    }

    fn scripts(&self) -> &Scripts {
        self.link.opener()
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.link.session().await
    }

    /// Gives the store an id if it has none. The session is left, as the next one reads the id.
    async fn create(&self, session: &Session) -> Result<(), Error> {
        let script = self.scripts().make(StoreId::fresh().as_str());
        let made = session.ask("create", &script).await;
        session.close();
        let doing = "cannot write the id of the store";
        made.map(|_| ()).map_err(|failure| session.failed(doing, &failure, true))
    }

    /// Returns whether a write was done, by its answer.
    async fn write(
        &self,
        session: &Session,
        (operation, doing): (&'static str, &str),
        question: &redis::Cmd,
    ) -> Result<bool, Error> {
        match session.ask(operation, question).await {
            Ok(Value::Int(done @ 0..=1)) => Ok(done == 1),
            Ok(_) => Err(session.odd(doing).with_kind(ErrorKind::Ambiguous)),
            Err(failure) => Err(session.failed(doing, &failure, true)),
        }
    }

    /// Waits for a notice on a channel of the row.
    async fn told(&self, key: Key<'_>, suffix: &str) -> Result<(), Error> {
        // The request that comes next opens the session.
        let Some(session) = self.link.awaited().await else { return Ok(()) };
        let notice = session.notice(&self.scripts().channel(key, suffix)).await;
        let doing = format!("cannot wait for the row {key}");
        notice.map_err(|failure| session.failed(&doing, &failure, false))
    }

    /// The channels on which a change of a row is told: its own, that of its election, and that of its requests.
    fn channels(&self, key: Key<'_>, has_request: bool) -> Vec<String> {
        let channel = |key, suffix| self.scripts().channel(key, suffix);
        let mut channels = vec![channel(key, ""), channel(Key { document: "", ..key }, "")];
        channels.extend(has_request.then(|| channel(key, REQUESTS)));
        channels
    }
}

#[async_trait]
impl Table for RedisTable {
    fn profile(&self) -> Profile {
        if self.is_accepted {
            return Profile { promise: Promise::Weak, ..self.link.profile() };
        }
        self.link.profile().weak(
            "Redis promises less than other stores: a primary that was replaced and still runs may renew one leader's \
             lease while another candidate leads by the new primary",
            "bound that time with min-replicas-to-write and min-replicas-max-lag on each server, or take another \
             store: `elect help redis`; promise=weak in the URL accepts it without this warning",
        )
    }

    fn may_lose(&self) -> bool {
        true
    }

    fn tells(&self) -> bool {
        true
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        let session = self.session().await?;
        if epoch.ends_with(NONE) {
            // The store with an id is another epoch, so the caller reads it first.
            return self.create(&session).await.map(|()| Put::Conflict);
        }
        let tag = fastrand::i64(1..).to_string();
        let channels =
            if body.is_renewal { Vec::new() } else { self.channels(key, body.has_request) };
        let version = Version::read(session.server.redis_version());
        let has_flags = version.is_some_and(|version| version >= FLAGS);
        let put = self.scripts().put((key, epoch), (expected, &tag), body, &channels, has_flags);
        let doing = format!("cannot write the row {key}");
        let is_done = self.write(&session, ("write", &doing), &put).await?;
        Ok(if is_done { Put::Done(Tag(tag)) } else { Put::Conflict })
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let session = self.session().await?;
        let delete = self.scripts().delete(key, tag, &self.channels(key, true));
        let doing = format!("cannot remove the row {key}");
        self.write(&session, ("delete", &doing), &delete).await
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let (doing, session) = (range.doing(), self.session().await?);
        let answer = session.ask("select", &self.scripts().read(range)).await;
        let answer = answer.map_err(|failure| session.failed(&doing, &failure, false))?;
        rows(answer, range).ok_or_else(|| session.odd(&doing))
    }

    async fn changed(&self, range: Range<'_>) -> Result<(), Error> {
        let key = match range {
            Range::Row(key) => key,
            Range::Candidates(election) => Key { election, document: "" },
            Range::Leaders => return std::future::pending().await,
        };
        self.told(key, "").await
    }

    async fn requested(&self, key: Key<'_>) -> Result<(), Error> {
        self.told(key, REQUESTS).await
    }

    fn heard(&self, key: Key<'_>) -> Heard {
        let session = self.link.present();
        let of = |suffix| {
            let session = session.as_ref()?;
            session.notices.heard(&self.scripts().channel(key, suffix))
        };
        Heard { row: of(""), requests: of(REQUESTS) }
    }

    async fn hush(&self) {
        if let Some(session) = self.link.present() {
            session.hush().await;
        }
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        if session.server.id.is_some() {
            return Ok(());
        }
        self.create(&session).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.link.examine(&clock).await)
    }
}

/// The rows in an answer; `None` if they cannot be read.
fn rows(answer: Value, range: Range<'_>) -> Option<Rows> {
    let Value::Array(values) = answer else { return None };
    let mut texts = values.into_iter().map(text);
    // The server tells its age by a clock that people set.
    let epoch = Epoch { name: texts.next()??, age: Duration::ZERO };
    let mut found = Rows { epoch, rows: Vec::new() };
    while let Some(field) = texts.next() {
        found.rows.push(row(&field?, &texts.next()??, texts.next()??, range)?);
    }
    Some(found)
}

fn row(field: &str, row: &str, cells: String, range: Range<'_>) -> Option<NamedRow> {
    let (tag, head) = row.split_once('\n')?;
    let body = Body { head: head.to_owned(), cells, ..Body::default() };
    let row = Row { tag: Tag(tag.to_owned()), body };
    let (election, document) = match (named(field), range) {
        (Some(names), _) => names,
        (None, Range::Row(key)) => (key.election, field),
        (None, Range::Candidates(election)) => (election, field),
        (None, Range::Leaders) => return None,
    };
    Some((election.to_owned(), document.to_owned(), row))
}
