//! Removes a leader's entry on request, and all cells of an election that is forgotten.

use elect_api::{Cell, Token};
use etcd_client::{Client, Compare, CompareOp, DeleteOptions, GetOptions, Txn, TxnOp};

use crate::error::{Doing, Failure};
use crate::layout::Keyspace;
use crate::reply::{gets, whole};

/// Removes the candidate's key that was created at this revision, and no other key. The lease stays, because other keys
/// of its holder may use it too.
pub(crate) async fn remove(
    client: &Client,
    keyspace: &Keyspace,
    token: Token,
) -> Result<(), Failure> {
    // No key has a greater revision than `i64::MAX`. A revision of 0 would let all keys through.
    let Some(revision) = i64::try_from(token.get()).ok().filter(|revision| *revision > 0) else {
        return Ok(());
    };
    let options = GetOptions::new()
        .with_prefix()
        .with_keys_only()
        .with_min_create_revision(revision)
        .with_max_create_revision(revision);
    let found = client.kv_client().get(keyspace.prefix(), Some(options)).await;
    let mut found = found.map_err(|cause| Failure { doing: Doing::Read, cause })?.take_kvs();
    found.retain(|kv| keyspace.number_of(kv.key()).is_some());
    let Some(kv) = found.first() else { return Ok(()) };
    let is_it = Compare::create_revision(kv.key(), CompareOp::Equal, revision);
    let txn = Txn::new().when([is_it]).and_then([TxnOp::delete(kv.key(), None)]);
    let reply = client.kv_client().txn(txn).await.and_then(whole);
    reply.map(drop).map_err(|cause| Failure { doing: Doing::Remove, cause })
}

/// The reason why an election could not be forgotten.
pub(crate) enum Kept {
    /// A candidate is in it.
    Occupied,
    /// It has this fence, and the caller does not permit the loss of fences.
    Fenced(String),
}

/// Removes the cells of an election if it has no candidates, and, unless its fences may go, if it has no fences.
/// Otherwise returns the obstacle. Entries do not outlive their candidates.
pub(crate) async fn forget(
    client: &Client,
    keyspace: &Keyspace,
    may_lose_fences: bool,
) -> Result<Option<Kept>, Failure> {
    let all_below = |keys| TxnOp::delete(keys, Some(DeleteOptions::new().with_prefix()));
    let none_below = |keys: &str| Compare::create_revision(keys, CompareOp::Equal, 0).with_prefix();
    let first = GetOptions::new().with_prefix().with_keys_only().with_limit(1);
    let fences = keyspace.fences();
    // All in one step: a candidate that joins at this moment keeps everything, and so does a fence.
    let mut conditions = vec![none_below(keyspace.prefix())];
    conditions.extend((!may_lose_fences).then(|| none_below(&fences)));
    let removal = [all_below(keyspace.notes()), all_below(keyspace.data())];
    let looks =
        [keyspace.prefix(), fences.as_str()].map(|keys| TxnOp::get(keys, Some(first.clone())));
    let txn = Txn::new().when(conditions).and_then(removal).or_else(looks);
    let answer = client.kv_client().txn(txn).await.and_then(whole);
    let answer = answer.map_err(|cause| Failure { doing: Doing::writing(Cell::Once), cause })?;
    if answer.succeeded() {
        return Ok(None);
    }
    let mut seen = gets(&answer).into_iter().map(|mut seen| seen.take_kvs().pop());
    let (entry, fence) = (seen.next().flatten(), seen.next().flatten());
    Ok(Some(match (entry, fence) {
        (None, Some(fence)) => {
            let resource = fence.key().strip_prefix(fences.as_bytes()).unwrap_or_default();
            Kept::Fenced(String::from_utf8_lossy(resource).into_owned())
        }
        _ => Kept::Occupied,
    }))
}
