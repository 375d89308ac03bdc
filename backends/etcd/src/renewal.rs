use std::pin::pin;

use etcd_client::{Client, Error as Cause, Txn, TxnResponse};

use crate::error::{Doing, Failure, Setback, odd};
use crate::reply::whole;

/// The result of a renewal for this candidate's entry.
pub(crate) enum Proof {
    /// The entry is there and is this candidate's. Its lease was kept alive, though perhaps by the wrong member (see
    /// [`Heard`]).
    There(TxnResponse),
    /// The entry is missing.
    Missing(TxnResponse),
}

/// The member that has answered, and the term of the etcd leader that it knew.
///
/// A member that led, and stood still while the others chose another leader, goes on keeping leases alive for a moment
/// when it wakes up. No other member knows of that: the new leader ends the leases a TTL after it was chosen. So a
/// renewal counts only if its member had already shown the very term in which the entry is then proven. Then the leader
/// of that term has kept the lease alive, and still led after the request was sent. Any later leader lets leases run
/// their full length anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    member: u64,
    term: u64,
}

impl Heard {
    pub(crate) fn of(reply: &TxnResponse) -> Option<Self> {
        let header = reply.header()?;
        Some(Self { member: header.member_id(), term: header.raft_term() })
    }
}

/// Keeps a lease alive, and at the same time sends `proof`, a transaction that succeeds if the entry is this
/// candidate's.
///
/// Each keep-alive has its own stream, so that no late answer to an earlier one is taken for its answer. It alone
/// proves nothing, because a lease lives on when its key has been deleted. If the entry is missing, the function does
/// not wait for the keep-alive.
pub(crate) async fn renew(client: Client, lease: i64, proof: Txn) -> Result<Proof, Setback> {
    let mut leases = client.lease_client();
    let mut store = client.kv_client();
    let mut kept = pin!(leases.keep_alive(lease));
    let mut proven = pin!(async { store.txn(proof).await.and_then(whole) });
    let (kept, reply) = tokio::select! {
        reply = &mut proven => {
            let reply = reply.map_err(failed)?;
            if !reply.succeeded() {
                return Ok(Proof::Missing(reply));
            }
            (kept.await.map(drop), reply)
        }
        kept = &mut kept => (kept.map(drop), proven.await.map_err(failed)?),
    };
    match kept {
        _ if !reply.succeeded() => Ok(Proof::Missing(reply)),
        Ok(()) => Ok(Proof::There(reply)),
        // A member that lags behind the others may not know yet which leases etcd has granted. If the lease is over,
        // the next renewal finds the entry missing.
        Err(Cause::LeaseKeepAliveError(_)) => {
            Err(odd("etcd shows our entry, but does not know its lease: trying again helps"))
        }
        Err(cause) => Err(failed(cause).into()),
    }
}

const fn failed(cause: Cause) -> Failure {
    Failure { doing: Doing::Renew, cause }
}
