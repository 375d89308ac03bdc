//! What people ask of an election: one key beside its notes. Candidates get it with what they prove or ask,
//! in the same transaction ([`crate::queue`]); its version is the revision at which it was written.

use elect_api::{Ordered, Orders};
use etcd_client::{Client, Compare, CompareOp, KeyValue, Txn, TxnOp};

use crate::fault::{Doing, Failure};
use crate::layout::Hall;
use crate::queue::revision_of;
use crate::whole::whole;

/// What the key says; nothing where it is not.
pub(crate) fn of(kv: Option<&KeyValue>) -> Orders {
    kv.map_or_else(Orders::default, |kv| Orders {
        text: Some(kv.value().to_vec()),
        version: kv.mod_revision().unsigned_abs(),
    })
}

pub(crate) async fn read(client: &Client, hall: &Hall) -> Result<Orders, Failure> {
    let reply = client.kv_client().get(hall.orders(), None).await;
    let reply = reply.map_err(|cause| Failure { doing: Doing::Look, cause })?;
    Ok(of(reply.kvs().first()))
}

/// Writes them in place of those of this version.
pub(crate) async fn write(
    client: &Client,
    hall: &Hall,
    text: &[u8],
    version: u64,
) -> Result<Ordered, Failure> {
    // No key has a greater one.
    let Ok(revision) = i64::try_from(version) else { return Ok(Ordered::Overtaken) };
    let key = hall.orders();
    let txn = Txn::new()
        .when([Compare::mod_revision(key.as_str(), CompareOp::Equal, revision)])
        .and_then([TxnOp::put(key, text, None)]);
    let reply = client.kv_client().txn(txn).await.and_then(whole);
    let reply = reply.map_err(|cause| Failure { doing: Doing::Order, cause })?;
    Ok(if reply.succeeded() {
        Ordered::Written(revision_of(&reply).unsigned_abs())
    } else {
        Ordered::Overtaken
    })
}
