use etcd_client::proto::{PbTxnOpResponse, PbTxnResponse};
use etcd_client::{Error as Cause, TxnResponse};
use tonic::Status;

/// The answer to a transaction, if there is one to each of its operations: over one that is missing the library
/// panics.
///
/// # Errors
/// As of an answer that cannot be decoded.
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
