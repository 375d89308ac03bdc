//! The table in the database, as elect uses it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Cadence, Clock, Error, ErrorKind, Examination, Lease, Order, Profile};
use elect_record::table::{Body, Epoch, Found, Heard, Key, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use crate::error::{Failure, failed};
use crate::link::Schema;
use crate::session::Session;
use crate::sql::{FIRST_TIMELINE, Sql};
use crate::{SCHEME, examine};

type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// The table of one schema of a database.
pub(crate) struct PostgresTable {
    link: Link<Schema>,
    profile: Profile,
    /// Whether this process has made the table.
    is_made: AtomicBool,
}

impl PostgresTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let link = Link::new(url, Schema::new)?;
        let address = link.address();
        let lease = Lease::Timed(Cadence::RECORD);
        let mut profile = Profile::new(SCHEME, address.location.clone(), lease, Order::Queue);
        profile.cautions.clone_from(&address.cautions);
        Ok(Self { link, profile, is_made: AtomicBool::new(false) })
    }

    fn sql(&self) -> &Sql {
        &self.link.opener().sql
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.link.session().await
    }

    /// The epoch of a database without the table. A write in it finds no table, and makes it.
    async fn bare_epoch(
        &self,
        session: &Session,
        doing: &str,
        is_new: bool,
    ) -> Result<Epoch, Error> {
        let rows = session.ask("epoch", &self.sql().bare_epoch, &[]).await;
        let rows = rows.map_err(|failure| failed(doing, &session.place, &failure, false))?;
        let name: Option<String> = rows.first().and_then(|row| row.try_get(0).ok());
        let epoch = epoch_of(name.ok_or_else(|| odd(doing, session))?, doing, session)?;
        // In a cluster without a promotion, no candidate led before there was the schema.
        let is_first = is_new && epoch.name.split('-').nth(1) == Some(FIRST_TIMELINE);
        Ok(if is_first { Epoch { age: Duration::MAX, ..epoch } } else { epoch })
    }

    async fn create(&self, session: &Session) -> Result<(), Error> {
        let doing = "cannot make the table of elect";
        let fail = |failure: &Failure| failed(doing, &session.place, failure, true);
        // Without the right to make a schema, the schema may be there.
        let denial = match session.run("create", &self.sql().create_all).await {
            Ok(()) => return Ok(()),
            Err(failure) if failure.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                Some(failure)
            }
            Err(failure) if !is_there_already(&failure) => return Err(fail(&failure)),
            Err(_) => None,
        };
        match (session.run("create", &self.sql().create_table).await, denial) {
            (Ok(()), _) => {}
            // Another candidate was faster.
            (Err(failure), _) if is_there_already(&failure) => {}
            (Err(failure), Some(denial)) if has_no_table(&failure) => return Err(fail(&denial)),
            (Err(failure), _) => return Err(fail(&failure)),
        }
        Ok(())
    }

    async fn rows(&self, statement: &str, parameters: &[&str], doing: &str) -> Result<Rows, Error> {
        let session = self.session().await?;
        let typed: Vec<_> = parameters.iter().map(|text| (text as _, Type::TEXT)).collect();
        let answer = match session.ask("select", statement, &typed).await {
            Err(failure) if has_no_table(&failure) => {
                let is_new = failure.code() == Some(&SqlState::INVALID_SCHEMA_NAME);
                let epoch = self.bare_epoch(&session, doing, is_new).await?;
                return Ok(Rows { epoch, rows: Vec::new() });
            }
            Err(failure) => return Err(self.unanswered(doing, &session, &failure, false).await),
            Ok(answer) => answer,
        };
        let mut found = Rows { epoch: Epoch::only(), rows: Vec::new() };
        for row in &answer {
            let Some((name, read)) = read(row) else {
                return Err(self.explained(&session, odd(doing, &session)).await);
            };
            found.epoch = epoch_of(name, doing, &session)?;
            found.rows.extend(read);
        }
        if answer.is_empty() { Err(odd(doing, &session)) } else { Ok(found) }
    }
}

#[async_trait]
impl Table for PostgresTable {
    fn profile(&self) -> Profile {
        Profile { id: self.link.identity().expected(), ..self.profile.clone() }
    }

    fn may_lose(&self) -> bool {
        true
    }

