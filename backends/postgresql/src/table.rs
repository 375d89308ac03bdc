//! The table in the database, as elect uses it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile};
use elect_record::table::{Body, Epoch, Heard, Key, NamedRow, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use crate::error::Failure;
use crate::link::Schema;
use crate::session::Session;
use crate::sql::{FIRST_TIMELINE, Sql};

type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// The table of one schema of a database.
pub(crate) struct PostgresTable(Link<Schema>);

impl PostgresTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        Link::new(url, Schema::new).map(Self)
    }

    fn sql(&self) -> &Sql {
        &self.0.opener().sql
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.0.session().await
    }

    /// The epoch of a database without the table. A write in it finds no table, and makes it.
    async fn bare_epoch(
        &self,
        session: &Session,
        doing: &str,
        is_new: bool,
    ) -> Result<Epoch, Error> {
        let fail = |failure| session.failed(doing, &failure, false);
        let row = session.one("epoch", &self.sql().bare_epoch, &[]).await.map_err(fail)?;
        let name = row.try_get(0).map_err(|_| session.odd(doing))?;
        let epoch = epoch_of(name, doing, session)?;
        // In a cluster without a promotion, no candidate led before there was the schema.
        let is_first = is_new && epoch.name.split('-').nth(1) == Some(FIRST_TIMELINE);
        Ok(if is_first { Epoch { age: Duration::MAX, ..epoch } } else { epoch })
    }

    async fn create(&self, session: &Session) -> Result<(), Error> {
        let doing = "cannot make the table of elect";
        let fail = |failure: &Failure| session.failed(doing, failure, true);
        // Without the right to make a schema, the schema may be there.
        let denial = match session.run("create", &self.sql().create_all).await {
            Ok(()) => return Ok(()),
            Err(failure) if failure.is(&[SqlState::INSUFFICIENT_PRIVILEGE]) => Some(failure),
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
}

#[async_trait]
impl Table for PostgresTable {
    fn profile(&self) -> Profile {
        self.0.profile()
    }

    fn may_lose(&self) -> bool {
        true
    }

    fn tells(&self) -> bool {
        self.0.opener().tells()
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
        let rows = match ask_and_notify(&session, "write", statement, (&mut parameters, 5)).await {
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
        let doing = format!("cannot remove the row {key}");
        let tag = tag.number()?;
        let session = self.session().await?;
        let channels = self.channels(key).to_vec();
        let mut parameters: [Parameter<'_>; 4] = [
            (&key.election, Type::TEXT),
            (&key.document, Type::TEXT),
            (&tag, Type::INT8),
            (&channels, Type::TEXT_ARRAY),
        ];
        let statement = &self.sql().delete;
        match ask_and_notify(&session, "delete", statement, (&mut parameters, 3)).await {
            Ok(rows) => {
                let is_gone = rows.first().and_then(|row| row.try_get(0).ok());
                is_gone.ok_or_else(|| session.odd(&doing).with_kind(ErrorKind::Ambiguous))
            }
            Err(failure) if is_lost_race(&failure) => Ok(false),
            Err(failure) if has_no_table(&failure) => Ok(true),
            Err(failure) => Err(self.unanswered(&doing, &session, &failure, true).await),
        }
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let (doing, session) = (range.doing(), self.session().await?);
        let (statement, parameters) = self.sql().scan(range);
        let typed: Vec<_> = parameters.iter().map(|text| (text as _, Type::TEXT)).collect();
        let answer = match session.ask("select", statement, &typed).await {
            Err(failure) if has_no_table(&failure) => {
                let is_new = failure.is(&[SqlState::INVALID_SCHEMA_NAME]);
                let epoch = self.bare_epoch(&session, &doing, is_new).await?;
                return Ok(Rows { epoch, rows: Vec::new() });
            }
            Err(failure) => return Err(self.unanswered(&doing, &session, &failure, false).await),
            Ok(answer) => answer,
        };
        let odd = || session.odd(&doing);
        let mut found = Rows { epoch: Epoch::only(), rows: Vec::new() };
        for row in &answer {
            let Some((name, read)) = read(row) else {
                return Err(self.explained(&session, odd()).await);
            };
            found.epoch = epoch_of(name, &doing, &session)?;
            found.rows.extend(read);
        }
        if answer.is_empty() { Err(odd()) } else { Ok(found) }
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
        let session = self.0.present();
        let of =
            |channel| session.as_ref().and_then(|session| session.heard.notices.heard(channel));
        Heard { row: of(&self.channel(key)), requests: of(&self.requests(key)) }
    }

    /// Each notice makes the server wake all sessions of the database that listen to anything.
    fn wakes_all(&self) -> bool {
        self.tells()
    }

    async fn hush(&self) {
        if let Some(session) = self.0.present() {
            session.hush().await;
        }
    }

    async fn prepare(&self) -> Result<(), Error> {
        let session = self.session().await?;
        let has_table = &session.server.has_table;
        if !has_table.load(Ordering::Relaxed) {
            self.create(&session).await?;
            has_table.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.0.examine(&clock).await)
    }
}

impl PostgresTable {
    /// The error of a statement that failed, or that the table is another one.
    async fn unanswered(
        &self,
        doing: &str,
        session: &Session,
        failure: &Failure,
        is_write: bool,
    ) -> Error {
        let error = session.failed(doing, failure, is_write);
        // A commit of elect's own, which was not answered in time.
        if failure.is(&[SqlState::LOCK_NOT_AVAILABLE]) && session.awaits_replica().await {
            let what = format!(
                "{doing} in PostgreSQL at {}: a commit before it waits for a synchronous replica",
                session.place
            );
            let advice = "start one of synchronous_standby_names, or set that to ''";
            return Error::new(error.kind(), what).and(advice);
        }
        // Names and types that do not fit.
        let may_be_another =
            failure.refusal().is_some_and(|it| it.0.code().code().starts_with("42"));
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
        // The request that comes next opens the session.
        let Some(session) = self.0.awaited().await else { return Ok(()) };
        let reopened = self.0.reopened();
        if !self.tells() {
            // The next session may tell.
            reopened.await;
            return Ok(());
        }
        match session.notice(channel).await {
            // A queue of notices that is full or damaged refuses all listeners.
            Err(Failure::Refused(_)) if session.is_open() => {
                self.0.opener().poll();
                Ok(())
            }
            notice => notice.map_err(|failure| {
                session.failed(&format!("cannot wait for the row {key}"), &failure, false)
            }),
        }
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

/// Runs a statement that notifies channels, which the parameter of this number has. If the queue of notices is full,
/// the server has not done it, and does it without notices: candidates then learn of it later.
async fn ask_and_notify(
    session: &Session,
    operation: &'static str,
    statement: &str,
    (parameters, channels): (&mut [Parameter<'_>], usize),
) -> Result<Vec<tokio_postgres::Row>, Failure> {
    const NONE: &[String] = &[];
    match session.ask(operation, statement, parameters).await {
        Err(failure) if failure.is(&[SqlState::PROGRAM_LIMIT_EXCEEDED]) => {
            parameters[channels] = (&NONE, Type::TEXT_ARRAY);
            session.ask(operation, statement, parameters).await
        }
        answer => answer,
    }
}

/// Returns whether another writer of the row was faster.
fn is_lost_race(failure: &Failure) -> bool {
    failure.is(&[SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED])
}

fn has_no_table(failure: &Failure) -> bool {
    failure.is(&[SqlState::INVALID_SCHEMA_NAME, SqlState::UNDEFINED_TABLE])
}

fn is_there_already(failure: &Failure) -> bool {
    failure.is(&[SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE, SqlState::UNIQUE_VIOLATION])
}
