use std::error::Error as _;

use elect_api::{Error, ErrorKind};
use zookeeper_client::Error as Zk;

/// The purpose of a request to ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// To list the children of a node.
    List,
    /// To read a node, or to see whether it exists.
    Read,
    /// To make a node.
    Create,
    /// To remove a node.
    Delete,
    /// To write the data of a node.
    Write,
    /// To have the quorum prove that a node is there.
    Check,
}

impl Action {
    const fn verb(self) -> &'static str {
        match self {
            Self::List => "list the candidates in",
            Self::Read => "read",
            Self::Create => "create",
            Self::Delete => "remove",
            Self::Write => "write",
            Self::Check => "prove",
        }
    }

    const fn right(self) -> &'static str {
        match self {
            Self::List | Self::Read | Self::Check => "read",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Write => "write",
        }
    }

    const fn changes_something(self) -> bool {
        matches!(self, Self::Create | Self::Delete | Self::Write)
    }
}

/// Returns the error for people and for the engine.
pub(crate) fn fault(action: Action, path: &str, error: Zk) -> Error {
    let tried = format!("cannot {} {path}", action.verb());
    let (kind, what) = match &error {
        Zk::NoAuth => {
            (ErrorKind::Denied, format!("{tried}: we lack the right to {} there", action.right()))
        }
        Zk::AuthFailed => (ErrorKind::Denied, format!("{tried}: ZooKeeper refuses how we log in")),
        Zk::InvalidAcl => (
            ErrorKind::Denied,
            format!(
                "{tried}: ZooKeeper does not know us as a user who can own it (acl=open needs none)"
            ),
        ),
        Zk::QuotaExceeded => {
            (ErrorKind::Unreachable, format!("{tried}: the quota there is used up"))
        }
        Zk::NoChildrenForEphemerals => {
            (ErrorKind::Unfit, format!("{tried}: it would be below an ephemeral node"))
        }
        Zk::Unimplemented => {
            (ErrorKind::Unfit, format!("{tried}: this ZooKeeper is too old, it takes 3.5 or newer"))
        }
        Zk::BadArguments(_) => {
            (ErrorKind::Unfit, format!("{tried}: this is no path for ZooKeeper"))
        }
        Zk::NotReadOnly => (ErrorKind::Unreachable, format!("{tried}: this server has no quorum")),
        Zk::SessionMoved | Zk::Throttled | Zk::NoNode => {
            (ErrorKind::Unreachable, format!("{tried}: trying again may help"))
        }
        _ if action.changes_something() => {
            (ErrorKind::Ambiguous, format!("{tried}, or may have: the answer was lost"))
        }
        _ => (ErrorKind::Unreachable, format!("{tried}: no answer")),
    };
    Error::new(kind, what).because(error)
}

/// Returns whether the user, as ZooKeeper knows it, lacks a right.
pub(crate) fn lacks_right(error: &Error) -> bool {
    let rights = [Zk::NoAuth, Zk::InvalidAcl].map(|right| right.to_string());
    error.source().is_some_and(|cause| rights.contains(&cause.to_string()))
}

/// A server of `place` has ended the session before it began. The client library does not tell the reason.
pub(crate) fn not_let_in(place: &str, has_login: bool) -> Error {
    let why = if has_login {
        "does not let us in with a user and a password (the scheme digest): it may require SASL, which elect does not \
         speak"
    } else {
        "lets in only clients that log in: name a user and a password (elect help credentials); if it requires SASL, \
         elect cannot use it"
    };
    Error::new(ErrorKind::Denied, format!("{place} {why}"))
}

/// Returns whether the session is over, and with it every entry that it had.
pub(crate) const fn ends_session(error: &Zk) -> bool {
    matches!(error, Zk::SessionExpired | Zk::ClientClosed | Zk::AuthFailed)
}

/// Returns whether a request was lost with its connection, while its session goes on.
pub(crate) const fn loses_connection(error: &Zk) -> bool {
    matches!(
        error,
        Zk::ConnectionLoss
            | Zk::SessionMoved
            | Zk::Custom(_)
            // The library closed the connection at an answer that it could not read.
            | Zk::UnmarshalError { .. }
            | Zk::UnexpectedError(_)
            | Zk::UnexpectedErrorCode(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_actions_that_may_have_changed_something_are_ambiguous() {
        for (action, error, kind) in [
            (Action::Create, Zk::ConnectionLoss, ErrorKind::Ambiguous),
            (Action::Delete, Zk::SessionExpired, ErrorKind::Ambiguous),
            (Action::List, Zk::ConnectionLoss, ErrorKind::Unreachable),
            (Action::Check, Zk::ConnectionLoss, ErrorKind::Unreachable),
            (Action::Create, Zk::NoAuth, ErrorKind::Denied),
            (Action::Create, Zk::NoNode, ErrorKind::Unreachable),
            (Action::Create, Zk::QuotaExceeded, ErrorKind::Unreachable),
        ] {
            assert_eq!(fault(action, "/e", error).kind(), kind);
        }
        let text = fault(Action::Create, "/a/b", Zk::NoAuth).to_string();
        assert!(text.contains("/a/b") && text.contains("right to create"), "{text}");
    }
}
