//! The entry of a leader, for whoever wants it away. It is known by the revision that made its key, which is its
//! token, so that never another's is meant. Its lease is left alone: other keys of its holder may have it too.

use elect_api::Token;
use etcd_client::{Client, Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp};

use crate::error::{Doing, Failure};
use crate::layout::Keyspace;
use crate::reply::whole;

pub(crate) async fn remove(
    client: &Client,
    keyspace: &Keyspace,
    token: Token,
) -> Result<(), Failure> {
    let Some(kv) = find(client, keyspace, token).await? else { return Ok(()) };
    let is_it = Compare::create_revision(kv.key(), CompareOp::Equal, kv.create_revision());
    let txn = Txn::new().when([is_it]).and_then([TxnOp::delete(kv.key(), None)]);
    let reply = client.kv_client().txn(txn).await.and_then(whole);
    reply.map(drop).map_err(|cause| Failure { doing: Doing::Remove, cause })
}

/// The candidate's key that this revision made.
async fn find(
    client: &Client,
    keyspace: &Keyspace,
    token: Token,
) -> Result<Option<KeyValue>, Failure> {
    // No key has a greater one, and one that is 0 would let all of them through.
    let Some(revision) = i64::try_from(token.get()).ok().filter(|revision| *revision > 0) else {
        return Ok(None);
    };
    let options = GetOptions::new()
        .with_prefix()
        .with_min_create_revision(revision)
        .with_max_create_revision(revision);
    let reply = client.kv_client().get(keyspace.prefix(), Some(options)).await;
    let mut reply = reply.map_err(|cause| Failure { doing: Doing::Look, cause })?;
    Ok(reply.take_kvs().into_iter().find(|kv| keyspace.number_of(kv.key()).is_some()))
}
