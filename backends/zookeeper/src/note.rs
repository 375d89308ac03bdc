use std::sync::Arc;

use elect_api::{ElectionName, Error, ErrorKind, Note, NoteName, never};
use zookeeper_client::{CheckWriteError, CreateMode, Error as Zk, MultiWriteError};

use crate::client::{Client, Step};
use crate::directory::make_above;
use crate::fault::{Action, fault};
use crate::settings::Settings;
use crate::sheet::{self, Sheet};
use crate::watch::Watch;

/// The notes of one election.
pub(crate) struct Notes {
    settings: Arc<Settings>,
    election: ElectionName,
    /// On the note that was read last.
    watch: Option<Watch>,
}

/// Whether a note was written, or the node that was to be there was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Yes,
    Missing,
}

impl Notes {
    pub(crate) const fn new(settings: Arc<Settings>, election: ElectionName) -> Self {
        Self { settings, election, watch: None }
    }

    fn path_of(&self, name: NoteName) -> String {
        self.settings.path_of_note(&self.election, name)
    }

    /// Reads a note, as the ensemble has it, and has us told when it changes if it is vital.
    pub(crate) async fn read(&mut self, client: &Client, name: NoteName) -> Result<Note, Error> {
        let path = self.path_of(name);
        if !name.is_vital() {
            return Ok(Note { text: sheet::content(client, &path).await?, wake: never() });
        }
        let Sheet { content, watch } = sheet::read(client, &path).await?;
        let wake = self.watch.insert(watch).wake();
        Ok(Note { text: content.map(|(text, _)| text), wake })
    }

    /// Writes a note if the node of this path is there, in one step.
    pub(crate) async fn write(
        &self,
        client: &Client,
        proof: &str,
        name: NoteName,
        text: &[u8],
    ) -> Result<Written, Error> {
        let path = self.path_of(name);
        match while_there(client, proof, Step::set(&path, text, None)).await {
            Err(CheckWriteError::OperationFailed { source: Zk::NoNode, .. }) => {}
            other => return written(&path, other),
        }
        // The first of its name. There is one leader, and so nobody else makes it meanwhile.
        make_above(client, &self.settings, &path).await?;
        let options = CreateMode::Persistent.with_acls(self.settings.acls());
        written(&path, while_there(client, proof, Step::create(&path, text, options)).await)
    }

    /// Removes the node of this path and writes a note, in one step.
    pub(crate) async fn write_removing(
        &self,
        client: &Client,
        node: &str,
        name: NoteName,
        text: &[u8],
    ) -> Result<(), Error> {
        let path = self.path_of(name);
        let failed = |error: MultiWriteError| fault(Action::Delete, node, error.into());
        match client.multi(vec![Step::delete(node), Step::set(&path, text, None)]).await {
            Err(MultiWriteError::OperationFailed { index: 1, source: Zk::NoNode }) => {}
            other => return other.map_err(failed),
        }
        make_above(client, &self.settings, &path).await?;
        let options = CreateMode::Persistent.with_acls(self.settings.acls());
        let create = Step::create(&path, text, options);
        client.multi(vec![Step::delete(node), create]).await.map_err(failed)
    }
}

/// Takes a step if the node of the path `proof` is there.
pub(crate) async fn while_there(
    client: &Client,
    proof: &str,
    step: Step,
) -> Result<(), CheckWriteError> {
    Ok(client.multi(vec![Step::check(proof), step]).await?)
}

fn written(path: &str, outcome: Result<(), CheckWriteError>) -> Result<Written, Error> {
    match outcome {
        Ok(()) => Ok(Written::Yes),
        Err(CheckWriteError::CheckFailed { source: Zk::NoNode }) => Ok(Written::Missing),
        // Removed by hand, or another leads and made it: the next attempt finds out.
        Err(CheckWriteError::OperationFailed { source: Zk::NoNode | Zk::NodeExists, .. }) => {
            let what = format!("{path} changed as we wrote it: trying again helps");
            Err(Error::new(ErrorKind::Unreachable, what))
        }
        Err(error) => Err(fault(Action::Write, path, error.into())),
    }
}
