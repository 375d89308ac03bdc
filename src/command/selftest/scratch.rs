use std::cell::{Cell, RefCell};
use std::time::Duration;

use elect_api::{ElectionName, Error, ErrorKind, Profile, Removal, Scope, Store};
use tokio::time::sleep;

use crate::config::{self, BackendUrl, SelftestPlan};
use crate::guard::{self, Containment, Inherited};

/// What the names of all that we make begin with.
const PREFIX: &str = "elect-selftest-";

/// Whether an election is one that a selftest removes: of it nothing is kept for later.
pub(in crate::command) fn is_scratch(election: &ElectionName) -> bool {
    election.as_str().starts_with(PREFIX)
}

/// How long what a check leaves may go on: guardians that give up entries which are gone already.
const AFTER_A_CHECK: Duration = Duration::from_millis(500);
/// The same in the end, where there may be an entry to give up.
const IN_THE_END: Duration = Duration::from_secs(5);
/// From one look to the next.
const LOOK: Duration = Duration::from_millis(5);

/// The place where all is tried: elections in the store, and memory of this machine.
pub(super) struct Scratch<'a> {
    pub(super) backend: &'a BackendUrl,
    pub(super) inherited: &'a Inherited,
    pub(super) store: Box<dyn Store>,
    pub(super) profile: Profile,
    /// The length of lease to ask for; `None` where leases do not end by time.
    pub(super) ttl: Option<Duration>,
    /// What is to hold the trees of the candidates; `None` is what holds them as a rule.
    pub(super) containment: Option<Containment>,
    /// How long the leases are that the store grants for `ttl`, once that is known.
    pub(super) granted: Cell<Option<Duration>>,
    name: String,
    elections: RefCell<Vec<ElectionName>>,
    number: Cell<u32>,
}

impl<'a> Scratch<'a> {
    /// Nothing is made in the store yet.
    ///
    /// # Errors
    /// When the plan does not fit the store.
    pub(super) fn new(plan: &'a SelftestPlan, inherited: &'a Inherited) -> anyhow::Result<Self> {
        let store = config::connect(&plan.backend)?;
        let profile = store.profile();
        let ttl = plan.lease(&profile)?;
        let name = format!("{PREFIX}{:08x}", fastrand::u32(..));
        Ok(Self {
            backend: &plan.backend,
            inherited,
            store,
            profile,
            ttl,
            containment: plan.containment,
            granted: Cell::new(None),
            name,
            elections: RefCell::default(),
            number: Cell::new(0),
        })
    }

    /// Where the store is, as people may see it.
    pub(super) fn location(&self) -> String {
        self.profile.location.clone()
    }

    /// All elections of ours, in words.
    pub(super) fn whole(&self) -> String {
        format!("what there is of the elections {}-... at {}", self.name, self.profile.location)
    }

    /// An election that nobody ever enters.
    pub(super) fn nobodys(&self) -> Result<ElectionName, Error> {
        self.name_of(0)
    }

    fn name_of(&self, number: u32) -> Result<ElectionName, Error> {
        let name = format!("{}-{number}", self.name).parse();
        name.map_err(|error| Error::new(ErrorKind::Unfit, "no name for an election").because(error))
    }

    /// Another election, which is removed in the end.
    pub(super) fn election(&self) -> Result<ElectionName, Error> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let election = self.name_of(number)?;
        self.elections.borrow_mut().push(election.clone());
        Ok(election)
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

    /// Removes all that was made, and says in words what could not be.
    pub(super) async fn clear_away(&self) -> Vec<String> {
        end_children(IN_THE_END).await;
        let began = guard::now();
        // The lease of a candidate that could give nothing up has to end.
        let patience = self.ttl.unwrap_or_default() * 3 + Duration::from_secs(10);
        let mut left = Vec::new();
        for election in self.elections.take() {
            let error = loop {
                match self.store.remove(&election, Removal::Everything).await {
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
                return left;
            }
        }
        self.clear_away_after_others().await;
        left
    }

    /// Removes what those have left in the store that were killed. One of somebody who lives loses nothing by it:
    /// an election that somebody is in stays, and any other is made again when it is wanted.
    async fn clear_away_after_others(&self) {
        let Ok(elections) = self.store.list(Scope::Entered).await else { return };
        for election in elections.iter().filter(|name| is_scratch(name)) {
            // Who comes next tries again.
            let _ = self.store.remove(election, Removal::Everything).await;
        }
    }
}

/// Waits until all children have ended, and kills those that have not by the end of `patience`.
async fn end_children(patience: Duration) {
    let began = guard::now();
    while guard::has_children() {
        let waited = guard::now().since(began);
        if waited > patience {
            // Tried again at the next look.
            let _ = guard::kill_descendants();
        }
        // They cannot be killed, or are not to be found: nobody waits for them.
        if waited > patience + IN_THE_END {
            return;
        }
        sleep(LOOK).await;
    }
}
