use std::str::FromStr;

use elect_api::{
    Cell, ElectionName, Ending, Entry, Error, ErrorKind, Keys, Leader, Scope, Survey, Token,
};
use zookeeper_client::{Error as Zk, Stat};

use crate::client::Client;
use crate::directory::Directory;
use crate::entry;
use crate::error::{Action, fault};
use crate::settings::Settings;

/// The longest data of a candidate's node, in bytes. A longer one is shown by its name. Any program may write there.
const LONGEST: usize = 1 << 14;
/// The most bytes of all entries together: some 30,000 candidates have as many.
const MOST_BYTES: usize = 8 << 20;
/// The owner of a container node.
const CONTAINER: i64 = i64::MIN;
/// The most requests that wait for their answers at one time.
const AT_ONCE: usize = 256;

/// Reads the leader and the waiting candidates of one election. Only reads, and leaves no watch behind.
pub(crate) async fn survey(client: &Client, directory: &Directory) -> Result<Survey, Error> {
    let Some(queue) = directory.queue(client).await? else { return Ok(Survey::default()) };
    // An election whose candidates have another layout is not empty.
    directory.check(&queue)?;
    let nodes: Vec<(&str, String)> =
        queue.names().map(|node| (node, directory.path_of(node))).collect();
    if nodes.len() > Survey::MOST {
        return Err(directory.overfull(format_args!("{} candidates", Survey::MOST)));
    }
    let (mut found, mut bytes) = (Vec::new(), 0);
    for some in nodes.chunks(AT_ONCE) {
        found.extend(entries(client, some, &mut bytes).await?);
        if bytes > MOST_BYTES {
            return Err(directory.overfull(format_args!("{MOST_BYTES} bytes")));
        }
    }
    Ok(in_order(found))
}

/// Returns the entries of these nodes, each given with its path, if they still exist. Adds their lengths to `bytes`.
async fn entries(
    client: &Client,
    nodes: &[(&str, String)],
    bytes: &mut usize,
) -> Result<Vec<(Entry, Stat)>, Error> {
    let failed = |path: &str, error| fault(Action::Read, path, error);
    // All requests are sent before the first answer is awaited.
    let looks: Vec<_> = nodes.iter().map(|(_, path)| client.check_stat(path)).collect();
    let mut asked = Vec::new();
    for ((node, path), look) in nodes.iter().zip(looks) {
        let Some(stat) = look.await.map_err(|error| failed(path, error))? else { continue };
        let is_read = usize::try_from(stat.data_length).is_ok_and(|length| length <= LONGEST);
        asked.push((node, path, stat, is_read.then(|| client.get_data(path))));
    }
    let mut found = Vec::new();
    for (node, path, stat, data) in asked {
        let data = match data {
            None => Vec::new(),
            Some(data) => match data.await {
                Ok((data, _)) => data,
                Err(Zk::NoAuth) => Vec::new(),
                Err(Zk::NoNode) => continue,
                Err(error) => return Err(failed(path, error)),
            },
        };
        *bytes += data.len();
        found.push((entry::read(node, &data, stat.czxid, Some(stat.ctime)), stat));
    }
    Ok(found)
}

fn in_order(found: Vec<(Entry, Stat)>) -> Survey {
    let mut found = found.into_iter();
    let leader = found.next().map(|(entry, stat)| Leader {
        ending: Some(match stat.ephemeral_owner {
            0 | CONTAINER => Ending::Never,
            _ => Ending::Granted,
        }),
        ..Leader::new(entry, Token::new(stat.czxid.cast_unsigned()))
    });
    Survey { leader, waiting: found.map(|(entry, _)| entry).collect() }
}

/// Returns the names of all elections in the directory, in order.
pub(crate) async fn elections(
    client: &Client,
    settings: &Settings,
    scope: Scope,
) -> Result<Vec<ElectionName>, Error> {
    match scope {
        Scope::Entered => names_in(client, &settings.directory).await,
        Scope::Asked => asked(client, settings).await,
        Scope::Kept => {
            let mut names = unless_denied(names_in(client, &settings.path_of_all_notes()).await)?;
            names.extend(unless_denied(names_in(client, &settings.path_of_all_data()).await)?);
            names.sort();
            names.dedup();
            Ok(names)
        }
    }
}

/// Returns no names instead of a refusal: cells that this user may not read do not concern this user.
fn unless_denied(names: Result<Vec<ElectionName>, Error>) -> Result<Vec<ElectionName>, Error> {
    match names {
        Err(error) if error.kind() == ErrorKind::Denied => Ok(Vec::new()),
        other => other,
    }
}

/// Returns the names under which an election keeps fences and values.
pub(crate) async fn keys(
    client: &Client,
    settings: &Settings,
    election: &ElectionName,
) -> Result<Keys, Error> {
    let data = settings.path_of_data(election);
    let (fence, value) = (format!("{data}/fence"), format!("{data}/value"));
    Ok(Keys { fences: names_in(client, &fence).await?, values: names_in(client, &value).await? })
}

async fn asked(client: &Client, settings: &Settings) -> Result<Vec<ElectionName>, Error> {
    let mut names = unless_denied(names_in(client, &settings.path_of_all_notes()).await)?;
    let paths: Vec<String> =
        names.iter().map(|name| settings.path_of_cell(name, Cell::Control)).collect();
    // All requests are sent before the first answer is awaited.
    let asked: Vec<_> = paths.iter().map(|path| client.check_stat(path)).collect();
    let mut there = Vec::new();
    for (path, stat) in paths.iter().zip(asked) {
        there.push(stat.await.map_err(|error| fault(Action::Read, path, error))?.is_some());
    }
    let mut there = there.into_iter();
    names.retain(|_| there.next() == Some(true));
    Ok(names)
}

/// Returns the children of a node whose names parse as `T`, in order.
async fn names_in<T: FromStr + Ord>(client: &Client, path: &str) -> Result<Vec<T>, Error> {
    let (sync, list) = (client.sync(path), client.list_children(path));
    sync.await.map_err(|error| fault(Action::List, path, error))?;
    let children = match list.await {
        Ok(children) => children,
        Err(Zk::NoNode) => return Ok(Vec::new()),
        Err(error) => return Err(fault(Action::List, path, error)),
    };
    let mut names: Vec<T> = children.into_iter().filter_map(|child| child.parse().ok()).collect();
    names.sort();
    Ok(names)
}
