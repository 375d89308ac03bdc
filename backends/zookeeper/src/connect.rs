//! Makes sessions at a server, resumes them, and closes them.

use std::sync::Arc;
use std::time::Duration;

use elect_api::count_trip;
use zookeeper_client::{Connector, Error as Zk, SessionInfo, SessionState};

use crate::client::Client;
use crate::login::Login;
use crate::serving;
use crate::settings::Settings;
use crate::task::Task;

/// The client leaves a silent server for another after this share of the session timeout. The library may try it once
/// more before it turns to the next. Twice the share is short enough: a leader has another server while its proof still
/// holds, if S is at least 12 s.
const PATIENCE: u32 = 12;

/// Below this a server's garbage collection would count as silence.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// Returns why this session may end early: one of the present servers grants shorter sessions than the server that
/// granted this one. Then ZooKeeper ends the session earlier than it promised, and the client library does not tell.
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

/// Returns how long a client waits for a silent server.
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

/// Resumes a session that another client has left, at one of the servers of `cluster`.
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

/// Closes the session of a client that has no other owner. A session without a connection ends by itself.
///
/// # Cancellation
/// The session is closed all the same, if the runtime goes on.
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
