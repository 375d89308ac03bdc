//! The entry of a leader, for whoever wants it away. It is known by the transaction that made its node, which is
//! its token.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Ending, Error, ErrorKind, Token};
use tokio::time::timeout;
use zookeeper_client::Stat;

use crate::client::Client;
use crate::connect;
use crate::directory::Directory;
use crate::settings::Settings;

/// Longer than servers grant that are set up as usual.
const ENDLESS: Duration = Duration::from_secs(24 * 60 * 60);
/// For a session.
const PATIENCE: Duration = Duration::from_secs(6);

/// What the node of a container has as its owner.
const CONTAINER: i64 = i64::MIN;

pub(crate) async fn ending(
    client: &Client,
    settings: &Arc<Settings>,
    directory: &Directory,
    token: Token,
) -> Result<Option<Ending>, Error> {
    let Some((_, stat)) = find(client, directory, token).await? else { return Ok(None) };
    if matches!(stat.ephemeral_owner, 0 | CONTAINER) {
        return Ok(Some(Ending::Never));
    }
    let longest = longest_session(settings).await?;
    // Sessions end in turns of a tick, of which the longest has twenty where nobody set it otherwise.
    Ok(Some(Ending::Within(longest + longest / 4)))
}

/// Nobody is told how long another's session lasts without a word, and no session lasts longer than this.
async fn longest_session(settings: &Arc<Settings>) -> Result<Duration, Error> {
    let open = connect::connect(settings, settings.cluster(), ENDLESS);
    let what = || format!("{} grants no session", settings.location);
    let client = match timeout(PATIENCE, open).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => return Err(Error::new(ErrorKind::Unreachable, what()).because(error)),
        Err(_) => return Err(Error::new(ErrorKind::Unreachable, what() + " in time")),
    };
    let longest = client.session_timeout();
    let _ = timeout(PATIENCE, connect::close(client)).await;
    Ok(longest)
}

pub(crate) async fn remove(
    client: &Client,
    directory: &Directory,
    token: Token,
) -> Result<(), Error> {
    match find(client, directory, token).await? {
        Some((node, _)) => directory.remove(client, &[node]).await,
        None => Ok(()),
    }
}

/// The candidate's node that this transaction made. A name is given once only, as long as the election is not
/// removed and made anew.
async fn find(
    client: &Client,
    directory: &Directory,
    token: Token,
) -> Result<Option<(String, Stat)>, Error> {
    let Some(queue) = directory.queue(client).await? else { return Ok(None) };
    // Whose order is not ours has another leader.
    directory.check(&queue)?;
    for node in queue.names() {
        match directory.look(client, node).await? {
            Some(stat) if stat.czxid.cast_unsigned() == token.get() => {
                return Ok(Some((node.to_owned(), stat)));
            }
            _ => {}
        }
    }
    Ok(None)
}
