use elect_api::{ElectionName, Error, ErrorKind};
use zookeeper_client::Error as Zk;

use crate::client::Client;
use crate::error::{Action, fault};
use crate::settings::Settings;

/// Removes the node of an election that nobody is in, and its cells. One request after another.
pub(crate) async fn forget(
    client: &Client,
    settings: &Settings,
    election: &ElectionName,
) -> Result<(), Error> {
    let path = settings.path_of(election);
    if !remove(client, &path).await? {
        let what =
            format!("somebody is in the election {election}, or something else is in {path}");
        return Err(Error::new(ErrorKind::Unreachable, what));
    }
    let data = settings.path_of_data(election);
    let (fences, values) = (format!("{data}/fence"), format!("{data}/value"));
    for above in [&settings.path_of_notes(election), &fences, &values, &data] {
        remove_with_children(client, above).await?;
    }
    Ok(())
}

async fn remove_with_children(client: &Client, above: &str) -> Result<(), Error> {
    let children = match client.list_children(above).await {
        Ok(children) => children,
        Err(Zk::NoNode) => return Ok(()),
        Err(error) => return Err(fault(Action::List, above, error)),
    };
    for child in children {
        remove(client, &format!("{above}/{child}")).await?;
    }
    remove(client, above).await.map(drop)
}

/// Removes the directory of all elections as far as it is empty. ZooKeeper would do that by itself, some time
/// later, as it is a container.
pub(crate) async fn forget_directory(client: &Client, settings: &Settings) -> Result<(), Error> {
    for path in [&settings.path_of_all_notes(), &settings.path_of_all_data(), &settings.directory] {
        remove(client, path).await?;
    }
    Ok(())
}

/// Whether the directory of all elections is there.
pub(crate) async fn has_directory(client: &Client, settings: &Settings) -> Result<bool, Error> {
    let path = &settings.directory;
    let stat = client.check_stat(path).await;
    stat.map(|stat| stat.is_some()).map_err(|error| fault(Action::Read, path, error))
}

/// Removes a node if it has no children; whether it is gone.
async fn remove(client: &Client, path: &str) -> Result<bool, Error> {
    match client.delete(path).await {
        Ok(()) | Err(Zk::NoNode) => Ok(true),
        Err(Zk::NotEmpty) => Ok(false),
        Err(error) => Err(fault(Action::Delete, path, error)),
    }
}
