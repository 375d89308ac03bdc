//! The rows of a table of DynamoDB, as elect uses them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile, StoreId};
use elect_record::table::{Body, Epoch, Key, NamedRow, Put, Range, Row, Rows, Table, Tag};
use elect_remote::{Link, Session as _};
use serde_json::{Value, json};

use crate::error::{CONDITION, Failure};
use crate::item::{self, CELLS, DOCUMENT, ELECTION, HEAD, PARCEL, TAG};
use crate::session::{ID, Operation, Session, TableName};
use crate::{PRICE, creation, examine};

/// The most bytes of a row's key, head and cells. With the tag and the names, it stays below the kilobyte that is billed.
const SHORT: usize = 900;
/// The beginning of the sort keys of items with cells alone. It comes before those of all rows.
const PARCELS: &str = "cells-";
/// The default TTL: a lease of 15 s costs four times as much.
const USUAL_TTL: Duration = Duration::from_secs(60);
/// How often a row is read whose cells are replaced meanwhile.
const READS: usize = 5;

/// The rows of one table.
pub(crate) struct ItemTable(Link<TableName>);

impl ItemTable {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        Link::new(url, TableName::of).map(Self)
    }

    async fn session(&self) -> Result<Arc<Session>, Error> {
        self.0.session().await
    }

    /// Gives the store an id if it has none. The session is left, as the next one reads the id.
    async fn create(&self, session: &Session) -> Result<(), Error> {
        if session.is_without_table() {
            // The table may be there by now, and be another store than the URL names.
            let found = session.item(ID.0, ID.1).await;
            let doing = "cannot read the id of the store";
            return found.map(drop).map_err(|failure| session.failed(doing, &failure, false));
        }
        let item = json!({
            ELECTION: item::text(ID.0), DOCUMENT: item::text(ID.1),
            CELLS: item::text(StoreId::fresh().as_str()),
        });
        let question = json!({
            "Item": item,
            "ConditionExpression": "attribute_not_exists(#document)",
            "ExpressionAttributeNames": item::names(&[DOCUMENT]),
        });
        let made = session.ask(Operation::PUT, question).await;
        session.close();
        match made {
            Err(failure) if !is_condition(&failure) => {
                Err(session.failed("cannot write the id of the store", &failure, true))
            }
            // Another candidate may have been faster.
            _ => Ok(()),
        }
    }
}

fn is_condition(failure: &Failure) -> bool {
    failure.refusal().is_some_and(|refusal| refusal.is(CONDITION))
}

/// A tag that no other write has.
fn fresh_tag() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// Writes an item of cells. No row names it yet.
async fn write_parcel(
    session: &Session,
    election: &str,
    name: &str,
    cells: &str,
) -> Result<(), Failure> {
    let item = json!({
        ELECTION: item::text(election), DOCUMENT: item::text(name), CELLS: item::text(cells),
    });
    session.ask(Operation::PUT, json!({"Item": item})).await.map(drop)
}

/// Removes an item of cells that no row names any more, beside other work. A failure leaves it, which costs room alone.
fn remove_parcel(session: &Arc<Session>, election: &str, name: &str) {
    let (session, key) = (Arc::clone(session), item::key(election, name));
    tokio::spawn(async move {
        let _ = session.ask(Operation::DELETE, json!({"Key": key})).await;
    });
}

/// The row that an item is, with the name of the item that has its cells. `None` if the item is no row.
fn row(item: &Value) -> Option<(NamedRow, Option<String>)> {
    let of = |name| item::of(item, name);
    let (election, document) = (of(ELECTION)?.to_owned(), of(DOCUMENT)?.to_owned());
    if document.starts_with(PARCELS) || (&*election, &*document) == ID {
        return None;
    }
    let (head, cells) = (of(HEAD)?.to_owned(), of(CELLS).unwrap_or_default().to_owned());
    let row = Row { tag: Tag(of(TAG)?.to_owned()), body: Body { head, cells, ..Body::default() } };
    Some(((election, document, row), of(PARCEL).map(str::to_owned)))
}

/// Reads one row, with its cells.
async fn read(session: &Session, election: &str, document: &str) -> Result<Option<Row>, Failure> {
    for _ in 0..READS {
        let Some(item) = session.item(election, document).await? else { return Ok(None) };
        let found = row(&item).ok_or(Failure::Odd("an item that is no row"))?;
        if let Some(row) = completed(session, found).await? {
            return Ok(Some(row));
        }
    }
    Err(Failure::Odd("a row whose cells are gone"))
}

