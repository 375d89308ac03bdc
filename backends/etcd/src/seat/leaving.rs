//! A seat gives up its lease, if it is the last user, or else its entry.

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

/// What a seat has to give up.
#[derive(Clone, Copy)]
enum Left {
    Lease(LeaseId),
    /// The entry, under a lease that other seats use.
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

    /// Cleans up after the entry was removed. If all other seats have left at the same time, the lease has no user any
    /// more. Then it is revoked, or ends by itself.
    async fn let_go(&mut self, left: Left, client: Client) {
        let lease = Arc::clone(self.lease());
        let is_left = matches!(left, Left::Entry) && lease.share(self.mark()) == Share::All;
        self.start_over();
        if is_left {
            let _ = client.lease_client().revoke(lease.id.get()).await;
        }
    }

    /// Leaves as [`Self::leave`] does. A leader writes a cell in the same step.
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
                        // A lease without keys ends by itself, or with the grant of the next. To revoke it, etcd would
                        // flush its disk three times before it answers the next leader.
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

    /// Cleans up after the entry vanished: the other users of the lease remove what may still appear.
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

    /// Returns what a resign has to give up.
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
