//! Steering: these subcommands order something of an election, and wait until it is done. They only write the order,
//! and the candidates obey it. Two go further: `--force` removes the entry of a leader that does not obey, and `elect
//! forget` removes an election without candidates.

mod forget;
mod pause;
mod priority;
mod resign;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{
    Boottime, Cell, Division, ElectionName, Ending, Error, ErrorKind, If, Leader, Removal, Store,
    Survey, Token, Versioned, Written, stamp,
};
use tokio::time::sleep;

use crate::command::attempts::{ATTEMPTS, aloud, insist_until};
use crate::command::cells::UnknownName;
use crate::command::survey::{Awaited, ElectionSnapshot, Rhythm, Watcher, survey_one, until};
use crate::config::{self, BackendUrl, host_name};
use crate::election::control::{Control, Request};
use crate::guard;
use crate::report::{self, Log, NOT_ACQUIRED};

pub(super) use forget::{forget, redeem};
pub(super) use pause::{pause, resume};
pub(super) use priority::preempt;
pub(super) use priority::priority;
pub(super) use resign::resign;

/// The number of attempts at a store that has just answered.
const AGAIN: u32 = 2;
/// How often other writers may come first before that is an error.
const RACES: u32 = 20;
/// How long a wait may go on before people are told why.
const MOMENT: Duration = Duration::from_secs(5);

/// A client for the orders to one election.
pub(super) struct ControlClient<'a> {
    backend: &'a BackendUrl,
    election: &'a ElectionName,
    log: Log,
    store: Box<dyn Store>,
    location: String,
    /// The end of all waits. `None` for waits without an end.
    end: Option<Boottime>,
}

impl<'a> ControlClient<'a> {
    /// Makes a client that waits no longer than `limit`, counted from now.
    ///
    /// # Errors
    /// The store cannot be used.
    pub(super) fn new(
        backend: &'a BackendUrl,
        election: &'a ElectionName,
        limit: Option<Duration>,
        log: &Log,
    ) -> anyhow::Result<Self> {
        let store = config::connect(backend)?;
        let location = store.profile().location;
        let end = limit.map(|limit| guard::now() + limit);
        Ok(Self { backend, election, log: log.about(election), store, location, end })
    }

