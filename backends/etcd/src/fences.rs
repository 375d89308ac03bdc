//! The greatest token that came for a resource: one key for each, apart from entries and notes.

use elect_api::{Error, ErrorKind, Fenced, Key, Token};
use etcd_client::{Client, Compare, CompareOp, KeyValue, Txn, TxnOp};

use crate::fault::{Doing, Failure};
use crate::layout::Hall;
use crate::seat::{Trouble, odd};
use crate::whole::whole;

/// More than those who come for one resource at once.
const TRIES: usize = 8;

/// Records a token, unless a greater one is recorded. Each attempt takes the place of what it has read.
pub(crate) async fn pass(
    client: &Client,
    hall: &Hall,
    resource: &Key,
    token: Token,
) -> Result<Fenced, Trouble> {
    let key = hall.fence(resource);
    let failed = |cause| Failure { doing: Doing::Fence, cause };
    for _ in 0..TRIES {
        let reply = client.kv_client().get(key.as_str(), None).await.map_err(failed)?;
        let kv = reply.kvs().first();
        match kv.map(recorded).transpose()? {
            Some(greatest) if greatest > token => return Ok(Fenced::Stale(greatest)),
            Some(same) if same == token => return Ok(Fenced::Passed),
            _ => {}
        }
        let seen = kv.map_or(0, KeyValue::mod_revision);
        let txn = Txn::new()
            .when([Compare::mod_revision(key.as_str(), CompareOp::Equal, seen)])
            .and_then([TxnOp::put(key.as_str(), token.to_string(), None)]);
        if client.kv_client().txn(txn).await.and_then(whole).map_err(failed)?.succeeded() {
            return Ok(Fenced::Passed);
        }
    }
    Err(odd("others come for the resource all the time: trying again helps"))
}

/// Who can write there can write anything: what is no token lets nobody pass.
fn recorded(kv: &KeyValue) -> Result<Token, Trouble> {
    let number = kv.value_str().ok().and_then(|text| text.parse().ok());
    number.map(Token::new).ok_or_else(|| {
        let key = String::from_utf8_lossy(kv.key());
        let what = format!("the key {key} holds no token: put the greatest that was used there");
        Trouble::Odd(Error::new(ErrorKind::Unfit, what))
    })
}