    fn tells(&self) -> bool {
        self.link.opener().tells()
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        let doing = format!("cannot read the row {}/{}", key.election, key.document);
        let found = self.rows(&self.sql().get, &[key.election, key.document], &doing).await?;
        let row = found.rows.into_iter().next().map(|(_, _, row)| row);
        Ok(Found { epoch: found.epoch, row })
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
        let (head, cells, tag) = (body.head.as_bytes(), body.cells.as_bytes(), fastrand::i64(1..));
        let told = [!body.is_renewal, !body.is_renewal, body.has_request];
        let channels = self.channels(key).into_iter().zip(told);
        let channels: Vec<String> =
            channels.filter_map(|(channel, is_told)| is_told.then_some(channel)).collect();
        let mut parameters: Vec<Parameter<'_>> = vec![
            (&key.election, Type::TEXT),
            (&key.document, Type::TEXT),
            (&epoch, Type::TEXT),
            (&tag, Type::INT8),
            (&head, Type::BYTEA),
            (&channels, Type::TEXT_ARRAY),
        ];
        let statement = match &expected {
            None => &self.sql().insert,
            Some(_) if body.has_same_cells => &self.sql().update_head,
            Some(_) => &self.sql().update,
        };
        parameters.extend(expected.as_ref().map(|expected| (expected as _, Type::INT8)));
        if expected.is_none() || !body.has_same_cells {
            parameters.push((&cells, Type::BYTEA));
        }
        let warnings = session.warnings();
        let answer = session.ask("write", statement, &parameters).await;
        let rows = match answer {
            Ok(rows) => rows,
            Err(failure) if is_lost_race(&failure) => return Ok(Put::Conflict),
            Err(failure) if has_no_table(&failure) => {
                // The new table is another epoch, so the caller reads it first.
                return self.create(&session).await.map(|()| Put::Conflict);
            }
            Err(failure) => return Err(self.unanswered(&doing, &session, &failure, true).await),
        };
        if rows.is_empty() {
            return Ok(Put::Conflict);
        }
        if session.warnings() != warnings {
            let what = format!(
                "{doing} in PostgreSQL at {}: the server warned that replicas may not have it",
                session.place
            );
            return Err(Error::new(ErrorKind::Ambiguous, what));
        }
        Ok(Put::Done(Tag(tag.to_string())))
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let doing = format!("cannot remove the row {}/{}", key.election, key.document);
        let tag = number(tag)?;
        let session = self.session().await?;
        let channels = self.channels(key).to_vec();
        let parameters: [Parameter<'_>; 4] = [
            (&key.election, Type::TEXT),
            (&key.document, Type::TEXT),
            (&tag, Type::INT8),
            (&channels, Type::TEXT_ARRAY),
        ];
        match session.ask("delete", &self.sql().delete, &parameters).await {
            Ok(rows) => {
                let is_gone = rows.first().and_then(|row| row.try_get(0).ok());
                is_gone.ok_or_else(|| odd(&doing, &session).with_kind(ErrorKind::Ambiguous))
            }
            Err(failure) if is_lost_race(&failure) => Ok(false),
            Err(failure) if has_no_table(&failure) => Ok(true),
            Err(failure) => Err(self.unanswered(&doing, &session, &failure, true).await),
        }
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let sql = self.sql();
        match range {
            Range::Candidates(election) => {
                let doing = format!("cannot read the rows of {election}");
                self.rows(&sql.scan_candidates, &[election, Key::LEADER], &doing).await
            }
            Range::Leaders => {
                self.rows(&sql.scan_leaders, &[Key::LEADER], "cannot list elections").await
            }
            Range::Row(Key { election, document }) => {
                let doing = format!("cannot read the row {election}/{document}");
                self.rows(&sql.get, &[election, document], &doing).await
            }
        }
    }

    async fn changed(&self, range: Range<'_>) -> Result<(), Error> {
        let key = match range {
            Range::Row(key) => key,
            Range::Candidates(election) => Key { election, document: "" },
            Range::Leaders => return std::future::pending().await,
        };
        self.told(key, &self.channel(key)).await
    }

    async fn requested(&self, key: Key<'_>) -> Result<(), Error> {
        self.told(key, &self.requests(key)).await
    }

    fn heard(&self, key: Key<'_>) -> Heard {
        let session = self.link.present().filter(|session| session.is_open());
        let of = |channel| session.as_ref().and_then(|session| session.heard(channel));
        Heard { row: of(&self.channel(key)), requests: of(&self.requests(key)) }
    }

    /// Each notice makes the server wake all sessions of the database that listen to anything.
    fn wakes_all(&self) -> bool {
        self.tells()
    }

    async fn hush(&self) {
        if let Some(session) = self.link.present().filter(|session| session.is_open()) {
            session.hush().await;
        }
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        if session.server.has_table || self.is_made.load(Ordering::Relaxed) {
            return Ok(());
        }
        let made = self.create(&session).await;
        self.is_made.store(made.is_ok(), Ordering::Relaxed);
        made.map_err(|error| match error.kind() {
            // The table is there or not, and the next attempt finds out.
            ErrorKind::Ambiguous => error.with_kind(ErrorKind::Unreachable),
            _ => error,
        })
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(self.link.address(), self.sql(), &clock).await)
    }
}

