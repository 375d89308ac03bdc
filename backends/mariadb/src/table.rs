//! The table in the database, as elect uses it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Cadence, Clock, Error, ErrorKind, Examination, Lease, Order, Profile, StoreId};
use elect_record::table::{Body, Epoch, Found, Key, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _};

use crate::error::{Failure, code, failed};
use crate::session::{self, Session};
use crate::sql::{NONE, Sql};
use crate::wire::Answer;
use crate::{SCHEME, examine, wire};

/// One table of a database.
pub(crate) struct MariaTable {
    link: Link<Sql>,
    profile: Profile,
}

impl MariaTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let link = Link::new(url, |address: &crate::address::Address| {
            Sql::new(&address.database, &address.table)
        })?;
        let address = link.address();
        let lease = Lease::Timed(Cadence::RECORD);
        let mut profile = Profile::new(SCHEME, address.location.clone(), lease, Order::Queue);
        profile.cautions.clone_from(&address.cautions);
        Ok(Self { link, profile })
    }

    fn sql(&self) -> &Sql {
        self.link.opener()
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.link.session().await
    }

    /// Makes the table if it is missing, and gives it an id. The session is left, as the next one checks the table.
    async fn create(&self, session: &Session) -> Result<(), Error> {
        let made = self.make(session).await;
        // The server releases the lock.
        session.close();
        made
    }

    async fn make(&self, session: &Session) -> Result<(), Error> {
        let doing = "cannot make the table of elect";
        let fail = |failure: &Failure| failed(doing, &session.place, failure, true);
        let locked = session.rows("create", self.sql().lock.clone()).await;
        let locked = locked.map_err(|failure| failed(doing, &session.place, &failure, false))?;
        if session::text(&locked, 0).as_deref() != Some("1") {
            let what = format!("{doing} in MariaDB at {}: another candidate does", session.place);
            return Err(Error::new(ErrorKind::Unreachable, what));
        }
        let is_new = match session.ask("create", self.sql().create.clone()).await {
            Ok(_) => true,
            Err(failure) if failure.is(&[code::TABLE_EXISTS]) => false,
            // Without the right to make a table, the table may be there.
            Err(failure) if failure.is(&code::NO_RIGHT) && session.server.columns.is_some() => {
                false
            }
            Err(failure) => return Err(fail(&failure)),
        };
        let named = session.ask("create", self.sql().name(StoreId::fresh().as_str(), is_new)).await;
        match named {
            // It has one.
            Err(failure) if !failure.is(&[code::DUPLICATE, code::DEADLOCK]) => Err(fail(&failure)),
            _ => Ok(()),
        }
    }

    async fn rows(&self, range: Range<'_>, doing: &str) -> Result<Rows, Error> {
        let statement = self.sql().scan(range);
        // A session checks the table when it is opened. If the table is another one by now, a new session does so.
        // While another candidate makes the table, it changes twice.
        for _ in 0..4 {
            let session = self.session().await?;
            let answer = session.rows("select", statement.clone()).await;
            let Some(rows) = self.read(&session, answer, doing).await? else {
                session.close();
                continue;
            };
            return Ok(rows);
        }
        let what = format!("{doing}: the table changes all the time");
        Err(Error::new(ErrorKind::Unreachable, what))
    }

    /// Reads the answer to a scan; `None` if the table is not the one that the session has checked.
    async fn read(
        &self,
        session: &Session,
        answer: Result<Vec<wire::Row>, Failure>,
        doing: &str,
    ) -> Result<Option<Rows>, Error> {
        let fail = |failure: &Failure| failed(doing, &session.place, failure, false);
        let rows = match answer {
            Err(failure) if failure.is(&[code::NO_TABLE]) => {
                if session.server.epoch.is_some() {
                    return Ok(None);
                }
                let bare = session.rows("epoch", self.sql().bare.clone()).await;
                let bare = bare.map_err(|failure| fail(&failure))?;
                let name = session::text(&bare, 0).ok_or_else(|| odd(doing, session))?;
                let is_first = session::text(&bare, 1).as_deref() == Some("1");
                // On a server that never was a replica, no candidate led before there was the table.
                let age = if is_first { Duration::MAX } else { Duration::ZERO };
                return Ok(Some(Rows { epoch: Epoch { name, age }, rows: Vec::new() }));
            }
            answer => answer.map_err(|failure| fail(&failure))?,
        };
        let name = session::text(&rows, 0).ok_or_else(|| odd(doing, session))?;
        if session::text(&rows, 1).as_deref() != Some("0") {
            // The next request tries the other hosts.
            session.close();
            let what = format!("{doing}: MariaDB at {} takes no writes any more", session.place);
            return Err(Error::new(ErrorKind::Unreachable, what).and("name the primary in the URL"));
        }
        if session.server.epoch.as_ref() != Some(&name) {
            return Ok(None);
        }
        // The epoch stands alone in an answer without rows.
        let rows = rows.into_iter().filter(|line| line.get(2).is_some_and(Option::is_some));
        let rows = rows.map(row).collect::<Option<_>>().ok_or_else(|| odd(doing, session))?;
        Ok(Some(Rows { epoch: Epoch { name, age: Duration::ZERO }, rows }))
    }
}

