//! Cells: one node each, beside the elections. A cell's node may not exist yet.

use std::sync::Arc;

use elect_api::{
    Cell, ElectionName, Error, ErrorKind, If, Token, Versioned, WatchedCell, Written, never,
};
use zookeeper_client::{CheckWriteError, CreateMode, Error as Zk, MultiWriteError, Stat};

use crate::client::{Client, Step};
use crate::directory::{Directory, make_above};
use crate::error::{Action, fault};
use crate::settings::Settings;
use crate::watch::NodeWatch;

/// More than the number of writers that one leader has at once.
const TRIES: usize = 8;

/// The content of a node, and the watch for its change.
pub(crate) struct Watched {
    pub(crate) cell: Versioned,
    pub(crate) watch: NodeWatch,
}

/// Reads the node as this server has it. Two requests, sent at once by the first poll. One sets a watch on the node,
/// whether it exists or not, and the other reads it.
pub(crate) async fn read_watched(client: &Client, path: &str) -> Result<Watched, Zk> {
    let (exists, get) = (client.check_and_watch_stat(path), client.get_data(path));
    let (_, watcher) = exists.await?;
    let content = match get.await {
        Ok(content) => Some(content),
        Err(Zk::NoNode) => None,
        Err(error) => return Err(error),
    };
    Ok(Watched { cell: of(content), watch: NodeWatch::new(client, path.to_owned(), watcher) })
}

/// Reads the node as the ensemble has it, also from a server that lags behind. One more request, sent at the same time.
async fn read_watched_of_all(client: &Client, path: &str) -> Result<Watched, Error> {
    let sync = client.sync(path);
    let read = read_watched(client, path);
    let (synced, found) = tokio::join!(sync, read);
    synced.and(found).map_err(|error| fault(Action::Read, path, error))
}

/// Returns the content of a node as the ensemble has it; `None` if the node is missing. Two requests, sent at once,
/// without a watch.
async fn peek(client: &Client, path: &str) -> Result<Option<(Vec<u8>, Stat)>, Error> {
    let (sync, get) = (client.sync(path), client.get_data(path));
    match sync.await.and(get.await) {
        Ok(content) => Ok(Some(content)),
        Err(Zk::NoNode) => Ok(None),
        Err(error) => Err(fault(Action::Read, path, error)),
    }
}

/// Returns the content of a cell as the ensemble has it.
pub(crate) async fn read(client: &Client, path: &str) -> Result<Versioned, Error> {
    peek(client, path).await.map(of)
}

fn of(content: Option<(Vec<u8>, Stat)>) -> Versioned {
    content
        .map_or_else(Versioned::default, |(bytes, stat)| Versioned::found(bytes, version_of(&stat)))
}

/// The transaction that wrote the cell. Unlike a node's own count of writes, it goes on rising when the node is made
/// anew.
const fn version_of(stat: &Stat) -> u64 {
    stat.mzxid.cast_unsigned()
}

/// Writes a cell if the condition holds.
pub(crate) async fn write(
    client: &Client,
    directory: &Directory,
    path: &str,
    bytes: &[u8],
    condition: If,
) -> Result<Written, Error> {
    match condition {
        If::Version(version) => {
            write_over(client, directory.settings(), path, bytes, version).await
        }
        If::Leads(token) => write_for(client, directory, path, bytes, token).await,
    }
}

/// Replaces a cell that has this version.
async fn write_over(
    client: &Client,
    settings: &Settings,
    path: &str,
    bytes: &[u8],
    version: u64,
) -> Result<Written, Error> {
    let present = peek(client, path).await?.map(|(_, stat)| stat);
    if present.as_ref().map_or(0, version_of) != version {
        return Ok(Written::Overtaken);
    }
    let failed = |error| fault(Action::Write, path, error);
    let written = if let Some(stat) = present {
        client.set_data(path, bytes, stat.version).await
    } else {
        make_above(client, settings, path).await?;
        let options = settings.options(client, CreateMode::Persistent, path).await;
        let created = client.create(path, bytes, options).await;
        created.map(|(stat, _)| stat)
    };
    match written {
        Ok(stat) => Ok(Written::Yes(version_of(&stat))),
        Err(Zk::BadVersion | Zk::NodeExists) => Ok(Written::Overtaken),
        // The election was forgotten during the write.
        Err(error @ Zk::NoNode) => Err(failed(error).with_kind(ErrorKind::Unreachable)),
        Err(error) => Err(failed(error)),
    }
}

