//! Checks which store a session leads to.
//!
//! A session stays with the servers that granted it: other servers do not know it, and end it. So one check for each
//! session is enough. The first session of a process reads the id beside its other requests. A store without an id gets
//! one with its first entry. Each later session is checked before its use.

use std::sync::Arc;
use std::time::Duration;

use elect_api::StoreId;
use elect_api::{Error, ErrorKind};
use elect_remote::Host;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zookeeper_client::{CreateMode, Error as Zk};

use crate::cells;
use crate::client::Client;
use crate::connect::{close, connect};
use crate::directory::make;
use crate::error::{Action, fault};
use crate::probe::{Diagnosis, examine};
use crate::settings::Settings;

/// Returns whether this process does not know the store's id yet, and may read it.
pub(crate) fn is_open(settings: &Settings) -> bool {
    settings.identity.expected().is_none() && settings.identity.is_readable()
}

/// Reads the id of the store in the first session, and keeps it as the expected one. One request.
pub(crate) async fn learn(client: &Client, settings: &Settings) -> Result<(), Error> {
    let path = settings.path_of_store_id();
    match client.get_data(&path).await {
        Ok((text, _)) => admit(settings, &settings.location, &text),
        Err(Zk::NoNode) => Ok(()),
        Err(Zk::NoAuth) => {
            settings.identity.note_refusal();
            Ok(())
        }
        Err(error) => Err(fault(Action::Read, &path, error)),
    }
}

/// Gives the store an id, unless another candidate was faster. Several requests.
pub(crate) async fn found(client: &Client, settings: &Settings) -> Result<(), Error> {
    let path = settings.path_of_store_id();
    make(client, settings, &settings.directory).await?;
    let options = settings.options(client, CreateMode::Persistent, &path).await;
    let id = StoreId::fresh();
    match client.create(&path, id.as_str().as_bytes(), options).await {
        Ok(_) => settings.identity.admit(&settings.location, Some(&id)),
        Err(Zk::NodeExists) => match cells::read(client, &path).await?.bytes {
            Some(text) => admit(settings, &settings.location, &text),
            None => Ok(()),
        },
        // A user with rights to one election only makes no id, and compares nothing.
        Err(Zk::NoAuth) => {
            settings.identity.note_refusal();
            Ok(())
        }
        Err(error) => Err(fault(Action::Create, &path, error)),
    }
}

fn admit(settings: &Settings, place: &str, text: &[u8]) -> Result<(), Error> {
    settings.identity.admit(place, StoreId::read(text).as_ref())
}

/// Returns the id of a store, as its ensemble has it. Two requests, sent at once.
pub(crate) async fn read(client: &Client, settings: &Settings) -> Result<Option<StoreId>, Error> {
    let text = cells::read(client, &settings.path_of_store_id()).await?.bytes;
    Ok(text.and_then(|text| StoreId::read(&text)))
}