#[async_trait]
impl Table for MariaTable {
    fn profile(&self) -> Profile {
        Profile { id: self.link.identity().expected(), ..self.profile.clone() }
    }

    fn may_lose(&self) -> bool {
        true
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        let Rows { epoch, rows } = self.scan(Range::Row(key)).await?;
        Ok(Found { epoch, row: rows.into_iter().next().map(|(_, _, row)| row) })
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        let doing = format!("cannot write the row {}/{}", key.election, key.document);
        let expected = expected.map(number).transpose()?;
        let session = self.session().await?;
        if epoch.starts_with(NONE) {
            // The new table is another epoch, so the caller reads it first.
            return self.create(&session).await.map(|()| Put::Conflict);
        }
        let tag = fastrand::i64(1..);
        let statement = match expected {
            None => self.sql().insert(key, epoch, tag, body),
            Some(expected) => self.sql().update(key, epoch, (expected, tag), body),
        };
        match session.ask("write", statement).await {
            Ok(Answer::Done(1)) => Ok(Put::Done(Tag(tag.to_string()))),
            Ok(Answer::Done(_)) => Ok(Put::Conflict),
            Ok(Answer::Rows(_)) => Err(odd(&doing, &session).with_kind(ErrorKind::Ambiguous)),
            // Another writer of the row was faster.
            Err(failure) if failure.is(&[code::DUPLICATE, code::DEADLOCK]) => Ok(Put::Conflict),
            Err(failure) if failure.is(&[code::NO_TABLE]) => {
                session.close();
                Ok(Put::Conflict)
            }
            Err(failure) => Err(unwritten(&doing, &session, &failure)),
        }
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let doing = format!("cannot remove the row {}/{}", key.election, key.document);
        let tag = number(tag)?;
        let session = self.session().await?;
        match session.ask("delete", self.sql().delete(key, tag)).await {
            Ok(Answer::Done(1..)) => return Ok(true),
            Ok(_) => {}
            Err(failure) if failure.is(&[code::DEADLOCK]) => return Ok(false),
            Err(failure) if failure.is(&[code::NO_TABLE]) => return Ok(true),
            Err(failure) => return Err(unwritten(&doing, &session, &failure)),
        }
        // Nothing was removed, so this only asks why.
        let left = session.rows("select", self.sql().is_there(key)).await;
        let left = left.map_err(|failure| failed(&doing, &session.place, &failure, false))?;
        Ok(left.is_empty())
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let doing = match range {
            Range::Candidates(election) => format!("cannot read the rows of {election}"),
            Range::Row(key) => format!("cannot read the row {}/{}", key.election, key.document),
            Range::Leaders => "cannot list elections".to_owned(),
        };
        self.rows(range, &doing).await
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        if session.server.epoch.as_deref().and_then(session::id).is_some() {
            return Ok(());
        }
        self.create(&session).await.map_err(|error| match error.kind() {
            // The table is there or not, and the next attempt finds out.
            ErrorKind::Ambiguous => error.with_kind(ErrorKind::Unreachable),
            _ => error,
        })
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(self.link.address(), &clock).await)
    }
}

fn number(tag: &Tag) -> Result<i64, Error> {
    tag.0.parse().map_err(|_| Error::new(ErrorKind::Unfit, format!("{:?} is no tag", tag.0)))
}

/// A row with its election and document.
type NamedRow = (String, String, Row);

/// The row in a line of an answer; `None` if it cannot be read.
fn row(line: wire::Row) -> Option<NamedRow> {
    let [_, _, election, document, tag, head, cells] = <[_; 7]>::try_from(line).ok()?;
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes?).ok();
    let body = Body { head: text(head)?, cells: text(cells)?, ..Body::default() };
    let row = Row { tag: Tag(text(tag)?), body };
    Some((text(election)?, text(document)?, row))
}

/// The error of a write that failed. A server that takes no writes is left, so that the next request tries others.
fn unwritten(doing: &str, session: &Session, failure: &Failure) -> Error {
    if failure.is(&code::READ_ONLY) {
        session.close();
    }
    failed(doing, &session.place, failure, true)
}

fn odd(doing: &str, session: &Session) -> Error {
    let what =
        format!("{doing}: MariaDB at {} gives an answer that is not understood", session.place);
    Error::new(ErrorKind::Unfit, what)
}
