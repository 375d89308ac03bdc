use elect_api::{ElectionName, Error, ErrorKind};
use zookeeper_client::{Client, Error as Zk};

use crate::fault::{Action, fault};
use crate::settings::Settings;
use crate::trips::Counted;

/// What ZooKeeper shows as the owner of a container.
const CONTAINER: i64 = i64::MIN;

/// Removes the node of an election that nobody is in, its notes, and the containers above that are empty
/// then: ZooKeeper would remove those by itself, some time later. One request after another.
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
    let notes = settings.path_of_notes(election);
    let children = match client.counting("get_children").list_children(&notes).await {
        Ok(children) => children,
        Err(Zk::NoNode) => Vec::new(),
        Err(error) => return Err(fault(Action::List, &notes, error)),
    };
    for child in children {
        remove(client, &format!("{notes}/{child}")).await?;
    }
    remove(client, &notes).await?;
    for path in [&notes, &path] {
        remove_containers_above(client, path).await?;
    }
    Ok(())
}

/// Removes a node if it has no children; whether it is gone.
async fn remove(client: &Client, path: &str) -> Result<bool, Error> {
    match client.counting("delete").delete(path, None).await {
        Ok(()) | Err(Zk::NoNode) => Ok(true),
        Err(Zk::NotEmpty) => Ok(false),
        Err(error) => Err(fault(Action::Delete, path, error)),
    }
}

async fn remove_containers_above(client: &Client, path: &str) -> Result<(), Error> {
    let mut here = path;
    while let Some((above, _)) = here.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
        let stat = client.counting("exists").check_stat(above).await;
        let stat = stat.map_err(|error| fault(Action::Read, above, error))?;
        match stat {
            // Somebody else made it, and means it to stay.
            Some(stat) if stat.ephemeral_owner != CONTAINER => return Ok(()),
            // What we may not remove is removed in time.
            Some(_) if !matches!(remove(client, above).await, Ok(true)) => return Ok(()),
            _ => here = above,
        }
    }
    Ok(())
}
