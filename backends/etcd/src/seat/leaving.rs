//! A seat gives up what it has: the lease, if it is the last that uses it, or its entry.

use std::sync::Arc;

use elect_api::{Cell, Error, ErrorKind};
use etcd_client::Client;

use super::{EntryState, EtcdSeat};
use crate::error::{Doing, Failure, is_lease_unknown};
use crate::layout::LeaseId;
use crate::lease::Share;
use crate::queue;
use crate::reply::whole;
use crate::withdrawal::withdraw;

/// What there is to give up.
#[derive(Clone, Copy)]
enum Left {
    Lease(LeaseId),
    /// Our entry, under a lease that others use.
    Entry,
}

impl EtcdSeat {
    pub(super) async fn leave(&mut self) -> Result<(), Error> {
        let Some(left) = self.left() else { return Ok(()) };
        let attempt = self.link.attempt(self.keyspace.prefix()).await?;
        let client = attempt.client();
        let given_up = match left {
            Left::Lease(lease) => match client.lease_client().revoke(lease.get()).await {
                Err(cause) if !is_lease_unknown(&cause) => {
                    Err(Failure { doing: Doing::Resign, cause })
                }
                _ => Ok(()),
            },
            Left::Entry => {
                Box::pin(withdraw(&client, &self.keyspace, self.mark(), self.may_come)).await
            }
        };
        attempt.conclude(given_up).await?;
        self.stale = None;
        Box::pin(self.let_go(left, client)).await;
        Ok(())
    }

    /// Our entry is gone. Where all others have left at the same time, nobody needs the lease any more: it is
    /// revoked, or ends by itself.
    async fn let_go(&mut self, left: Left, client: Client) {
        let lease = Arc::clone(self.lease());
        let is_left = matches!(left, Left::Entry) && lease.share(self.mark()) == Share::All;
        self.start_over();
        if is_left {
            let _ = client.lease_client().revoke(lease.id.get()).await;
        }
    }

    /// As [`Self::leave`], and where we lead writes a cell in the same step.
    pub(super) async fn leave_with(&mut self, cell: Cell<'_>, bytes: &[u8]) -> Result<(), Error> {
        if let EntryState::In(entry) = &self.stage
            && entry.leads()
        {
            let cell = self.keyspace.cell(cell);
            let txn = queue::leave(&self.keyspace, self.mark(), entry.revision(), cell, bytes);
            let attempt = self.link.attempt(self.keyspace.prefix()).await?;
            match attempt.client().txn(txn).await.and_then(whole) {
                Ok(reply) => {
                    attempt.succeed();
                    if reply.succeeded() && !self.may_come {
                        // A lease that nothing hangs on ends by itself, or with the grant of the next. etcd would
                        // flush its disk three times to revoke it, before it answers whoever leads next.
                        self.leave_behind();
                        return Ok(());
                    }
                }
                Err(cause) => {
                    let error = attempt.fail(&Failure { doing: Doing::Resign, cause }).await;
                    if error.kind() == ErrorKind::Ambiguous {
                        return Err(error);
                    }
                }
            }
        }
        Box::pin(self.leave()).await
    }

    /// Our entry is not there any more: what there still is of it is seen to by whoever goes on.
    pub(super) fn leave_behind(&mut self) {
        let (share, lease) = (self.lease().share(self.mark()), Arc::clone(self.lease()));
        let (mark, may_come) = (self.mark(), self.may_come);
        self.start_over();
        match share {
            Share::All => self.stale = Some(lease.id),
            Share::Entry if may_come => lease.forsake(&self.keyspace, mark),
            Share::Entry => {}
        }
    }

    /// What a resign has to give up.
    fn left(&self) -> Option<Left> {
        match self.stage {
            EntryState::Out => self.stale.map(Left::Lease),
            EntryState::Entering | EntryState::In(_) | EntryState::Lost(_) => {
                Some(match self.lease().share(self.mark()) {
                    Share::All => Left::Lease(self.lease().id),
                    Share::Entry => Left::Entry,
                })
            }
        }
    }
}
