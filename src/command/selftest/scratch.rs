use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use elect_api::{ElectionName, Profile, Store};
use tokio::time::sleep;

use super::folder::Folder;
use super::stamps::Stamps;
use crate::command::candidacy::environment;
use crate::config::{self, BackendUrl, SelftestPlan};
use crate::guard::{self, Inherited};

/// The variables of elect that its candidates are to find.
const HANDED_ON: [&str; 3] = ["ELECT_USER", "ELECT_PASSWORD", "ELECT_PASSWORD_FILE"];
/// What tests of this program set.
const OF_TESTS: &str = "ELECT_TEST_";

/// How long what a check leaves may go on: guardians that give up entries which are gone already.
const AFTER_A_CHECK: Duration = Duration::from_millis(500);
/// The same in the end, where there may be an entry to give up.
const IN_THE_END: Duration = Duration::from_secs(5);
/// The file in the folder that says where the store is, for whoever cleans up after us.
const STORE: &str = "store";
/// From one look to the next.
const LOOK: Duration = Duration::from_millis(5);

/// The place where all is tried: a folder of this machine, and elections in the store.
pub(super) struct Scratch<'a> {
    pub(super) backend: &'a BackendUrl,
    pub(super) inherited: &'a Inherited,
    pub(super) store: Box<dyn Store>,
    pub(super) profile: Profile,
    /// The length of lease to ask for; `None` where leases do not end by time.
    pub(super) ttl: Option<Duration>,
    folder: Folder,
    elections: RefCell<Vec<ElectionName>>,
    number: Cell<u32>,
}

impl<'a> Scratch<'a> {
    /// Makes the folder. Nothing is made in the store yet.
    ///
    /// # Errors
    /// When it cannot be made, or the plan does not fit the store.
    pub(super) fn new(plan: &'a SelftestPlan, inherited: &'a Inherited) -> anyhow::Result<Self> {
        let store = config::connect(&plan.backend)?;
        let profile = store.profile();
        let ttl = plan.lease(&profile)?;
        let folder = Folder::new()?;
        let scratch = Self {
            backend: &plan.backend,
            inherited,
            store,
            profile,
            ttl,
            folder,
            elections: RefCell::default(),
            number: Cell::new(0),
        };
        // In the place of the user's: no key of it counts for the candidates.
        let config = scratch.config();
        File::create(&config).with_context(|| format!("cannot make {}", config.display()))?;
        let store = scratch.folder.path().join(STORE);
        fs::write(&store, scratch.location())
            .with_context(|| format!("cannot write {}", store.display()))?;
        Ok(scratch)
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    /// Where the store is, as people may see it.
    pub(super) fn location(&self) -> String {
        self.profile.location.clone()
    }

    /// All elections of ours, in words.
    pub(super) fn whole(&self) -> String {
        format!(
            "what there is of the elections {}-... at {}",
            self.folder.name(),
            self.profile.location
        )
    }

    /// An election that nobody ever enters.
    pub(super) fn nobodys(&self) -> anyhow::Result<ElectionName> {
        name_of(&self.folder, 0)
    }

    /// Another election, which is removed in the end, and a folder for its stamps.
    pub(super) fn election(&self) -> anyhow::Result<(ElectionName, Stamps)> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let election = name_of(&self.folder, number)?;
        self.elections.borrow_mut().push(election.clone());
        let folder = self.folder.path().join(number.to_string());
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok((election, Stamps::new(folder)))
    }

    /// Our environment as a candidate gets it that goes this way to the store.
    pub(super) fn environment(&self, backend: &BackendUrl) -> Vec<(OsString, OsString)> {
        let is_theirs = |name: &OsString| {
            let name = name.to_string_lossy();
            !name.starts_with("ELECT_") || HANDED_ON.contains(&&*name) || name.starts_with(OF_TESTS)
        };
        let ours = environment::for_helper().into_iter().filter(|(name, _)| is_theirs(name));
        ours.chain([
            ("ELECT_BACKEND".into(), backend.with_secrets().into()),
            ("ELECT_CONFIG".into(), self.config().into()),
        ])
        .collect()
    }

    /// The machines of the store, `HOST:PORT`; empty where its URL names none.
    pub(super) fn machines(&self) -> Vec<String> {
        let location = &self.profile.location;
        let rest = location.split_once("://").map_or("", |(_, rest)| rest);
        let hosts = rest.split(['/', '?']).next().unwrap_or_default();
        hosts.split(',').filter(|host| !host.is_empty()).map(ToOwned::to_owned).collect()
    }

    /// Whether the store is talked to in secret.
    pub(super) fn is_secret(&self) -> bool {
        self.backend.scheme().is_some_and(|scheme| scheme.ends_with("+tls"))
    }

    /// Waits until nothing of the last check lives. Its candidates are reaped before.
    pub(super) async fn settle(&self) {
        end_children(AFTER_A_CHECK).await;
    }

    /// Removes all that was made, and says in words what could not be. What others have left in this store that
    /// were killed goes as well, as far as it can.
    pub(super) async fn clear_away(&self) -> Vec<String> {
        end_children(IN_THE_END).await;
        let began = guard::now();
        // The lease of a candidate that could give nothing up has to end.
        let patience = self.ttl.unwrap_or_default() * 3 + Duration::from_secs(10);
        let mut left = Vec::new();
        for election in self.elections.take() {
            let error = loop {
                match self.store.forget(&election).await {
                    Ok(()) => break None,
                    Err(error) if error.is_permanent() || guard::now().since(began) > patience => {
                        break Some(error);
                    }
                    Err(_) => sleep(LOOK * 20).await,
                }
            };
            let Some(error) = error else { continue };
            let is_out_of_reach = !error.is_permanent();
            let what = if is_out_of_reach {
                self.whole()
            } else {
                format!("election {election} at {}", self.profile.location)
            };
            left.push(format!("{what}: {:#}", anyhow::Error::from(error)));
            if is_out_of_reach {
                // So are the others.
                break;
            }
        }
        if let Err(error) = self.folder.remove() {
            left.push(format!("{}: {error}", self.folder.path().display()));
        }
        self.clear_away_after_others().await;
        left
    }

    async fn clear_away_after_others(&self) {
        let is_of_this_store = |folder: &Folder| {
            let store = fs::read_to_string(folder.path().join(STORE));
            store.is_ok_and(|store| store == self.location())
        };
        for folder in Folder::left().filter(is_of_this_store) {
            let mut is_left = false;
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
                if let Some(Ok(election)) = number.map(|number| name_of(&folder, number)) {
                    is_left |= self.store.forget(&election).await.is_err();
                }
            }
            if !is_left {
                let _ = folder.remove();
            }
        }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = self.folder.remove();
    }
}

fn name_of(folder: &Folder, number: u32) -> anyhow::Result<ElectionName> {
    format!("{}-{number}", folder.name()).parse().context("no name for an election")
}

/// Waits until all children have ended, and kills those that have not by the end of `patience`.
async fn end_children(patience: Duration) {
    let began = guard::now();
    while guard::has_children() {
        let waited = guard::now().since(began);
        if waited > patience {
            guard::kill_children();
        }
        // They cannot be killed, or are not to be found: nobody waits for them.
        if waited > patience + IN_THE_END {
            return;
        }
        sleep(LOOK).await;
    }
}
