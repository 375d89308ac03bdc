//! The rows in Consul's KV, as elect uses them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use elect_api::{Clock, Error, Examination, Profile, StoreId};
use elect_record::table::{Body, Epoch, Heard, Key, NamedRow, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _};
use hyper::StatusCode;

use crate::error::{Failure, Refusal, TOO_LONG};
use crate::http::Question;
use crate::keys::{self, Keys};
use crate::session::Session;
use crate::transaction::{Pair, Transaction, salt};

/// The most elections that one transaction reads. A transaction of Consul 1.8 has at most 64 operations.
const MOST_ELECTIONS: usize = 60;

/// The rows of one prefix.
pub(crate) struct ConsulTable(Link<Keys>);

impl ConsulTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        Link::new(url, |address| Keys::new(&address.database, &address.space)).map(Self)
    }

    fn keys(&self) -> &Keys {
        self.0.opener()
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.0.session().await
    }

    /// Gives the store an id if it has none. The session is left, as the next one reads the id.
    async fn create(&self, session: &Session) -> Result<(), Error> {
        let mut transaction = session.transaction(self.keys());
        transaction.write(&self.keys().id(), 0, StoreId::fresh().as_str());
        // It is not written if another candidate was faster.
        let made = session.transact("create", self.keys(), &transaction).await;
        session.close();
        let doing = "cannot write the id of the store";
        made.map(drop).map_err(|failure| session.failed(doing, &failure, true))
    }

    /// Writes a row that is too long for a transaction. The next transaction reads its tag, and tells the news.
    async fn put_long(
        &self,
        session: &Session,
        (key, expected): (Key<'_>, i64),
        text: &str,
        mut news: Transaction,
    ) -> Result<Put, Failure> {
        let begun =
            session.transact("select", self.keys(), &session.transaction(self.keys())).await?;
        begun.ok_or(Failure::Odd("a read that conflicts"))?;
        let row = self.keys().row(key);
        let path = self.keys().path(&row, &format!("cas={expected}&flags={}", salt()));
        let answer = session.ask("write", Question::put(path, text.to_owned())).await?;
        match (answer.status, answer.body.trim_ascii()) {
            (StatusCode::OK, b"true") => {}
            (StatusCode::OK, b"false") => return Ok(Put::Conflict),
            _ => return Err(Failure::Odd("neither true nor false")),
        }
        news.read(&row);
        let found = session.transact("select", self.keys(), &news).await;
        let found = found.map_err(|_| {
            session.close();
            Failure::Silent
        });
        let found = found?.unwrap_or_default();
        let ours = |pair: &&Pair| pair.key == row && pair.text().as_deref() == Some(text);
        // Another writer may have been there since.
        let found = found.iter().find(ours).ok_or(Failure::Silent)?;
        Ok(Put::Done(Tag(found.modify_index.to_string())))
    }

    /// The names of all elections.
    async fn elections(&self, session: &Session) -> Result<Vec<String>, Failure> {
        let answer = session.ask("list", Question::get(self.keys().elections())).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(Vec::new());
        }
        let folders = serde_json::from_slice::<Vec<String>>(&answer.body);
        let folders = folders.map_err(|_| Failure::Odd("no names of keys"))?;
        let names = folders.iter().filter_map(|folder| self.keys().election(folder));
        Ok(names.map(str::to_owned).collect())
    }

    /// The rows in a range, of which the caller names the beginnings of the keys.
    async fn read(
        &self,
        session: &Session,
        range: Range<'_>,
        beginnings: impl Iterator<Item = Key<'_>>,
    ) -> Result<Vec<NamedRow>, Failure> {
        let mut transaction = Transaction::default();
        transaction.read(&self.keys().id());
        beginnings.for_each(|key| transaction.read(&self.keys().row(key)));
        let found = session.transact("select", self.keys(), &transaction).await?;
        let found = found.ok_or(Failure::Odd("a read that conflicts"))?;
        // If the id is another one by now, the rows of before are gone. A leader has to know that at once, so it is no
        // error.
        if session.store().is_none() && found.iter().any(|pair| pair.key == self.keys().id()) {
            return Err(Failure::Refused(Refusal::OtherStore));
        }
        let named = found.iter().filter_map(|pair| Some((self.keys().named(&pair.key)?, pair)));
        let rows = named
            .filter(|((election, document), _)| range.contains(Key { election, document }))
            .map(|(names, pair)| row(names, pair));
        rows.collect::<Option<_>>().ok_or(Failure::Odd("a row that is no text"))
    }

    /// All rows in a range.
    async fn read_all(
        &self,
        session: &Session,
        range: Range<'_>,
    ) -> Result<Vec<NamedRow>, Failure> {
        let (rows, election) = match range {
            Range::Row(key) => {
                (self.read(session, range, [key].into_iter()).await?, Some(key.election))
            }
            Range::Candidates(election) => {
                let keys = [Key::LEADER, "waiter-"].map(|document| Key { election, document });
                (self.read(session, range, keys.into_iter()).await?, Some(election))
            }
            Range::Leaders => {
                let mut rows = Vec::new();
                for elections in self.elections(session).await?.chunks(MOST_ELECTIONS) {
                    let keys = elections.iter();
                    let keys = keys.map(|election| Key { election, document: Key::LEADER });
                    rows.extend(self.read(session, range, keys).await?);
                }
                (rows, None)
            }
        };
        if rows.is_empty() {
            // Consul leaves out what the token may not read.
            session.ask("select", Question::get(self.keys().probe(election))).await?;
        }
        Ok(rows)
    }

    /// Waits for news of a channel.
    async fn told(&self, channel: &str, doing: &str) -> Result<(), Error> {
        // The request that comes next opens the session.
        let Some(session) = self.0.awaited().await else { return Ok(()) };
        let notice = session.listener.notice(channel).await;
        notice.map_err(|failure| session.failed(doing, &failure, false))
    }

    /// Adds the news of a write to a transaction.
    fn add_news(&self, transaction: &mut Transaction, key: Key<'_>, has_request: bool) {
        transaction.touch(&self.keys().news(&keys::channel(key)));
        if has_request {
            transaction.touch(&self.keys().news(&keys::requests(key.election)));
        }
    }
}

