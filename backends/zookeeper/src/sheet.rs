//! A node beside the elections that holds a text, and may not be there yet: a note, orders, a fence, a value.

use elect_api::Error;
use zookeeper_client::{Error as Zk, Stat};

use crate::client::Client;
use crate::fault::{Action, fault};
use crate::watch::Watch;

/// What a sheet says, and what tells of its change.
pub(crate) struct Sheet {
    /// `None` if there is none.
    pub(crate) content: Option<(Vec<u8>, Stat)>,
    pub(crate) watch: Watch,
}

/// What a server has at present. Two requests, sent at once by the first poll: one has us told when the sheet
/// comes, changes or goes, whether it is there or not, and the other reads what there is by then.
pub(crate) async fn look(client: &Client, path: &str) -> Result<Sheet, Zk> {
    let (exists, get) = (client.check_and_watch_stat(path), client.get_data(path));
    let (_, watcher) = exists.await?;
    let content = match get.await {
        Ok(content) => Some(content),
        Err(Zk::NoNode) => None,
        Err(error) => return Err(error),
    };
    Ok(Sheet { content, watch: Watch::new(client, path.to_owned(), watcher) })
}

/// What a sheet is as the ensemble has it; `None` if there is none. Two requests, sent at once, and none is left to be
/// told of a change.
pub(crate) async fn peek(client: &Client, path: &str) -> Result<Option<(Vec<u8>, Stat)>, Error> {
    let (sync, get) = (client.sync(path), client.get_data(path));
    match sync.await.and(get.await) {
        Ok(content) => Ok(Some(content)),
        Err(Zk::NoNode) => Ok(None),
        Err(error) => Err(fault(Action::Read, path, error)),
    }
}

/// What it says: see [`peek`].
pub(crate) async fn content(client: &Client, path: &str) -> Result<Option<Vec<u8>>, Error> {
    Ok(peek(client, path).await?.map(|(text, _)| text))
}

/// What the ensemble has, and not a server that lags behind it: a request more, sent at the same time.
pub(crate) async fn read(client: &Client, path: &str) -> Result<Sheet, Error> {
    let sync = client.sync(path);
    let look = look(client, path);
    let (synced, sheet) = tokio::join!(sync, look);
    synced.and(sheet).map_err(|error| fault(Action::Read, path, error))
}