impl PostgresTable {
    /// The error of a statement that failed. A server that takes no writes is left, so that the next request tries
    /// others.
    async fn unanswered(
        &self,
        doing: &str,
        session: &Session,
        failure: &Failure,
        is_write: bool,
    ) -> Error {
        if failure.is_of_a_replica() {
            session.close();
        }
        let error = failed(doing, &session.place, failure, is_write);
        // Names and types that do not fit.
        let may_be_another = failure.code().is_some_and(|code| code.code().starts_with("42"));
        if may_be_another && error.kind() != ErrorKind::Denied {
            return self.explained(session, error).await;
        }
        error
    }

    /// The error that says that the table is not elect's, if that is so.
    async fn explained(&self, session: &Session, error: Error) -> Error {
        match session.another_table(self.sql()).await {
            Ok(Some([what, advice])) => Error::new(ErrorKind::Unfit, what).and(advice),
            _ => error,
        }
    }

    /// Waits for a notice on a channel of the row.
    async fn told(&self, key: Key<'_>, channel: &str) -> Result<(), Error> {
        // The request that comes next opens the session. A caller that waits need not be polled until then.
        let mut opened = pin!(self.link.opened());
        // A session that is opened from here on is noticed.
        opened.as_mut().enable();
        let Some(session) = self.link.present().filter(|session| session.is_open()) else {
            opened.await;
            return Ok(());
        };
        if !session.tells() {
            return std::future::pending().await;
        }
        let doing = format!("cannot wait for the row {}/{}", key.election, key.document);
        let notice = session.notice(channel).await;
        notice.map_err(|failure| failed(&doing, &session.place, &failure, false))
    }

    /// The channels on which a change of a row is told: its own, that of its election, and that of its requests.
    fn channels(&self, key: Key<'_>) -> [String; 3] {
        [self.channel(key), self.channel(Key { document: "", ..key }), self.requests(key)]
    }

    fn requests(&self, key: Key<'_>) -> String {
        self.channel(Key { document: &format!("{} requests", key.document), ..key })
    }

    /// The channel of a row.
    fn channel(&self, key: Key<'_>) -> String {
        // The longest name of a channel has 63 bytes. Two rows of one channel only wake each other.
        let parts = [self.sql().table.as_str(), key.election, key.document];
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        // FNV-1a: all processes compute the same.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("elect_{hash:016x}")
    }
}

/// The epoch of an answer.
///
/// # Errors
/// `Unreachable` if it is that of another cluster: a pooler may lead there by now. The session is given up.
fn epoch_of(name: String, doing: &str, session: &Session) -> Result<Epoch, Error> {
    if name.starts_with(&session.server.cluster) {
        return Ok(Epoch { name, age: Duration::ZERO });
    }
    session.close();
    let what = format!("{doing}: another cluster answers at {}", session.place);
    Err(Error::new(ErrorKind::Unreachable, what))
}

fn number(tag: &Tag) -> Result<i64, Error> {
    tag.0.parse().map_err(|_| Error::new(ErrorKind::Unfit, format!("{:?} is no tag", tag.0)))
}

/// A row with its election and document.
type NamedRow = (String, String, Row);

/// The epoch of an answer, and the row in it, if there is one; `None` if they cannot be read.
fn read(row: &tokio_postgres::Row) -> Option<(String, Option<NamedRow>)> {
    let epoch = row.try_get(0).ok()?;
    let Some(election) = row.try_get::<_, Option<String>>(1).ok()? else {
        return Some((epoch, None));
    };
    let text = |place: usize| String::from_utf8(row.try_get(place).ok()?).ok();
    let body = Body { head: text(4)?, cells: text(5)?, ..Body::default() };
    let tag = Tag(row.try_get::<_, i64>(3).ok()?.to_string());
    Some((epoch, Some((election, row.try_get(2).ok()?, Row { tag, body }))))
}

fn odd(doing: &str, session: &Session) -> Error {
    let what =
        format!("{doing}: PostgreSQL at {} gives an answer that is not understood", session.place);
    Error::new(ErrorKind::Unfit, what)
}

/// Whether another writer of the row was faster.
fn is_lost_race(failure: &Failure) -> bool {
    let lost = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    failure.code().is_some_and(|code| lost.contains(code))
}

fn has_no_table(failure: &Failure) -> bool {
    let missing = [SqlState::INVALID_SCHEMA_NAME, SqlState::UNDEFINED_TABLE];
    failure.code().is_some_and(|code| missing.contains(code))
}

fn is_there_already(failure: &Failure) -> bool {
    let known = [SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE, SqlState::UNIQUE_VIOLATION];
    failure.code().is_some_and(|code| known.contains(code))
}
