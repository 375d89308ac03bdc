//! Checks that the right store answers, and that it has not gone back to an older state. The check is part of
//! transactions that are sent anyway. A connection that replaces another takes one more request.

use std::sync::atomic::{AtomicI64, Ordering};

use elect_api::StoreId;
use elect_api::{Error, ErrorKind};
use elect_remote::Identity;
use etcd_client::{
    Client, Compare, CompareOp, Error as Cause, GetResponse, ResponseHeader, Txn, TxnOp,
    TxnOpResponse, TxnResponse,
};

use crate::error::{Doing, Failure, is_refused};
use crate::layout::store_id;
use crate::reply::{gets, revision_of};

/// The id of the store, as requests ask for it, and the newest revision that it has shown.
pub(crate) struct StoreCheck {
    key: String,
    identity: Identity,
    /// The id that a store without one gets.
    fresh: StoreId,
    newest: AtomicI64,
}

/// The reason why a connection is not used.
pub(crate) enum Unusable {
    Failed(Failure),
    /// Another store answers there.
    Foreign(Error),
    /// The store is the right one, but has gone back, by an answer that went through its log.
    Restored(Error),
}

impl From<Failure> for Unusable {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl StoreCheck {
    /// Returns the check for the store below this prefix.
    pub(crate) fn new(prefix: &str, wanted: Option<StoreId>) -> Self {
        Self {
            key: store_id(prefix),
            identity: Identity::new(wanted),
            fresh: StoreId::fresh(),
            newest: AtomicI64::new(0),
        }
    }

    pub(crate) const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the comparison of the id, for transactions that make something.
    pub(crate) fn is_ours(&self) -> Option<Compare> {
        let id = self.identity.expected()?;
        Some(Compare::value(self.key.as_str(), CompareOp::Equal, id.as_str()))
    }

    /// Returns the operation that gets the id.
    pub(crate) fn get_id(&self) -> TxnOp {
        TxnOp::get(self.key.as_str(), None)
    }

    /// Returns the operation that gets the id, or makes it if there is none. Its answer is a nested transaction, not
    /// one of the gets.
    pub(crate) fn make(&self) -> TxnOp {
        let is_new = Compare::create_revision(self.key.as_str(), CompareOp::Equal, 0);
        let make = TxnOp::put(self.key.as_str(), self.fresh.as_str(), None);
        TxnOp::txn(Txn::new().when([is_new]).and_then([make]).or_else([self.get_id()]))
    }

    /// Checks that an answer to [`crate::queue::enter`] came from the expected store, at the member `place`. The first
    /// store that answers is the expected one.
    pub(crate) fn admit_entering(&self, place: &str, reply: &TxnResponse) -> Result<(), Error> {
        let made = reply.op_responses().into_iter().find_map(|answer| match answer {
            TxnOpResponse::Txn(made) => Some(made),
            _ => None,
        });
        let found = match made {
            Some(made) if made.succeeded() => Some(self.fresh.clone()),
            Some(there) => read(gets(&there).front()),
            None => read(gets(reply).get(1)),
        };
        self.identity.admit(place, found.as_ref())
    }

    /// Checks that an answer to [`crate::queue::prove`] that shows no entry of this candidate came from the expected
    /// store.
    ///
    /// A store without an id passes: all its keys may have been removed, and a leader must learn of that at once.
    pub(crate) fn admit_missing(&self, place: &str, reply: &TxnResponse) -> Result<(), Error> {
        match read(gets(reply).get(1)) {
            Some(found) => self.identity.admit(place, Some(&found)),
            None => Ok(()),
        }
    }

    /// Checks that a new connection leads to the expected store, if its id is known already.
    pub(crate) async fn greet(&self, place: &str, client: &Client) -> Result<(), Unusable> {
        if self.identity.expected().is_none() {
            return Ok(());
        }
        let newest = self.newest();
        match client.kv_client().get(self.key.as_str(), None).await {
            Ok(reply) => {
                let foreign = |error| Err(Unusable::Foreign(error));
                let id = read(Some(&reply));
                self.identity.admit(place, id.as_ref()).or_else(foreign)?;
                let revision = reply.header().map_or(0, ResponseHeader::revision);
                match self.admit_revision(place, newest, revision) {
                    Ok(()) => Ok(()),
                    Err(read) => self.ask_the_log(place, newest, client, read).await,
                }
            }
            Err(cause) if is_refused(&cause) => {
                let what = format!(
                    "{place} does not let us read the key {}, which {} asks for",
                    self.key,
                    StoreId::OPTION
                );
                Err(Unusable::Foreign(Error::new(ErrorKind::Denied, what)))
            }
            Err(cause) => Err(Failure { doing: Doing::Connect, cause }.into()),
        }
    }

    /// Asks a member whose read was older than `newest` once more, by a transaction that may write and never does. Its
    /// answer comes from the log. A member that only lags has caught up by then.
    async fn ask_the_log(
        &self,
        place: &str,
        newest: i64,
        client: &Client,
        read: Error,
    ) -> Result<(), Unusable> {
        let never = Compare::create_revision(self.key.as_str(), CompareOp::Less, 0);
        let put = TxnOp::put(self.key.as_str(), self.fresh.as_str(), None);
        let txn = Txn::new().when([never]).and_then([put]).or_else([self.get_id()]);
        match client.kv_client().txn(txn).await {
            Ok(reply) => self.admit_answer(place, newest, &reply).map_err(Unusable::Restored),
            // Without the right to write the key the answer proves nothing.
            Err(cause) if is_refused(&cause) => {
                Err(Unusable::Foreign(read.with_kind(ErrorKind::Unreachable)))
            }
            Err(cause) => Err(Failure { doing: Doing::Connect, cause }.into()),
        }
    }

    /// Returns the id of the store that a connection leads to; `None` if it has no id yet.
    pub(crate) async fn ask(&self, client: &Client) -> Result<Option<StoreId>, Cause> {
        Ok(read(Some(&client.kv_client().get(self.key.as_str(), None).await?)))
    }

    /// The newest revision that the store has shown. No answer to a later request is older.
    pub(crate) fn newest(&self) -> i64 {
        self.newest.load(Ordering::Relaxed)
    }

    pub(crate) fn saw(&self, reply: &TxnResponse) {
        self.newest.fetch_max(revision_of(reply), Ordering::Relaxed);
    }

    /// Checks that an answer is at least as new as `newest`, which the store had shown before the request.
    pub(crate) fn admit_answer(
        &self,
        place: &str,
        newest: i64,
        reply: &TxnResponse,
    ) -> Result<(), Error> {
        self.admit_revision(place, newest, revision_of(reply))
    }

    fn admit_revision(&self, place: &str, newest: i64, revision: i64) -> Result<(), Error> {
        self.newest.fetch_max(revision, Ordering::Relaxed);
        if revision >= newest {
            return Ok(());
        }
        let what = format!(
            "{place} has gone back to revision {revision}, and has shown {newest} before: it was restored from an older \
             snapshot, or answers from one; tokens up to {newest} may have been given already: stop all candidates, \
             see `elect help stores`, and start them again"
        );
        Err(Error::new(ErrorKind::Unfit, what))
    }
}

/// Reads the id from the answer to a get.
fn read(answer: Option<&GetResponse>) -> Option<StoreId> {
    StoreId::read(answer?.kvs().first()?.value())
}