/// Checks that a new session leads to the expected store, if its id is known already.
pub(crate) async fn greet(place: &str, client: &Client, settings: &Settings) -> Result<(), Error> {
    if settings.identity.expected().is_none() {
        return Ok(());
    }
    match read(client, settings).await {
        Ok(id) => settings.identity.admit(place, id.as_ref()),
        Err(error) if error.kind() == ErrorKind::Denied && !settings.identity.note_refusal() => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns a session with those servers of the list that have the expected store, after one of them had another.
///
/// # Errors
/// A description of each server.
pub(crate) async fn find(
    settings: &Arc<Settings>,
    timeout: Duration,
    is_first: bool,
    error: Error,
) -> Result<Client, Error> {
    let (mut ours, mut words, mut others) = (Vec::new(), Vec::new(), 0);
    for host in &settings.hosts {
        let Ok(client) = connect(settings, settings.spell(host), timeout).await else {
            words.push(format!("{host}: no answer"));
            continue;
        };
        match greet(&host.to_string(), &client, settings).await {
            Ok(()) => ours.push(host),
            Err(error) => {
                others += usize::from(error.is_permanent());
                words.push(error.to_string());
            }
        }
        close(client).await;
    }
    if let Some(cluster) = spelled(settings, &ours)
        && let Ok(client) = connect(settings, cluster, timeout).await
    {
        return Ok(client);
    }
    let is_final = is_first && others == settings.hosts.len();
    let kind = if is_final { error.kind() } else { ErrorKind::Unreachable };
    if let (1, [word]) = (others, &words[..]) {
        return Err(Error::new(kind, format!("ZooKeeper at {word}")));
    }
    let what = format!("{} leads to another store: {}", settings.location, words.join("; "));
    // The description of each server contains the cause already.
    Err(if others > 0 { Error::new(kind, what) } else { Error::new(kind, what).because(error) })
}

/// The time for a server's answer outside a session. A silent server proves nothing.
const ANSWER_LIMIT: Duration = Duration::from_millis(250);

/// A sign that usually tells the servers of different ensembles apart.
#[derive(Debug, PartialEq, Eq)]
enum Sign {
    /// The server runs alone, and is this one of the list.
    Alone(usize),
    /// The epoch of its ensemble's leader. Servers may differ for a moment after it changes.
    Epoch(u64),
}

impl Sign {
    fn read(index: usize, said: &str) -> Option<Self> {
        let line = |beginning| said.lines().find_map(|line| line.strip_prefix(beginning));
        if line("Mode: ")?.trim() == "standalone" {
            return Some(Self::Alone(index));
        }
        let transaction = line("Zxid: 0x")?.trim();
        u64::from_str_radix(transaction, 16).ok().map(|number| Self::Epoch(number >> 32))
    }
}

/// Returns whether the servers of the list do not look like one ensemble. This is only a reason to ask for their ids.
pub(crate) async fn may_be_divided(settings: &Arc<Settings>) -> bool {
    if settings.hosts.len() < 2 || !is_open(settings) {
        return false;
    }
    let mut answers = JoinSet::new();
    for (index, host) in settings.hosts.iter().cloned().enumerate() {
        let settings = Arc::clone(settings);
        answers.spawn(async move {
            let answer = timeout(ANSWER_LIMIT, examine(&host, settings.security.as_ref())).await;
            match answer {
                Ok(Diagnosis::Answers(said)) => Sign::read(index, &said),
                _ => None,
            }
        });
    }
    let signs: Vec<Sign> = answers.join_all().await.into_iter().flatten().collect();
    signs.iter().any(|sign| *sign != signs[0])
}

/// Asks each server of the list for its store's id. If any has an id, those without one are asked once more: a
/// candidate may have given it to them meanwhile.
///
/// # Errors
/// The servers have different stores.
pub(crate) async fn compare(settings: &Arc<Settings>, timeout: Duration) -> Result<(), Error> {
    let hosts: Vec<&Host> = settings.hosts.iter().collect();
    let mut found = ask(settings, hosts, timeout).await;
    if found.iter().any(|(_, id)| id.is_some()) {
        let unnamed: Vec<&Host> =
            found.extract_if(.., |(_, id)| id.is_none()).map(|(host, _)| host).collect();
        found.extend(ask(settings, unnamed, timeout).await);
    }
    if found.iter().all(|(_, id)| *id == found[0].1) {
        return Ok(());
    }
    let words: Vec<String> = found
        .iter()
        .map(|(host, id)| match id {
            Some(id) => format!("{host} is the store {id}"),
            None => format!("{host} is one that has no id yet"),
        })
        .collect();
    let what = format!(
        "{} leads to several stores, and each may have a leader of its own: {}",
        settings.location,
        words.join(", ")
    );
    Err(Error::new(ErrorKind::Unfit, what))
}

/// Returns the id of each server's store. Servers that do not answer are left out.
async fn ask<'a>(
    settings: &Arc<Settings>,
    hosts: Vec<&'a Host>,
    timeout: Duration,
) -> Vec<(&'a Host, Option<StoreId>)> {
    let mut found = Vec::new();
    for host in hosts {
        let Ok(client) = connect(settings, settings.spell(host), timeout).await else { continue };
        if let Ok(id) = read(&client, settings).await {
            found.push((host, id));
        }
        close(client).await;
    }
    found
}

fn spelled(settings: &Settings, hosts: &[&Host]) -> Option<String> {
    let spelled: Vec<String> = hosts.iter().map(|host| settings.spell(host)).collect();
    (!spelled.is_empty()).then(|| spelled.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_one_ensemble_have_the_same_sign() {
        let said = |mode, zxid| format!("Zookeeper version: 3.8.0\nZxid: {zxid}\nMode: {mode}\n");
        let sign = |index, mode, zxid| Sign::read(index, &said(mode, zxid));
        assert_eq!(sign(0, "leader", "0x20000000a"), sign(1, "follower", "0x200000003"));
        assert_ne!(sign(0, "leader", "0x20000000a"), sign(1, "leader", "0x100000003"));
        assert_ne!(sign(0, "standalone", "0xa"), sign(1, "standalone", "0xa"));
        assert_eq!(Sign::read(0, "srvr is not executed because it is not in the whitelist."), None);
    }
}
