use std::sync::Arc;
use std::time::Duration;

use elect_api::{Error, ErrorKind, count_trip};
use zookeeper_client::{Connector, Error as Zk, SessionInfo};

use crate::client::Client;
use crate::settings::Settings;
use crate::task::Task;
use crate::{identity, probe, serving, session};

/// A silent server is left for another after this share of the session timeout. The library may try it once
/// more before it turns to the next: twice the share is so little that a leader is elsewhere while its proof
/// still holds, if S is not below 12 s.
const PATIENCE: u32 = 12;

/// Below this a server's collection of garbage would count as silence.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// For finding out what is wrong with a server, at the least.
const PROBE: Duration = Duration::from_secs(2);

/// How often servers are tried that are there, but slow.
const ROUNDS: usize = 3;

/// Establishes a session that asks for this timeout, at the first server that lets us in. `is_first` says
/// that there was none before, so that what is wrong may be the URL.
///
/// # Errors
/// What is wrong with each server, as far as it can be found out.
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
            identity::looks_divided(&settings)
        );
        if is_divided {
            identity::compare(&settings, timeout).await?;
        }
        let error = match connected {
            Ok(client) => match identity::greet(&settings.location, &client, &settings).await {
                Ok(()) => return Ok(client),
                Err(error) => {
                    session::close(client).await;
                    return identity::find(&settings, timeout, is_first, error).await;
                }
            },
            Err(error @ Zk::AuthFailed) => {
                let what = format!("{} does not take our user and password", settings.location);
                return Err(Error::new(ErrorKind::Denied, what).because(error));
            }
            Err(error) => error,
        };
        probe::explain(&settings, patience(timeout).max(PROBE), is_first, error).await?;
    }
    let what = format!("{} answers, but grants no session in time", settings.location);
    Err(Error::new(ErrorKind::Unreachable, what))
}

/// Why sessions may be shorter than this one, which was granted by a server that we have left since: one of
/// the servers that are there now grants less. Then ZooKeeper ends the session earlier than it said,
/// and the client library does not tell.
pub(crate) async fn shorter_grant(settings: Arc<Settings>, window: Duration) -> Option<String> {
    for host in &settings.hosts {
        let Ok(client) = connect(&settings, settings.spell(host), window).await else { continue };
        let granted = client.session_timeout();
        session::close(client).await;
        if granted < window {
            return Some(format!(
                "{host} grants sessions of {granted:?} only, ours has {window:?}: \
                 all servers are to have the same maxSessionTimeout"
            ));
        }
    }
    None
}

fn patience(timeout: Duration) -> Duration {
    (timeout / PATIENCE).max(LEAST_PATIENCE)
}

/// Establishes a session that asks for this timeout, at one of the servers of `cluster`.
pub(crate) async fn connect(
    settings: &Arc<Settings>,
    cluster: String,
    timeout: Duration,
) -> Result<Client, Zk> {
    begin(settings, cluster, timeout, zookeeper_client::Client::connector()).await
}

/// Goes on with a session that another client has left.
pub(crate) async fn resume(
    settings: &Arc<Settings>,
    session: SessionInfo,
    timeout: Duration,
) -> Result<Client, Zk> {
    let connector = zookeeper_client::Client::connector().with_session(session);
    begin(settings, settings.cluster(), timeout, connector).await
}

async fn begin(
    settings: &Arc<Settings>,
    cluster: String,
    timeout: Duration,
    connector: Connector,
) -> Result<Client, Zk> {
    let mut connector = connector
        .with_session_timeout(timeout)
        .with_connection_timeout(patience(timeout))
        .with_fail_eagerly();
    if let Some(credentials) = &settings.credentials {
        let both = format!("{}:{}", credentials.user, credentials.password.reveal());
        connector = connector.with_auth("digest", both.as_bytes());
    }
    if let Some(security) = &settings.security {
        connector = connector.with_tls(security.options());
    }
    let settings = Arc::clone(settings);
    count_trip("connect");
    let mut session = Task::start(async move {
        let is_secure = settings.security.is_some();
        let connect = async {
            if is_secure {
                connector.secure_connect(&cluster).await
            } else {
                connector.connect(&cluster).await
            }
        };
        serving::connect(connect, settings, patience(timeout)).await
    });
    session.outcome().await.unwrap_or_else(|fallen| Err(fallen.into()))
}
