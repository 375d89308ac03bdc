//! Cells: one key each, apart from the entries. A candidate gets the control cell in the same transaction as its proof
//! or its listing ([`crate::queue`]).

use elect_api::{Cell, If, Token, Versioned, Written};
use etcd_client::{Client, Compare, CompareOp, GetOptions, KeyValue, ResponseHeader, Txn, TxnOp};

use crate::error::{Doing, Failure, Setback, odd};
use crate::layout::Keyspace;
use crate::reply::{candidates, cell_of, gets, revision_of, whole};

/// More than the number of writers that one leader has at once.
const TRIES: usize = 8;

/// The text of a cell, and when it was read.
pub(crate) struct Found {
    /// The text. Its version is the revision at which it was changed last.
    pub(crate) cell: Versioned,
    /// The revision of the store at the time of the read.
    pub(crate) seen: i64,
}

pub(crate) async fn read(
    client: &Client,
    keyspace: &Keyspace,
    cell: Cell<'_>,
) -> Result<Found, Failure> {
    let reply = client.kv_client().get(keyspace.cell(cell), None).await;
    let mut reply = reply.map_err(|cause| Failure { doing: Doing::Read, cause })?;
    let seen = reply.header().map_or(0, ResponseHeader::revision);
    Ok(Found { cell: cell_of(reply.take_kvs().pop()), seen })
}

/// Writes a cell if the condition holds.
pub(crate) async fn write(
    client: &Client,
    keyspace: &Keyspace,
    cell: Cell<'_>,
    bytes: &[u8],
    condition: If,
) -> Result<Written, Setback> {
    match condition {
        If::Version(version) => Ok(write_over(client, keyspace, cell, bytes, version).await?),
        If::Leads(token) => write_for(client, keyspace, cell, bytes, token).await,
    }
}

/// Replaces a cell that has this version.
async fn write_over(
    client: &Client,
    keyspace: &Keyspace,
    cell: Cell<'_>,
    bytes: &[u8],
    version: u64,
) -> Result<Written, Failure> {
    // No key has a greater version than `i64::MAX`.
    let Ok(revision) = i64::try_from(version) else { return Ok(Written::Overtaken) };
    let key = keyspace.cell(cell);
    let txn = Txn::new()
        .when([Compare::mod_revision(key.as_str(), CompareOp::Equal, revision)])
        .and_then([TxnOp::put(key, bytes, None)]);
    let reply = client.kv_client().txn(txn).await.and_then(whole);
    let reply = reply.map_err(|cause| Failure { doing: Doing::writing(cell), cause })?;
    Ok(if reply.succeeded() {
        Written::Yes(revision_of(&reply).unsigned_abs())
    } else {
        Written::Overtaken
    })
}

/// Writes a cell if the entry created at the revision `token` is the first.
///
/// The function first asks for the key of that entry, because only its candidate knows its lease. The first entry stays
/// the first as long as it exists, because later entries have greater revisions. So the write has to compare only that
/// the entry exists. It also compares the revision of the cell. So a write of an earlier attempt is carried out before
/// this one, or not at all.
async fn write_for(
    client: &Client,
    keyspace: &Keyspace,
    cell: Cell<'_>,
    bytes: &[u8],
    token: Token,
) -> Result<Written, Setback> {
    let gone = || Written::Gone(format!("no entry with token {token} leads"));
    let Ok(revision) = i64::try_from(token.get()) else { return Ok(gone()) };
    let key = keyspace.cell(cell);
    for _ in 0..TRIES {
        let Some((entry, seen)) = leader_and_cell(client, keyspace, revision, &key).await? else {
            return Ok(gone());
        };
        let txn = Txn::new()
            .when([
                Compare::create_revision(entry, CompareOp::Equal, revision),
                Compare::mod_revision(key.as_str(), CompareOp::Equal, seen),
            ])
            .and_then([TxnOp::put(key.as_str(), bytes, None)]);
        let reply = client.kv_client().txn(txn).await.and_then(whole);
        let reply = reply.map_err(|cause| Failure { doing: Doing::writing(cell), cause })?;
        if reply.succeeded() {
            return Ok(Written::Yes(revision_of(&reply).unsigned_abs()));
        }
    }
    Err(odd("the value changes as we write it: trying again helps"))
}

/// Returns the key of the entry created at `revision`, if it is the first, and the revision of the cell's last change.
async fn leader_and_cell(
    client: &Client,
    keyspace: &Keyspace,
    revision: i64,
    key: &str,
) -> Result<Option<(Vec<u8>, i64)>, Failure> {
    let so_far =
        GetOptions::new().with_prefix().with_keys_only().with_max_create_revision(revision);
    let ask = Txn::new().and_then([
        TxnOp::get(keyspace.prefix(), Some(so_far)),
        TxnOp::get(key, Some(GetOptions::new().with_keys_only())),
    ]);
    let reply = client.kv_client().txn(ask).await.and_then(whole);
    let reply = reply.map_err(|cause| Failure { doing: Doing::Read, cause })?;
    let mut answers = gets(&reply).into_iter();
    let (Some(entries), Some(value)) = (answers.next(), answers.next()) else { return Ok(None) };
    let first = candidates(keyspace, &entries).min_by_key(|kv| kv.create_revision());
    let seen = value.kvs().first().map_or(0, KeyValue::mod_revision);
    let ours = first.filter(|kv| kv.create_revision() == revision);
    Ok(ours.map(|kv| (kv.key().to_vec(), seen)))
}
