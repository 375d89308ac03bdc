//! Reads the replies to all kinds of requests.

use std::collections::VecDeque;

use elect_api::Versioned;
use etcd_client::proto::{PbTxnOpResponse, PbTxnResponse};
use etcd_client::{Error as Cause, GetResponse, KeyValue, TxnOpResponse, TxnResponse};
use tonic::Status;

use crate::layout::Keyspace;

/// Returns the reply if it has an answer to each operation. The library panics over a missing one.
///
/// # Errors
/// The same as for a reply that cannot be decoded.
pub(crate) fn whole(reply: TxnResponse) -> Result<TxnResponse, Cause> {
    if is_whole(&reply.0) {
        return Ok(reply);
    }
    Err(Cause::GRpcStatus(Status::internal("the answer to an operation is missing")))
}

fn is_whole(reply: &PbTxnResponse) -> bool {
    reply.responses.iter().all(|answer| match &answer.response {
        Some(PbTxnOpResponse::ResponseTxn(inner)) => is_whole(inner),
        answer => answer.is_some(),
    })
}

/// The answers to the gets of a transaction, in their order. The reply must be [`whole`].
pub(crate) fn gets(reply: &TxnResponse) -> VecDeque<GetResponse> {
    let gets = reply.op_responses().into_iter().filter_map(|answer| match answer {
        TxnOpResponse::Get(get) => Some(get),
        _ => None,
    });
    gets.collect()
}

/// The revision at which a cell was changed last, by a transaction that did not write it; 0 if never.
pub(crate) fn cell_seen(reply: &TxnResponse) -> i64 {
    let cell = gets(reply).pop_back();
    cell.and_then(|cell| cell.kvs().first().map(KeyValue::mod_revision)).unwrap_or(0)
}

/// The revision of the store at which a transaction was answered.
pub(crate) fn revision_of(reply: &TxnResponse) -> i64 {
    reply.header().map_or(0, etcd_client::ResponseHeader::revision)
}

/// Returns the text in a cell's key; empty if there is no key.
pub(crate) fn cell_of(kv: Option<KeyValue>) -> Versioned {
    kv.map_or_else(Versioned::default, |kv| {
        let version = kv.mod_revision().unsigned_abs();
        Versioned::found(kv.into_key_value().1, version)
    })
}

/// The keys of a listing that are candidates.
pub(crate) fn candidates<'l>(
    keyspace: &'l Keyspace,
    listing: &'l GetResponse,
) -> impl Iterator<Item = &'l KeyValue> {
    listing.kvs().iter().filter(|kv| keyspace.number_of(kv.key()).is_some())
}

#[cfg(test)]
mod tests {
    use etcd_client::proto::{PbPutResponse, PbResponseOp};

    use super::*;

    fn answer(response: Option<PbTxnOpResponse>) -> PbTxnResponse {
        let responses = vec![PbResponseOp { response }];
        PbTxnResponse { header: None, succeeded: true, responses }
    }

    #[test]
    fn an_answer_is_missing_at_any_depth() {
        let put = || Some(PbTxnOpResponse::ResponsePut(PbPutResponse::default()));
        let around = |inner| answer(Some(PbTxnOpResponse::ResponseTxn(inner)));
        for good in [answer(put()), around(answer(put())), PbTxnResponse::default()] {
            whole(TxnResponse(good)).expect("a whole one").op_responses();
        }
        for bad in [answer(None), around(answer(None)), around(around(answer(None)))] {
            assert!(whole(TxnResponse(bad)).is_err());
        }
    }
}