/// The row of a key; `None` if it cannot be read.
fn row((election, document): (&str, &str), pair: &Pair) -> Option<NamedRow> {
    let body = Body::split(&pair.text()?);
    let row = Row { tag: Tag(pair.modify_index.to_string()), body };
    Some((election.to_owned(), document.to_owned(), row))
}

#[async_trait]
impl Table for ConsulTable {
    fn profile(&self) -> Profile {
        self.0.profile()
    }

    fn may_lose(&self) -> bool {
        false
    }

    fn tells(&self) -> bool {
        true
    }

    fn wakes_all(&self) -> bool {
        true
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        let doing = format!("cannot write the row {key}");
        let expected = expected.map(Tag::number).transpose()?.unwrap_or(0);
        if !epoch.is_empty() {
            return Ok(Put::Conflict);
        }
        let session = self.session().await?;
        if session.store().is_none() {
            return self.create(&session).await.map(|()| Put::Conflict);
        }
        let (row, text) = (self.keys().row(key), body.joined());
        let mut transaction = session.transaction(self.keys());
        if !body.is_renewal {
            self.add_news(&mut transaction, key, body.has_request);
        }
        let mut written = Err(Failure::Refused(Refusal::of(TOO_LONG, b"")));
        if !Transaction::is_too_long(&text) {
            let mut transaction = transaction.clone();
            transaction.write(&row, expected, &text);
            written = session.transact("write", self.keys(), &transaction).await;
        }
        // A server may take less than the usual one.
        let put = match written {
            Err(failure) if failure.is(&[TOO_LONG]) => {
                self.put_long(&session, (key, expected), &text, transaction).await
            }
            Err(failure) => Err(failure),
            Ok(None) => Ok(Put::Conflict),
            Ok(Some(written)) => {
                let tag = written.iter().find(|pair| pair.key == row);
                let tag = tag.map(|pair| Put::Done(Tag(pair.modify_index.to_string())));
                tag.ok_or(Failure::Odd("a write without an index"))
            }
        };
        if expected > 0 && matches!(put, Err(Failure::Refused(Refusal::OtherStore))) {
            // A leader then reads the row, and finds it gone. A candidate that writes again needs a session that is
            // refused.
            if !session.is_doubted.swap(true, Ordering::Relaxed) {
                return Ok(Put::Conflict);
            }
        }
        put.map_err(|failure| session.failed(&doing, &failure, true))
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let (doing, index) = (format!("cannot remove the row {key}"), tag.number()?);
        let session = self.session().await?;
        let mut transaction = session.transaction(self.keys());
        transaction.delete(&self.keys().row(key), index);
        if key.document == Key::LEADER {
            // That it is gone is the last news of an election.
            transaction.delete_all(&self.keys().news(&keys::all(key.election)));
        } else {
            self.add_news(&mut transaction, key, true);
        }
        let deleted = session.transact("delete", self.keys(), &transaction).await;
        let deleted = deleted.map_err(|failure| session.failed(&doing, &failure, true))?;
        Ok(deleted.is_some())
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let mut is_repeated = false;
        loop {
            let session = self.session().await?;
            let rows = match self.read_all(&session, range).await {
                // The next session reads the id, and checks it.
                Err(Failure::Refused(Refusal::OtherStore)) if !is_repeated => {
                    is_repeated = true;
                    session.close();
                    continue;
                }
                rows => rows,
            };
            let rows = rows.map_err(|failure| session.failed(&range.doing(), &failure, false))?;
            return Ok(Rows { epoch: Epoch::only(), rows });
        }
    }

    async fn changed(&self, range: Range<'_>) -> Result<(), Error> {
        let channel = match range {
            Range::Row(key) => keys::channel(key),
            Range::Candidates(election) => keys::all(election),
            Range::Leaders => return std::future::pending().await,
        };
        self.told(&channel, &format!("{}, or wait for them", range.doing())).await
    }

    async fn requested(&self, key: Key<'_>) -> Result<(), Error> {
        self.told(&keys::requests(key.election), &format!("cannot wait for the row {key}")).await
    }

    fn heard(&self, key: Key<'_>) -> Heard {
        let session = self.0.present();
        let of = |channel: &str| session.as_ref()?.listener.heard(channel);
        Heard { row: of(&keys::channel(key)), requests: of(&keys::requests(key.election)) }
    }

    async fn hush(&self) {
        if let Some(session) = self.0.present() {
            session.listener.hush();
        }
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        if session.store().is_some() {
            return Ok(());
        }
        self.create(&session).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.0.examine(&clock).await)
    }
}
