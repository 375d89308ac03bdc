//! Establishes a session, at the first server that accepts the client and belongs to the expected store.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Error, ErrorKind};
use zookeeper_client::Error as Zk;

use crate::client::Client;
use crate::connect::{close, connect, patience};
use crate::error::not_let_in;
use crate::settings::Settings;
use crate::{identity, probe};

/// The least time for finding out what is wrong with a server.
const PROBE: Duration = Duration::from_secs(2);

/// The number of attempts with servers that are there, but slow.
const ROUNDS: usize = 3;

/// Establishes a session that asks for this timeout, at the first server that accepts the client. `is_first` says that
/// there was no session before, so the URL may be wrong.
///
/// # Errors
/// The trouble of each server, as far as the probe can find it out.
///
/// # Cancellation
/// Leaves nothing behind but, at most, a session without an entry, which ends by itself.
pub(crate) async fn dial(
    settings: Arc<Settings>,
    timeout: Duration,
    is_first: bool,
) -> Result<Client, Error> {
    for _ in 0..ROUNDS {
        let (connected, is_divided) = tokio::join!(
            connect(&settings, settings.cluster(), timeout),
            identity::may_be_divided(&settings)
        );
        if is_divided {
            identity::compare(&settings, timeout).await?;
        }
        let error = match connected {
            Ok(client) => match identity::greet(&settings.location, &client, &settings).await {
                Ok(()) => return Ok(client),
                Err(error) => {
                    close(client).await;
                    return identity::find(&settings, timeout, is_first, error).await;
                }
            },
            Err(error @ Zk::AuthFailed) => {
                let refusal = not_let_in(&settings.location, settings.login.is_some());
                return Err(refusal.because(error));
            }
            Err(error) => error,
        };
        probe::explain(&settings, patience(timeout).max(PROBE), is_first, error).await?;
    }
    let what = format!("{} answers, but grants no session in time", settings.location);
    Err(Error::new(ErrorKind::Unreachable, what))
}
