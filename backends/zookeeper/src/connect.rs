//! Sessions, made at a server, gone on with, and closed.

use std::sync::Arc;
use std::time::Duration;

use elect_api::count_trip;
use zookeeper_client::{Connector, Error as Zk, SessionInfo, SessionState};

use crate::client::Client;
use crate::login::Login;
use crate::serving;
use crate::settings::Settings;
use crate::task::Task;

/// A silent server is left for another after this share of the session timeout. The library may try it once
/// more before it turns to the next: twice the share is so little that a leader is elsewhere while its proof
/// still holds, if S is not below 12 s.
const PATIENCE: u32 = 12;

/// Below this a server's collection of garbage would count as silence.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// Why sessions may be shorter than this one, which was granted by a server that we have left since: one of
/// the servers that are there now grants less. Then ZooKeeper ends the session earlier than it said,
/// and the client library does not tell.
pub(crate) async fn shorter_grant(settings: Arc<Settings>, window: Duration) -> Option<String> {
    for host in &settings.hosts {
        let Ok(client) = connect(&settings, settings.spell(host), window).await else { continue };
        let granted = client.session_timeout();
        close(client).await;
        if granted < window {
            return Some(format!(
                "{host} grants sessions of {granted:?} only, ours has {window:?}: \
                 all servers are to have the same maxSessionTimeout"
            ));
        }
    }
    None
}

/// How long a silent server is waited for.
pub(crate) fn patience(timeout: Duration) -> Duration {
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

/// Goes on with a session that another client has left, at one of the servers of `cluster`.
pub(crate) async fn resume(
    settings: &Arc<Settings>,
    cluster: String,
    session: SessionInfo,
    timeout: Duration,
) -> Result<Client, Zk> {
    let connector = zookeeper_client::Client::connector().with_session(session);
    begin(settings, cluster, timeout, connector).await
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
    settings.login.iter().for_each(Login::renew);
    let (renewals, logins) = settings.login.as_ref().map(Login::all).unwrap_or_default();
    for login in logins {
        connector = connector.with_auth(Login::SCHEME, login.as_bytes());
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
        let client = serving::connect(connect, settings, patience(timeout)).await?;
        client.knows_us(renewals);
        Ok(client)
    });
    session.outcome().await.unwrap_or_else(|fallen| Err(fallen.into()))
}

/// Closes the session of a client that nobody else has. One without a connection ends by itself.
///
/// # Cancellation
/// It is closed all the same, if the runtime goes on.
pub(crate) async fn close(client: Client) {
    let (mut states, falls) = (client.state_watcher(), client.falls());
    let mut state = client.state();
    drop(client);
    let closed = async {
        while state == SessionState::SyncConnected {
            state = states.changed().await;
        }
    };
    tokio::select! {
        () = closed => {}
        () = falls => {}
    }
}
