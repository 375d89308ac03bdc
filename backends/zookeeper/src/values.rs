//! What leaders keep: a node for each value.

use elect_api::{Error, ErrorKind, Noted, Token};
use zookeeper_client::{CheckWriteError, CreateMode, Error as Zk};

use crate::client::{Client, Step};
use crate::directory::{Directory, make_above};
use crate::fault::{Action, fault};
use crate::note::while_there;
use crate::settings::Settings;

/// More than the writers that one leader has at once.
const TRIES: usize = 8;

/// Writes a value if the entry that the transaction `token` made is the first.
///
/// Which node that is has to be asked first, as only its candidate knows its name. Once it is the first it stays
/// that as long as it is there, and no other node ever has its name: so all that is left to check as the value is
/// written is that it is there. The version of the value is checked as well: what an earlier attempt has sent is
/// carried out before this one or not at all.
pub(crate) async fn write(
    client: &Client,
    settings: &Settings,
    directory: &Directory,
    token: Token,
    path: &str,
    value: &[u8],
) -> Result<Noted, Error> {
    for _ in 0..TRIES {
        let Some(entry) = leading(client, directory, token).await? else {
            return Ok(Noted::Gone(format!("no entry with token {token} leads")));
        };
        // As new as the look at the entries, which has made the server catch up.
        let stat = client.check_stat(path).await;
        let stat = stat.map_err(|error| fault(Action::Read, path, error))?;
        let written = if let Some(stat) = stat {
            while_there(client, &entry, Step::set(path, value, Some(stat.version))).await
        } else {
            make_above(client, settings, path).await?;
            let options = CreateMode::Persistent.with_acls(settings.acls());
            while_there(client, &entry, Step::create(path, value, options)).await
        };
        match written {
            Ok(()) => return Ok(Noted::Written),
            // The entry is gone, or the value has changed: which, the next look tells.
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
    let what = format!("{path} changes as we write it: trying again helps");
    Err(Error::new(ErrorKind::Unreachable, what))
}

/// The path of the first entry, if the transaction `token` made it.
async fn leading(
    client: &Client,
    directory: &Directory,
    token: Token,
) -> Result<Option<String>, Error> {
    let Some(queue) = directory.queue(client).await? else { return Ok(None) };
    directory.check(&queue)?;
    let Some(first) = queue.names().next() else { return Ok(None) };
    let stat = directory.look(client, first).await?;
    let is_ours = stat.is_some_and(|stat| stat.czxid.cast_unsigned() == token.get());
    Ok(is_ours.then(|| directory.path_of(first)))
}
