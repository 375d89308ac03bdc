//! The proof that the candidate's node is there.

use elect_api::{Boottime, Error};
use zookeeper_client::{CheckWriteError, Error as Zk};

use crate::client::{Client, Step};
use crate::error::{Action, ends_session, fault, loses_connection};
use crate::link::SessionSeat;

/// The quorum's answer about the candidate's node.
pub(super) enum Proof {
    Held,
    Missing,
    SessionEnded(String),
}

/// Asks the quorum whether the candidate's node is there.
///
/// The question changes nothing. So if the connection is lost, it is sent once more on the next connection: a leader
/// that was connected to a dying server has no time to spare. The answer counts from `now` all the same.
pub(super) async fn prove(
    client: &Client,
    link: &mut SessionSeat,
    now: Boottime,
    path: &str,
) -> Result<Proof, Error> {
    let mut answer = ask_quorum(client, path).await;
    if answer.as_ref().is_err_and(loses_connection) {
        answer = ask_quorum(client, path).await;
    }
    match answer {
        Ok(true) => {
            if let Some(session) = link.established() {
                session.confirmed(now);
            }
            Ok(Proof::Held)
        }
        Ok(false) => Ok(Proof::Missing),
        Err(error) if ends_session(&error) => Ok(Proof::SessionEnded(error.to_string())),
        Err(error) => Err(fault(Action::Check, path, error)),
    }
}

/// Sends a quorum write that changes nothing, and fails if the node is missing.
async fn ask_quorum(client: &Client, path: &str) -> Result<bool, Zk> {
    match client.multi(vec![Step::check(path)]).await.map_err(CheckWriteError::from) {
        Ok(()) => Ok(true),
        Err(CheckWriteError::CheckFailed { source: Zk::NoNode }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
