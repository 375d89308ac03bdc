//! The end of one entry whose lease may go on.

use etcd_client::Client;

use crate::error::{Doing, Failure, is_lease_unknown, is_refused};
use crate::layout::{Keyspace, Mark};
use crate::queue;
use crate::reply::whole;

/// Removes an entry, and sees to it that it is not made any more if it `may_come`: somebody may have asked for it
/// who has not heard the answer. Whoever may write no cells can leave no tomb; then it ends with its lease.
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
        // No lease, no entry.
        Err(cause) if !is_lease_unknown(&cause) => Err(Failure { doing: Doing::Resign, cause }),
        _ => Ok(()),
    }
}