/// Writes a cell if the entry that the transaction `token` made is the first.
///
/// The function first asks for the name of that node, because only its candidate knows the name. The first entry stays
/// the first as long as it exists, and no other node ever has its name. So the write has to check only that the node
/// exists. It also checks the version of the cell. So a write of an earlier attempt is carried out before this one, or
/// not at all.
async fn write_for(
    client: &Client,
    directory: &Directory,
    path: &str,
    bytes: &[u8],
    token: Token,
) -> Result<Written, Error> {
    let settings = directory.settings();
    for _ in 0..TRIES {
        let Some(node) = directory.led_by(client, token).await? else {
            return Ok(Written::Gone(format!("no entry with token {token} leads")));
        };
        let entry = directory.path_of(&node);
        // As new as the list of entries, for which the server caught up with the ensemble.
        let stat = client.check_stat(path).await;
        let stat = stat.map_err(|error| fault(Action::Read, path, error))?;
        let written = if let Some(stat) = stat {
            while_there(client, &entry, Step::set(path, bytes, Some(stat.version))).await
        } else {
            make_above(client, settings, path).await?;
            let options = settings.options(client, CreateMode::Persistent, path).await;
            while_there(client, &entry, Step::create(path, bytes, options)).await
        };
        match written {
            Ok(()) => return Ok(Written::Yes(0)),
            // The entry is gone, or the cell has changed: the next round finds out.
            Err(
                CheckWriteError::CheckFailed { source: Zk::NoNode }
                | CheckWriteError::OperationFailed {
                    source: Zk::BadVersion | Zk::NodeExists | Zk::NoNode,
                    ..
                },
            ) => {}
            Err(error) => return Err(fault(Action::Write, path, error.into())),
        }
    }
    Err(changes(path))
}

fn changes(path: &str) -> Error {
    let what = format!("{path} changes as we write it: trying again helps");
    Error::new(ErrorKind::Unreachable, what)
}

/// Carries out a step if the node of the path `proof` is there.
async fn while_there(client: &Client, proof: &str, step: Step) -> Result<(), CheckWriteError> {
    Ok(client.multi(vec![Step::check(proof), step]).await?)
}

/// The cells of one election, for a leader's seat.
pub(crate) struct Cells {
    settings: Arc<Settings>,
    election: ElectionName,
    /// The watch on the cell that was read last.
    watch: Option<NodeWatch>,
}

impl Cells {
    pub(crate) const fn new(settings: Arc<Settings>, election: ElectionName) -> Self {
        Self { settings, election, watch: None }
    }

    fn path_of(&self, cell: Cell<'_>) -> String {
        self.settings.path_of_cell(&self.election, cell)
    }

    /// Reads a cell as the ensemble has it, and watches it if its changes wake.
    pub(crate) async fn read(
        &mut self,
        client: &Client,
        cell: Cell<'_>,
    ) -> Result<WatchedCell, Error> {
        let path = self.path_of(cell);
        if !cell.is_watched() {
            return Ok(WatchedCell { bytes: read(client, &path).await?.bytes, wake: never() });
        }
        let Watched { cell, watch } = read_watched_of_all(client, &path).await?;
        let wake = self.watch.insert(watch).wake();
        Ok(WatchedCell { bytes: cell.bytes, wake })
    }

    /// Writes a cell if the node of this path is there, in one step.
    pub(crate) async fn write(
        &self,
        client: &Client,
        proof: &str,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<Written, Error> {
        let path = self.path_of(cell);
        match while_there(client, proof, Step::set(&path, bytes, None)).await {
            Err(CheckWriteError::OperationFailed { source: Zk::NoNode, .. }) => {}
            other => return written(&path, proof, other),
        }
        // The cell's node is missing. There is one leader, so no other candidate makes the node meanwhile.
        make_above(client, &self.settings, &path).await?;
        let options = self.settings.options(client, CreateMode::Persistent, &path).await;
        let created = while_there(client, proof, Step::create(&path, bytes, options)).await;
        written(&path, proof, created)
    }

    /// Removes the node of this path and writes a cell, in one step.
    pub(crate) async fn write_removing(
        &self,
        client: &Client,
        node: &str,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let path = self.path_of(cell);
        let failed = |error: MultiWriteError| fault(Action::Delete, node, error.into());
        match client.multi(vec![Step::delete(node), Step::set(&path, bytes, None)]).await {
            Err(MultiWriteError::OperationFailed { index: 1, source: Zk::NoNode }) => {}
            other => return other.map_err(failed),
        }
        make_above(client, &self.settings, &path).await?;
        let options = self.settings.options(client, CreateMode::Persistent, &path).await;
        let create = Step::create(&path, bytes, options);
        client.multi(vec![Step::delete(node), create]).await.map_err(failed)
    }
}

/// Returns the result of a write to a cell, on the condition that the node of the path `proof` is there.
fn written(
    path: &str,
    proof: &str,
    outcome: Result<(), CheckWriteError>,
) -> Result<Written, Error> {
    match outcome {
        Ok(()) => Ok(Written::Yes(0)),
        Err(CheckWriteError::CheckFailed { source: Zk::NoNode }) => {
            Ok(Written::Gone(format!("{proof} was removed")))
        }
        // The cell was removed by hand, or another candidate leads and made it. The next attempt finds out.
        Err(CheckWriteError::OperationFailed { source: Zk::NoNode | Zk::NodeExists, .. }) => {
            Err(changes(path))
        }
        Err(error) => Err(fault(Action::Write, path, error.into())),
    }
}