    /// Makes the same client for another election, such as a part of this one.
    ///
    /// # Errors
    /// Fails as [`ControlClient::new`] does.
    pub(super) fn at<'b>(
        &'b self,
        election: &'b ElectionName,
    ) -> anyhow::Result<ControlClient<'b>> {
        let (location, log) = (self.location.clone(), self.log.about(election));
        let store = config::connect(self.backend)?;
        Ok(ControlClient { backend: self.backend, election, log, store, location, end: self.end })
    }

    /// Checks that the store keeps its waiting candidates in order, which `what`, a flag or a command, needs.
    ///
    /// # Errors
    /// The store keeps no order.
    pub(super) fn queues(&self, what: &'static str) -> anyhow::Result<()> {
        Ok(config::queues(&self.store.profile(), what)?)
    }

    /// Returns the names of the slots. The list is empty if the election has none.
    ///
    /// # Errors
    /// The store does not answer, refuses access, or holds data that elect did not write.
    pub(super) async fn slots(&self) -> anyhow::Result<Vec<ElectionName>> {
        let Division::Slots(number) = self.asked().await?.division() else { return Ok(Vec::new()) };
        let slots = (0..number).map(|number| Ok(Division::part(self.election, number)?));
        slots.collect()
    }

    /// Checks that the election has no slots. A leader in a slot leads an election of its own.
    ///
    /// # Errors
    /// Fails as [`ControlClient::slots`] does, and if there are slots.
    pub(super) async fn has_no_slots(&self) -> anyhow::Result<()> {
        match self.slots().await?.as_slice() {
            [] => Ok(()),
            [only] => bail!("{} has one slot: name that, {only}", self.election),
            [first, .., last] => {
                bail!("{} has slots: name one of them, {first} to {last}", self.election)
            }
        }
    }

    /// Returns the name of the election if nothing is known of it, which is most likely a typing error.
    ///
    /// # Errors
    /// The store does not answer, or refuses access.
    pub(super) async fn unknown(&self) -> anyhow::Result<Option<UnknownName>> {
        // The survey comes first: a client whose time has run out ends here.
        let is_there = self.survey().await?.entries().next().is_some();
        if is_there || self.asked().await?.is_kept() {
            return Ok(None);
        }
        UnknownName::find(self.store.as_ref(), self.election, AGAIN).await
    }

    /// Warns if nothing is known of the election.
    ///
    /// # Errors
    /// Fails as [`ControlClient::unknown`] does.
    pub(super) async fn warn_if_unknown(&self) -> anyhow::Result<()> {
        if let Some(unknown) = self.unknown().await? {
            self.log.warn(unknown);
        }
        Ok(())
    }

    /// Returns the token of the leader's entry in the store, whatever the orders are.
    ///
    /// # Errors
    /// The store does not answer, or refuses access.
    pub(super) async fn holder(&self) -> anyhow::Result<Option<Token>> {
        Ok(self.leader().await?.map(|leader| leader.token))
    }

    async fn leader(&self) -> anyhow::Result<Option<Leader>> {
        Ok(self.insist(async || self.store.survey(self.election).await).await?.leader)
    }

    /// Returns how the leader's entry with this token ends if its holder does nothing for it any more. Returns `None`
    /// if the entry is gone.
    ///
    /// # Errors
    /// The store does not answer, refuses access, or does not tell.
    pub(super) async fn ending(&self, token: Token) -> anyhow::Result<Option<Ending>> {
        let Some(leader) = self.leader().await?.filter(|leader| leader.token == token) else {
            return Ok(None);
        };
        let untold = || {
            let id = &leader.entry.candidate.id;
            format!("{} does not tell how long the lease of {id} runs on: try again", self.location)
        };
        leader.ending.map(Some).with_context(untold)
    }

    /// Returns the longest time for which an entry can outlast its holder. It serves where a store shows only that an
    /// entry ends by time.
    ///
    /// # Errors
    /// The store refuses access, or does not tell.
    pub(super) async fn longest_ending(&self) -> anyhow::Result<Duration> {
        // The examination has its own time limit, longer than one attempt's.
        let examining = self.store.examine(Arc::new(guard::now));
        let longest = aloud(&self.log, &self.location, examining).await?.longest_ending;
        longest
            .with_context(|| format!("{} does not tell how long leases last there", self.location))
    }

    /// Removes the leader's entry with this token. If there is a `mark`, the entry must still have it: the lease was
    /// judged to be over with that mark.
    ///
    /// # Errors
    /// The store does not answer or refuses access, or the lease was renewed since.
    pub(super) async fn remove(&self, token: Token, mark: Option<u64>) -> anyhow::Result<()> {
        let what = Removal::Leader { token, mark };
        let ask = async || self.store.remove(self.election, what).await;
        self.insist(ask).await
    }

    /// Tells people why the wait failed, and returns the exit code for that.
    pub(super) fn gives_up(&self, why: &str) -> u8 {
        self.log.warn(why);
        NOT_ACQUIRED
    }

    /// Returns whether the time of this client is over.
    pub(super) fn is_late(&self) -> bool {
        self.end.is_some_and(|end| guard::now() >= end)
    }

    /// Returns who leads and who waits.
    ///
    /// # Errors
    /// The store does not answer, or refuses access.
    pub(super) async fn survey(&self) -> anyhow::Result<Survey> {
        let seen =
            self.insist(async || survey_one(self.store.as_ref(), self.election).await).await?;
        Ok(seen.survey)
    }

    async fn insist<T>(&self, ask: impl AsyncFnMut() -> Result<T, Error>) -> anyhow::Result<T> {
        let asking = insist_until(&self.location, ATTEMPTS, self.end, ask);
        aloud(&self.log, &self.location, asking).await
    }

    /// Returns the orders that are in force.
    ///
    /// # Errors
    /// The store does not answer, refuses access, or holds data that elect did not write.
    pub(super) async fn asked(&self) -> anyhow::Result<Control> {
        Ok(self.ever_asked().await?.as_of(stamp::display()))
    }

    /// Returns the orders, including a pause whose end has passed. An older version of elect does not know that such a
    /// pause is over.
    ///
    /// # Errors
    /// Fails as [`ControlClient::asked`] does.
    pub(super) async fn ever_asked(&self) -> anyhow::Result<Control> {
        self.read(&self.kept().await?)
    }

    fn read(&self, kept: &Versioned) -> anyhow::Result<Control> {
        Control::read(kept.bytes.as_deref())
            .with_context(|| format!("cannot change {} at {}", self.election, self.location))
    }

    async fn kept(&self) -> anyhow::Result<Versioned> {
        let read = async || self.store.read(self.election, Cell::Control).await;
        self.insist(read).await
    }

    /// Changes the orders with `change`, and returns the new ones. If another writer comes first, it reads the orders
    /// again and repeats the change.
    ///
    /// # Errors
    /// The store does not answer, refuses access, or holds data that elect did not write.
    pub(super) async fn ask(&self, change: impl Fn(Control) -> Control) -> anyhow::Result<Control> {
        for _ in 0..RACES {
            let kept = self.kept().await?;
            let known = self.read(&kept)?;
            let wanted = change(known.clone());
            if wanted == known {
                return Ok(known);
            }
            let (text, unchanged) = (wanted.to_bytes(), If::Version(kept.version));
            let write = async || {
                match self.store.write(self.election, Cell::Control, &text, unchanged).await {
                    // The next read shows whether an ambiguous write took effect.
                    Err(error) if error.kind() == ErrorKind::Ambiguous => Ok(Written::Overtaken),
                    outcome => outcome,
                }
            };
            if let Written::Yes(_) = self.insist(write).await? {
                return Ok(wanted);
            }
        }
        bail!("others change {} all the time: try again", self.election)
    }

    /// Waits until a survey meets the condition, and returns that survey. Returns `None` if the time ran out before.
    ///
    /// # Errors
    /// The store refuses access.
    pub(super) async fn wait_until(
        &self,
        mut is_met: impl FnMut(&Survey) -> bool,
    ) -> anyhow::Result<Option<Survey>> {
        let end = self.wait(self.election, self.end, |seen| is_met(&seen.survey)).await?;
        Ok(end.map(|seen| seen.survey))
    }

    /// Waits like [`ControlClient::wait_until`], and no longer than until `end`.
    ///
    /// # Errors
    /// The store refuses access.
    pub(super) async fn wait_until_by(
        &self,
        end: Boottime,
        mut is_met: impl FnMut(&Survey) -> bool,
    ) -> anyhow::Result<Option<Survey>> {
        let end = self.end.map_or(end, |own| own.min(end));
        let is_met = |seen: &ElectionSnapshot| is_met(&seen.survey);
        let end = self.wait(self.election, Some(end), is_met).await?;
        Ok(end.map(|seen| seen.survey))
    }

    /// Waits like [`ControlClient::wait_until`], for a condition that may depend on a pause. If the wait takes long,
    /// people are told `why`.
    ///
    /// # Errors
    /// The store refuses access.
    pub(super) async fn wait_until_seen(
        &self,
        why: &str,
        is_met: impl FnMut(&ElectionSnapshot) -> bool,
    ) -> anyhow::Result<Option<ElectionSnapshot>> {
        self.reminding(why, self.wait(self.election, self.end, is_met)).await
    }

    /// Waits until each part of a divided election meets the condition, one part after the other. Returns whether all
    /// did before the time ran out. If the wait takes long, people are told `why`.
    ///
    /// # Errors
    /// The store refuses access.
    pub(super) async fn wait_for_parts(
        &self,
        division: Division,
        why: &str,
        is_met: impl Fn(&Survey) -> bool,
    ) -> anyhow::Result<bool> {
        let all = async {
            for number in 0..division.parts() {
                let part = Division::part(self.election, number)?;
                if self.wait(&part, self.end, |seen| is_met(&seen.survey)).await?.is_none() {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        self.reminding(why, all).await
    }

    /// Awaits `wait`, and tells people `why` it goes on if it takes long.
    async fn reminding<T>(&self, why: &str, wait: impl Future<Output = T>) -> T {
        let remind = async {
            sleep(MOMENT).await;
            self.log.warn(format_args!("waiting: {why}"));
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            end = wait => end,
            never = remind => match never {},
        }
    }

    async fn wait(
        &self,
        election: &ElectionName,
        end: Option<Boottime>,
        is_met: impl FnMut(&ElectionSnapshot) -> bool,
    ) -> anyhow::Result<Option<ElectionSnapshot>> {
        let store = config::connect(self.backend)?;
        let watcher = Watcher::over(store, vec![election.clone()], Rhythm::Calm)?;
        Ok(match until(watcher, end, &self.log, is_met).await? {
            Awaited::Met(seen) => Some(seen),
            Awaited::Unmet(_) | Awaited::Unknown(_) => None,
        })
    }
}

/// Makes an order in the name of the user who runs this command.
pub(super) fn request(reason: Option<&str>) -> Request {
    Request::new(requester(), reason.map(ToOwned::to_owned))
}

/// Returns the name of the user who runs this command, with the name of this machine.
pub(in crate::command) fn requester() -> String {
    let uid = nix::unistd::getuid();
    let user = nix::unistd::User::from_uid(uid).ok().flatten();
    let name = user.map_or_else(|| uid.to_string(), |user| user.name);
    format!("{name}@{}", host_name())
}

/// Returns whether the leader with this token still leads.
pub(super) fn is_led_by(survey: &Survey, token: Token) -> bool {
    survey.leader.as_ref().is_some_and(|leader| leader.token == token)
}

/// Returns whether it is decided who leads. A pause decides it. So does a leader that is stopped, or that will not
/// yield to another candidate. Without a leader it is decided if no waiting candidate may lead.
pub(super) fn is_decided(seen: &ElectionSnapshot) -> bool {
    let survey = &seen.survey;
    let may_lead = survey.waiting.iter().any(|entry| entry.candidate.priority > 0);
    let stays = survey.leader.as_ref().map(|leader| leader.entry.is_stopped || !seen.may_yield);
    seen.pause.is_some() || stays.unwrap_or(!may_lead)
}

/// Prints who leads. The exit code is 0.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn print_leader(leader: Option<&Leader>) -> anyhow::Result<u8> {
    let line = match leader {
        Some(leader) => format!("{} leads, token {}\n", leader.entry.candidate.id, leader.token),
        None => "nobody leads\n".to_owned(),
    };
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}