/// The row with its cells; `None` if another writer has replaced both.
async fn completed(
    session: &Session,
    ((election, _, mut row), parcel): (NamedRow, Option<String>),
) -> Result<Option<Row>, Failure> {
    let Some(parcel) = parcel else { return Ok(Some(row)) };
    let Some(item) = session.item(&election, &parcel).await? else { return Ok(None) };
    let cells = item::of(&item, CELLS).ok_or(Failure::Odd("an item without cells"))?;
    cells.clone_into(&mut row.body.cells);
    Ok(Some(row))
}

/// All items that an operation finds, page by page.
async fn pages(
    session: &Session,
    operation: Operation,
    mut question: Value,
) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    loop {
        let mut answer = session.ask(operation, question.clone()).await?;
        let Some(Value::Array(items)) = answer.get_mut("Items").map(Value::take) else {
            return Err(Failure::Odd("no items"));
        };
        found.extend(items);
        match answer.get_mut("LastEvaluatedKey").map(Value::take) {
            Some(last @ Value::Object(_)) => question["ExclusiveStartKey"] = last,
            _ => return Ok(found),
        }
    }
}

/// The rows in a range.
async fn scan(session: &Session, range: Range<'_>) -> Result<Vec<NamedRow>, Failure> {
    let items = match range {
        Range::Row(key) => {
            let row = read(session, key.election, key.document).await?;
            let named = |row| (key.election.to_owned(), key.document.to_owned(), row);
            return Ok(row.map(named).into_iter().collect());
        }
        Range::Candidates(election) => {
            let question = json!({
                "ConsistentRead": true,
                "KeyConditionExpression": "#election = :election AND #document >= :first",
                "ExpressionAttributeNames": item::names(&[ELECTION, DOCUMENT]),
                "ExpressionAttributeValues":
                    item::values(&[("election", election), ("first", Key::LEADER)]),
            });
            pages(session, Operation::QUERY, question).await?
        }
        Range::Leaders => {
            let question = json!({
                "ConsistentRead": true,
                "FilterExpression": "#document = :leader OR begins_with(#document, :parcels)",
                "ExpressionAttributeNames": item::names(&[DOCUMENT]),
                "ExpressionAttributeValues": item::values(&[
                    ("leader", Key::LEADER),
                    ("parcels", &format!("{PARCELS}{}-", Key::LEADER)),
                ]),
            });
            pages(session, Operation::SCAN, question).await?
        }
    };
    let mut rows = Vec::new();
    // A scan of all elections finds the cells, too.
    let of = |item, name| item::of(item, name).unwrap_or_default();
    let parcels: HashMap<_, _> = items
        .iter()
        .filter(|item| of(item, DOCUMENT).starts_with(PARCELS))
        .map(|item| ((of(item, ELECTION), of(item, DOCUMENT)), of(item, CELLS)))
        .collect();
    for ((election, document, mut found), parcel) in items.iter().filter_map(row) {
        let cells = parcel.as_deref().and_then(|parcel| parcels.get(&(&*election, parcel)));
        let found = match (parcel.is_some(), cells) {
            (true, None) => {
                let named = (election.clone(), document.clone(), found);
                match completed(session, (named, parcel)).await? {
                    Some(row) => Some(row),
                    None => read(session, &election, &document).await?,
                }
            }
            (_, cells) => {
                found.body.cells = cells.map_or(found.body.cells, |cells| (*cells).to_owned());
                Some(found)
            }
        };
        rows.extend(found.map(|row| (election, document, row)));
    }
    Ok(rows)
}

