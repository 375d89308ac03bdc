//! What leaders keep: one key for each value, apart from entries and notes.

use elect_api::{Key, Noted, Token};
use etcd_client::{Client, Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp};

use crate::fault::{Doing, Failure};
use crate::layout::Hall;
use crate::queue::{candidates, gets};
use crate::seat::{Trouble, odd};
use crate::whole::whole;

/// More than the writers that one leader has at once.
const TRIES: usize = 8;

pub(crate) async fn read(
    client: &Client,
    hall: &Hall,
    key: &Key,
) -> Result<Option<Vec<u8>>, Trouble> {
    let reply = client.kv_client().get(hall.value(key), None).await;
    let mut reply = reply.map_err(|cause| Failure { doing: Doing::Look, cause })?;
    Ok(reply.take_kvs().pop().map(|kv| kv.into_key_value().1))
}

/// Writes a value if the entry that came at the revision `token` is the first.
///
/// Which key that is has to be asked first, as only its candidate knows its lease. Once it is the first it stays
/// that as long as it is there, for those who come later have greater revisions: so all that is left to compare
/// as the value is written is that it is there. The value that was seen is compared as well: what an earlier
/// attempt has sent is carried out before this one or not at all.
pub(crate) async fn write(
    client: &Client,
    hall: &Hall,
    token: Token,
    key: &Key,
    value: &[u8],
) -> Result<Noted, Trouble> {
    let Ok(revision) = i64::try_from(token.get()) else { return Ok(gone(token)) };
    let key = hall.value(key);
    for _ in 0..TRIES {
        let Some((entry, seen)) = look(client, hall, revision, &key).await? else {
            return Ok(gone(token));
        };
        let txn = Txn::new()
            .when([
                Compare::create_revision(entry, CompareOp::Equal, revision),
                Compare::mod_revision(key.as_str(), CompareOp::Equal, seen),
            ])
            .and_then([TxnOp::put(key.as_str(), value, None)]);
        let reply = client.kv_client().txn(txn).await.and_then(whole);
        if reply.map_err(|cause| Failure { doing: Doing::Put, cause })?.succeeded() {
            return Ok(Noted::Written);
        }
    }
    Err(odd("the value changes as we write it: trying again helps"))
}

/// The key of the entry that came at `revision`, if it is the first, and when the value was changed last.
async fn look(
    client: &Client,
    hall: &Hall,
    revision: i64,
    key: &str,
) -> Result<Option<(Vec<u8>, i64)>, Failure> {
    let so_far =
        GetOptions::new().with_prefix().with_keys_only().with_max_create_revision(revision);
    let ask = Txn::new().and_then([
        TxnOp::get(hall.prefix(), Some(so_far)),
        TxnOp::get(key, Some(GetOptions::new().with_keys_only())),
    ]);
    let reply = client.kv_client().txn(ask).await.and_then(whole);
    let reply = reply.map_err(|cause| Failure { doing: Doing::Look, cause })?;
    let mut answers = gets(&reply).into_iter();
    let (Some(entries), Some(value)) = (answers.next(), answers.next()) else { return Ok(None) };
    let first = candidates(hall, &entries).min_by_key(|kv| kv.create_revision());
    let seen = value.kvs().first().map_or(0, KeyValue::mod_revision);
    let ours = first.filter(|kv| kv.create_revision() == revision);
    Ok(ours.map(|kv| (kv.key().to_vec(), seen)))
}

fn gone(token: Token) -> Noted {
    Noted::Gone(format!("no entry with token {token} leads"))
}
