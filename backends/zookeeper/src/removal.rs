//! The entry of a leader, for whoever wants it away. It is known by the transaction that made its node, which is
//! its token.

use elect_api::{Error, Token};
use zookeeper_client::Stat;

use crate::client::Client;
use crate::directory::Directory;

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
