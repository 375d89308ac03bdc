use std::pin::pin;

use etcd_client::{Client, Error as Cause, Txn, TxnResponse};

use crate::error::{Doing, Failure, Setback, odd};
use crate::reply::whole;

/// What a renewal has shown of our entry.
pub(crate) enum Proof {
    /// It is there and ours, and its lease was kept alive, if by whom it should be (see [`Heard`]).
    There(TxnResponse),
    /// It is not.
    Missing(TxnResponse),
}

/// The member that has answered, and the term of the leader whose entries it knew.
///
/// A member that led, and stood still while the others chose another leader, goes on keeping leases alive for
/// a moment when it wakes up, and nobody else knows of it: the new leader ends them a TTL after it was chosen.
/// So a renewal counts only if the member that it went to had already shown the very term in which our entry
/// is then proven. Then that term's leader has kept the lease alive, and still led after we had asked; and
/// whoever leads after it lets leases run their full length anew.
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

/// Keeps a lease alive and asks `proof`, which succeeds if the entry is ours, at the same time.
///
/// The keep-alive goes over a stream of its own, so that no late answer to an earlier one is taken for
/// its own; it alone proves nothing, for a lease lives on when its key has been deleted. If the entry is
/// missing no more is waited for.
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
        // A member that is behind the others may not know yet what it has granted; and if the lease is
        // over, the entry will be found missing.
        Err(Cause::LeaseKeepAliveError(_)) => {
            Err(odd("etcd shows our entry, but does not know its lease: trying again helps"))
        }
        Err(cause) => Err(failed(cause).into()),
    }
}

const fn failed(cause: Cause) -> Failure {
    Failure { doing: Doing::Renew, cause }
}
