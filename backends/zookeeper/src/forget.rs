use elect_api::{ElectionName, Error, ErrorKind, Removal};
use zookeeper_client::{Error as Zk, MultiWriteError};

use crate::client::{Client, Step};
use crate::error::{Action, fault};
use crate::settings::Settings;

/// Removes the node of an election without candidates, and its cells, in one step. A candidate that joins meanwhile
/// keeps everything. If ZooKeeper has removed the election's node already, the election has only cells. An election
/// with fences stays unless its fences may go.
///
/// A fence that is set after the reads below keeps everything as well: a node with another child is not removed.
pub(crate) async fn forget(
    client: &Client,
    settings: &Settings,
    election: &ElectionName,
    may_lose_fences: bool,
) -> Result<(), Error> {
    let path = settings.path_of(election);
    let mut nodes = Vec::new();
    let stat = client.check_stat(&path).await;
    let is_there = stat.map_err(|error| fault(Action::Read, &path, error))?.is_some();
    nodes.extend(is_there.then(|| path.clone()));
    let data = settings.path_of_data(election);
    let (fences, values) = (format!("{data}/fence"), format!("{data}/value"));
    let above_fences = format!("{fences}/");
    for above in [settings.path_of_notes(election), fences, values, data] {
        for node in with_children(client, above).await? {
            if let Some(fence) = node.strip_prefix(&above_fences)
                && !may_lose_fences
            {
                return Err(Removal::refuse_fence(election, fence));
            }
            // The folders of fences and values are children of the data folder too.
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
    }
    if nodes.is_empty() {
        return Ok(());
    }
    let steps = nodes.iter().map(|node| Step::delete(node)).collect();
    match client.multi(steps).await {
        Ok(()) => Ok(()),
        Err(MultiWriteError::OperationFailed { index: 0, source: Zk::NotEmpty }) if is_there => {
            let what = format!(
                "a candidate is in the election {election}, or something else is in {path}"
            );
            Err(Error::new(ErrorKind::Unreachable, what))
        }
        Err(MultiWriteError::OperationFailed { source: Zk::NotEmpty, .. }) => {
            let what = format!("the election {election} was written to while it was removed");
            Err(Error::new(ErrorKind::Unreachable, what))
        }
        Err(error) => Err(fault(Action::Delete, &path, error.into())),
    }
}

/// Returns the children of a node, and then the node: the order in which they can be removed.
async fn with_children(client: &Client, above: String) -> Result<Vec<String>, Error> {
    match client.list_children(&above).await {
        Ok(children) => {
            let children = children.into_iter().map(|child| format!("{above}/{child}"));
            Ok(children.chain([above.clone()]).collect())
        }
        Err(Zk::NoNode) => Ok(Vec::new()),
        Err(error) => Err(fault(Action::List, &above, error)),
    }
}

/// Removes the directory of all elections as far as it is empty. It is a container, so ZooKeeper would also remove it,
/// some time later.
pub(crate) async fn forget_directory(client: &Client, settings: &Settings) -> Result<(), Error> {
    for path in [&settings.path_of_all_notes(), &settings.path_of_all_data(), &settings.directory] {
        remove(client, path).await?;
    }
    Ok(())
}

/// Returns whether the directory of all elections exists.
pub(crate) async fn has_directory(client: &Client, settings: &Settings) -> Result<bool, Error> {
    let path = &settings.directory;
    let stat = client.check_stat(path).await;
    stat.map(|stat| stat.is_some()).map_err(|error| fault(Action::Read, path, error))
}

/// Removes a node if it has no children. Returns whether it is gone.
async fn remove(client: &Client, path: &str) -> Result<bool, Error> {
    match client.delete(path).await {
        Ok(()) | Err(Zk::NoNode) => Ok(true),
        Err(Zk::NotEmpty) => Ok(false),
        Err(error) => Err(fault(Action::Delete, path, error)),
    }
}