/// Writes a row in one step with the comparison. Returns its old item of cells, if it had one that is used no more.
async fn write(
    session: &Session,
    key: Key<'_>,
    expected: Option<&Tag>,
    (tag, body, parcel): (&str, &Body, Option<&str>),
) -> Result<Option<String>, Failure> {
    let keeps = body.has_same_cells && expected.is_some();
    let mut update = "SET #tag = :tag, #head = :head".to_owned();
    let mut values = vec![("tag", tag), ("head", &*body.head)];
    let mut names = vec![TAG, HEAD];
    if !keeps {
        names.extend([CELLS, PARCEL]);
        let (set, removed) = match parcel {
            Some(parcel) => (Some((PARCEL, parcel)), CELLS),
            None if body.cells.is_empty() => (None, "cells, #parcel"),
            None => (Some((CELLS, &*body.cells)), PARCEL),
        };
        if let Some((name, value)) = set {
            let _ = write!(update, ", #{name} = :{name}");
            values.push((name, value));
        }
        let _ = write!(update, " REMOVE #{removed}");
    }
    let condition = match expected {
        None => {
            names.push(DOCUMENT);
            "attribute_not_exists(#document)"
        }
        Some(Tag(tag)) => {
            values.push(("expected", tag));
            "#tag = :expected"
        }
    };
    let question = json!({
        "Key": item::key(key.election, key.document),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": item::names(&names),
        "ExpressionAttributeValues": item::values(&values),
        "ReturnValues": if keeps { "NONE" } else { "ALL_OLD" },
    });
    let answer = session.ask(Operation::UPDATE, question).await?;
    let old = answer.get("Attributes").and_then(|old| item::of(old, PARCEL));
    Ok(old.map(str::to_owned))
}

#[async_trait]
impl Table for ItemTable {
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
        let session = self.session().await?;
        if session.store().is_none() {
            return self.create(&session).await.map(|()| Put::Conflict);
        }
        let doing = format!("cannot write the row {key}");
        let tag = fresh_tag();
        let keeps = body.has_same_cells && expected.is_some();
        let length = [key.election, key.document, &body.head, &body.cells].map(str::len);
        let is_long = length.iter().sum::<usize>() > SHORT;
        let parcel = (!keeps && is_long && !body.cells.is_empty())
            .then(|| format!("{PARCELS}{}-{tag}", key.document));
        if let Some(parcel) = &parcel {
            let written = write_parcel(&session, key.election, parcel, &body.cells).await;
            // Without the row it means nothing.
            written.map_err(|failure| session.failed(&doing, &failure, false))?;
        }
        let written = write(&session, key, expected, (&tag, body, parcel.as_deref())).await;
        let unused = match &written {
            Ok(old) => old.as_ref(),
            Err(failure) if is_condition(failure) => parcel.as_ref(),
            // It may be in use.
            Err(_) => None,
        };
        if let Some(unused) = unused {
            remove_parcel(&session, key.election, unused);
        }
        match written {
            Ok(_) => Ok(Put::Done(Tag(tag))),
            Err(failure) if is_condition(&failure) => Ok(Put::Conflict),
            Err(failure) => Err(session.failed(&doing, &failure, true)),
        }
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let session = self.session().await?;
        let question = json!({
            "Key": item::key(key.election, key.document),
            "ConditionExpression": "attribute_not_exists(#document) OR #tag = :tag",
            "ExpressionAttributeNames": item::names(&[DOCUMENT, TAG]),
            "ExpressionAttributeValues": item::values(&[("tag", &tag.0)]),
            "ReturnValues": "ALL_OLD",
        });
        match session.ask(Operation::DELETE, question).await {
            Ok(answer) => {
                let old = answer.get("Attributes").and_then(|old| item::of(old, PARCEL));
                if let Some(parcel) = old {
                    remove_parcel(&session, key.election, parcel);
                }
                Ok(true)
            }
            Err(failure) if is_condition(&failure) => Ok(false),
            Err(failure) => {
                Err(session.failed(&format!("cannot remove the row {key}"), &failure, true))
            }
        }
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        let session = self.session().await?;
        let rows = scan(&session, range).await;
        let rows = rows.map_err(|failure| session.failed(&range.doing(), &failure, false))?;
        Ok(Rows { epoch: Epoch::only(), rows })
    }

    async fn prepare(&self) -> Result<(), Error> {
        let mut session = self.session().await?;
        let described = examine::described(&session).await;
        let described = described.map_err(|failure| {
            session.failed("cannot read the settings of the table", &failure, false)
        })?;
        if let Some(why) = examine::unfit(&described) {
            let table = &session.name.table;
            return Err(Error::new(ErrorKind::Unfit, format!("the table {table} {why}")));
        }
        if session.is_without_table() {
            // The table was made meanwhile. The next session reads its id.
            session.close();
            session = self.session().await?;
        }
        if session.store().is_some() {
            return Ok(());
        }
        self.create(&session).await
    }

    async fn create(&self) -> Result<Option<String>, Error> {
        let session = self.session().await?;
        let made = creation::create(&session).await?;
        self.prepare().await?;
        Ok(made.then(|| format!("the table {} in {}", session.name.table, session.name.region)))
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(self.0.examine(&clock).await)
    }
}
