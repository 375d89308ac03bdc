//! The table in the database, as elect uses it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile, StoreId};
use elect_record::table::{Body, Epoch, Key, NamedRow, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _};

use crate::error::{Failure, code};
use crate::lock_watch::LockWatch;
use crate::session::{self, Lock, Session};
use crate::sql::{NONE, Sql};
use crate::wire;
use crate::wire::Answer;

/// One table of a database.
pub(crate) struct MariaTable {
    link: Link<Sql>,
    lock_watch: LockWatch,
}

impl MariaTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let link = Link::new(url, |address| Sql::new(&address.database, &address.space))?;
        Ok(Self { link, lock_watch: LockWatch::default() })
    }

    fn sql(&self) -> &Sql {
        self.link.opener()
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.link.session().await
    }

    /// What becomes of the leader's lock with a write of this row.
    fn lock(&self, key: Key<'_>, leads: Option<bool>) -> Option<Lock> {
        let name = self.sql().lead(key.election);
        leads.filter(|_| key.document == Key::LEADER).map(|is_held| Lock { name, is_held })
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
        let fail = |failure: &Failure| session.failed(doing, failure, true);
        let may_be_new = match session.rows("create", self.sql().lock.clone()).await {
            Ok(locked) if session::text(&locked, 0).as_deref() == Some("1") => true,
            Ok(_) => {
                let what =
                    format!("{doing} in MariaDB at {}: another candidate does", session.place);
                return Err(Error::new(ErrorKind::Unreachable, what));
            }
            // A cluster may know no locks. The primary key decides who names the table.
            Err(Failure::Refused(_)) => false,
            Err(failure) => return Err(session.failed(doing, &failure, false)),
        };
        let is_new = match session.ask("create", self.sql().create.clone()).await {
            Ok(_) => may_be_new,
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

    /// Reads the answer to a scan; `None` if the table is not the one that the session has checked.
    async fn read(
        &self,
        session: &Session,
        answer: Result<Vec<wire::Row>, Failure>,
        doing: &str,
    ) -> Result<Option<Rows>, Error> {
        let fail = |failure: &Failure| session.failed(doing, failure, false);
        let rows = match answer {
            Err(failure) if failure.is(&[code::NO_TABLE]) => {
                if session.server.epoch.is_some() {
                    return Ok(None);
                }
                let bare = session.rows("epoch", self.sql().bare.clone()).await;
                let bare = bare.map_err(|failure| fail(&failure))?;
                let name = session::text(&bare, 0).ok_or_else(|| session.odd(doing))?;
                let is_first = session::text(&bare, 1).as_deref() == Some("1");
                // On a server that never was a replica, no candidate led before there was the table.
                let age = if is_first { Duration::MAX } else { Duration::ZERO };
                return Ok(Some(Rows { epoch: Epoch { name, age }, rows: Vec::new() }));
            }
            answer => answer.map_err(|failure| fail(&failure))?,
        };
        let name = session::text(&rows, 0).ok_or_else(|| session.odd(doing))?;
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
        let rows = rows.map(row).collect::<Option<_>>().ok_or_else(|| session.odd(doing))?;
        Ok(Some(Rows { epoch: Epoch { name, age: Duration::ZERO }, rows }))
    }
}

#[async_trait]
impl Table for MariaTable {
    fn profile(&self) -> Profile {
        self.link.profile()
    }

    fn may_lose(&self) -> bool {
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
        let expected = expected.map(Tag::number).transpose()?;
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
        match session.ask_then("write", statement, self.lock(key, body.leads)).await {
            Ok(Answer::Done(1)) => Ok(Put::Done(Tag(tag.to_string()))),
            Ok(Answer::Done(_)) => Ok(Put::Conflict),
            Ok(Answer::Rows(_)) => Err(session.odd(&doing).with_kind(ErrorKind::Ambiguous)),
            // Another writer of the row was faster.
            Err(failure) if failure.is(&[code::DUPLICATE, code::DEADLOCK]) => Ok(Put::Conflict),
            Err(failure) if failure.is(&[code::NO_TABLE]) => {
                session.close();
                Ok(Put::Conflict)
            }
            Err(failure) => Err(session.failed(&doing, &failure, true)),
        }
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let doing = format!("cannot remove the row {key}");
        let tag = tag.number()?;
        let session = self.session().await?;
        let (statement, lock) = (self.sql().delete(key, tag), self.lock(key, Some(false)));
        match session.ask_then("delete", statement, lock).await {
            Ok(Answer::Done(1..)) => return Ok(true),
            Ok(_) => {}
            Err(failure) if failure.is(&[code::DEADLOCK]) => return Ok(false),
            Err(failure) if failure.is(&[code::NO_TABLE]) => return Ok(true),
            Err(failure) => return Err(session.failed(&doing, &failure, true)),
        }
        // Nothing was removed, so this only asks why.
        let left = session.rows("select", self.sql().is_there(key)).await;
        let left = left.map_err(|failure| session.failed(&doing, &failure, false))?;
        Ok(left.is_empty())
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        // A session checks the table when it is opened. If the table is another one by now, a new session does so.
        // While another candidate makes the table, it changes twice.
        let (statement, doing) = (self.sql().scan(range), range.doing());
        for _ in 0..4 {
            let session = self.session().await?;
            let answer = session.rows("select", statement.clone()).await;
            let Some(rows) = self.read(&session, answer, &doing).await? else {
                session.close();
                continue;
            };
            return Ok(rows);
        }
        let what = format!("{doing}: the table changes all the time");
        Err(Error::new(ErrorKind::Unreachable, what))
    }

    async fn vacated(&self, election: &str) -> Result<(), Error> {
        self.lock_watch.vacated(&self.link, election).await;
        Ok(())
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        if session.server.epoch.as_deref().and_then(session::id).is_some() {
            return Ok(());
        }
        self.create(&session).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.link.examine(&clock).await)
    }
}

/// The row in a line of an answer; `None` if it cannot be read.
fn row(line: wire::Row) -> Option<NamedRow> {
    let [_, _, election, document, tag, head, cells] = <[_; 7]>::try_from(line).ok()?;
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes?).ok();
    let body = Body { head: text(head)?, cells: text(cells)?, ..Body::default() };
    let row = Row { tag: Tag(text(tag)?), body };
    Some((text(election)?, text(document)?, row))
}
