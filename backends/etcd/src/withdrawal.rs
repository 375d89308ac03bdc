//! Removes one entry whose lease may go on.

use etcd_client::Client;

use crate::error::{Doing, Failure, is_lease_unknown, is_refused};
use crate::layout::{Keyspace, Mark};
use crate::queue;
use crate::reply::whole;

/// Removes an entry. It `may_come` later if an earlier request for it had no answer: then a tomb stops that request. A
/// client without the right to write cells can leave no tomb; then the entry ends with its lease.
pub(crate) async fn withdraw(
    client: &Client,
    keyspace: &Keyspace,
    mark: Mark,
    may_come: bool,
) -> Result<(), Failure> {
    let ask = |with_tomb| {
        let mut store = client.kv_client();
        let txn = queue::withdraw(keyspace, mark, with_tomb);
        async move { store.txn(txn).await.and_then(whole) }
    };
    let answer = match ask(may_come).await {
        Err(cause) if may_come && is_refused(&cause) => ask(false).await,
        answer => answer,
    };
    match answer {
        // Without the lease there is no entry.
        Err(cause) if !is_lease_unknown(&cause) => Err(Failure { doing: Doing::Resign, cause }),
        _ => Ok(()),
    }
}
