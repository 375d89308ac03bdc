//! What an agent or a server refuses, in words.

use elect_api::text::{WORDS, clean};
use elect_api::{Error, ErrorKind};

use crate::transaction::Mistake;

/// Why there is no answer, or no good one.
pub(crate) type Failure = elect_remote::Failure<Refusal>;

/// An answer that is an error.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A status of HTTP, and what it says.
    Status { status: u16, message: String },
    /// The id of the store is another one than when the session began.
    OtherStore,
    /// The token has characters that no token has.
    OddToken,
}

/// The answer to a caller whose token is not known, or that lacks a right.
const FORBIDDEN: u16 = 403;
/// What Consul says of a token that it does not know.
const UNKNOWN: &str = "ACL not found";
pub(crate) const TOO_LONG: u16 = 413;
const LIMITED: u16 = 429;

impl Refusal {
    pub(crate) fn of(status: u16, body: &[u8]) -> Self {
        let message = clean(String::from_utf8_lossy(body).trim().to_owned(), WORDS);
        Self::Status { status, message }
    }

    /// Why a transaction did nothing; `None` if a row has another tag. Its first operation may compare the id.
    pub(crate) fn of_transaction(mistakes: &[Mistake], is_checked: bool) -> Option<Self> {
        let denied = mistakes.iter().find(|mistake| mistake.what.contains("ermission denied"));
        if let Some(Mistake { what, .. }) = denied {
            return Some(Self::of(FORBIDDEN, what.as_bytes()));
        }
        let is_other = is_checked && mistakes.iter().any(|mistake| mistake.op_index == 0);
        is_other.then_some(Self::OtherStore)
    }

    fn says(&self, words: &str) -> bool {
        matches!(self, Self::Status { message, .. } if message.contains(words))
    }
}

impl elect_remote::Refusal for Refusal {
    type Code = u16;

    fn code(&self) -> Option<u16> {
        if let Self::Status { status, .. } = self { Some(*status) } else { None }
    }

    /// Consul answers 500 also when a write was lost on the way, and a proxy may have passed the request on.
    fn is_unclear(&self) -> bool {
        matches!(self, Self::Status { status: 500.., .. })
    }

    /// Another server may have a leader or take more requests. The id may be another one, or the file of the token has
    /// another token by now.
    fn is_of_a_replica(&self) -> bool {
        let is_unknown = || self.says(UNKNOWN);
        match self {
            Self::Status { status: FORBIDDEN, .. } => is_unknown(),
            Self::Status { status, .. } => matches!(*status, LIMITED | 500..),
            Self::OtherStore => true,
            Self::OddToken => false,
        }
    }

    fn error(&self, what: String, login: &str) -> Error {
        use ErrorKind::{Denied, Unfit, Unreachable};
        let Self::Status { status, message } = self else {
            let (kind, why) = match self {
                Self::OddToken => (Denied, "the token has characters that no token has"),
                _ => (Unreachable, "the store has another id than before"),
            };
            return Error::new(kind, what).because(why);
        };
        let (kind, advice) = match *status {
            400 if self.says("HTTPS server") => (Unfit, "it speaks TLS: write consul+tls://"),
            401 | FORBIDDEN if self.says(UNKNOWN) => {
                (Denied, "correct the token, which is not known there")
            }
            401 | FORBIDDEN => (Denied, "elect help consul has the policy that the token needs"),
            TOO_LONG => (
                Unfit,
                "the row is too long: raise limits.kv_max_value_size and limits.txn_max_req_len, or store less",
            ),
            LIMITED => (Unreachable, "the server limits requests: see limits of its configuration"),
            _ if self.says("No path to datacenter") => {
                (Unfit, "correct the option dc: see consul members -wan")
            }
            _ if self.says("No cluster leader") => (
                Unreachable,
                "Consul's servers have no leader: see consul operator raft list-peers",
            ),
            502..=504 if message.is_empty() => {
                (Unreachable, "a balancer or a proxy before Consul reports it unavailable")
            }
            _ => (Unreachable, ""),
        };
        // Who logs in matters only if that is what was refused.
        let login = if kind == Denied { login } else { "" };
        let said = if message.is_empty() { "no words" } else { message.as_str() };
        let mut error = Error::new(kind, what).because(format!("{said} (HTTP {status})"));
        for words in [advice, login] {
            if !words.is_empty() {
                error = error.and(words);
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use elect_remote::Refusal as _;

    use super::*;

    #[test]
    fn only_what_a_server_refuses_says_that_nothing_was_written() {
        for (status, is_unclear) in
            [(400, false), (403, false), (413, false), (500, true), (502, true)]
        {
            assert_eq!(Refusal::of(status, b"words").is_unclear(), is_unclear, "{status}");
        }
    }

    #[test]
    fn a_transaction_that_did_nothing_says_why() {
        let of = |mistakes: &[(usize, &str)]| {
            let mistake = |(op_index, what): &(usize, &str)| Mistake {
                op_index: *op_index,
                what: (*what).to_owned(),
            };
            let mistakes: Vec<_> = mistakes.iter().map(mistake).collect();
            Refusal::of_transaction(&mistakes, true)
        };
        assert!(of(&[(1, "failed to set key \"a\", index is stale")]).is_none());
        assert!(matches!(
            of(&[(0, "failed index check"), (1, "stale")]),
            Some(Refusal::OtherStore)
        ));
        let denied = of(&[(0, "Permission denied"), (1, "index is stale")]).expect("a refusal");
        assert_eq!(denied.code(), Some(FORBIDDEN));
    }
}
