//! Steering: asking something of an election, and waiting until it is so. Asking is all that happens here; who
//! takes part obeys. Only `--force` goes further, where somebody does not, and `elect forget`, where nobody is left.

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

use crate::command::attempts::{aloud, insist_until};
use crate::command::kept::Stranger;
use crate::command::look::{Awaited, ElectionSnapshot, Rhythm, Watcher, see, until};
use crate::config::{self, BackendUrl, host_name};
use crate::election::control::{Control, Request};
use crate::guard;
use crate::report::{self, Log};

pub(super) use forget::{forget, redeem};
pub(super) use pause::{pause, resume};
pub(super) use priority::preempt;
pub(super) use priority::priority;
pub(super) use resign::resign;

/// How often a store is asked before it counts as out of reach.
const ATTEMPTS: u32 = 5;
/// The same where it has just answered.
const AGAIN: u32 = 2;
/// How often others may be faster than we before that is told.
const RACES: u32 = 20;
/// How long nothing is said to whoever waits.
const MOMENT: Duration = Duration::from_secs(5);

/// Where things are asked of one election.
pub(super) struct ControlClient<'a> {
    backend: &'a BackendUrl,
    election: &'a ElectionName,
    log: Log,
    store: Box<dyn Store>,
    location: String,
    /// When to stop waiting; never if `None`.
    end: Option<Boottime>,
}

impl<'a> ControlClient<'a> {
    /// For whoever waits `patience` at most, counted from now.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub(super) fn new(
        backend: &'a BackendUrl,
        election: &'a ElectionName,
        patience: Option<Duration>,
        log: &Log,
    ) -> anyhow::Result<Self> {
        let store = config::connect(backend)?;
        let location = store.profile().location;
        let end = patience.map(|patience| guard::now() + patience);
        Ok(Self { backend, election, log: log.about(election), store, location, end })
    }

    /// The same for another election, such as a part of this one.
    ///
    /// # Errors
    /// As [`ControlClient::new`].
    pub(super) fn at<'b>(
        &'b self,
        election: &'b ElectionName,
    ) -> anyhow::Result<ControlClient<'b>> {
        let (location, log) = (self.location.clone(), self.log.about(election));
        let store = config::connect(self.backend)?;
        Ok(ControlClient { backend: self.backend, election, log, store, location, end: self.end })
    }

    /// That those who wait in the store have an order, which `what`, a flag or a command, needs.
    ///
    /// # Errors
    /// They have none.
    pub(super) fn queues(&self, what: &'static str) -> anyhow::Result<()> {
        Ok(config::queues(&self.store.profile(), what)?)
    }

    /// Its slots, if it has any.
    ///
    /// # Errors
    /// The store does not answer, or refuses us, or holds what no elect has written.
    pub(super) async fn slots(&self) -> anyhow::Result<Vec<ElectionName>> {
        let Division::Slots(number) = self.asked().await?.division() else { return Ok(Vec::new()) };
        let slots = (0..number).map(|number| Ok(Division::part(self.election, number)?));
        slots.collect()
    }

    /// That it has no slots: who leads in one does so in an election of its own.
    ///
    /// # Errors
    /// As [`ControlClient::slots`]; and it has.
    pub(super) async fn has_no_slots(&self) -> anyhow::Result<()> {
        match self.slots().await?.as_slice() {
            [] => Ok(()),
            [only] => bail!("{} has one slot: name that, {only}", self.election),
            [first, .., last] => {
                bail!("{} has slots: name one of them, {first} to {last}", self.election)
            }
        }
    }

    /// The name under which nothing is known, if it is one: most likely it is a slip.
    ///
    /// # Errors
    /// The store does not answer, or refuses us.
    pub(super) async fn stranger(&self) -> anyhow::Result<Option<Stranger>> {
        // Asked first, as whoever has no more time ends there.
        let is_there = self.survey().await?.entries().next().is_some();
        if is_there || self.asked().await?.is_kept() {
            return Ok(None);
        }
        Stranger::find(self.store.as_ref(), self.election, AGAIN, &self.log).await
    }

    /// Warns of such a name.
    ///
    /// # Errors
    /// As [`ControlClient::stranger`].
    pub(super) async fn warn_of_stranger(&self) -> anyhow::Result<()> {
        if let Some(stranger) = self.stranger().await? {
            self.log.warn(stranger);
        }
        Ok(())
    }

    /// Which it is.
    pub(super) const fn election(&self) -> &ElectionName {
        self.election
    }

    /// For people.
    pub(super) const fn log(&self) -> &Log {
        &self.log
    }

    /// Whose entry is the leader's in the store, whatever is asked of it.
    ///
    /// # Errors
    /// The store does not answer, or refuses us.
    pub(super) async fn holder(&self) -> anyhow::Result<Option<Token>> {
        Ok(self.leader().await?.map(|leader| leader.token))
    }

    async fn leader(&self) -> anyhow::Result<Option<Leader>> {
        Ok(self.insist(async || self.store.survey(self.election).await).await?.leader)
    }

    /// How the leader's entry with this token ends, if its holder does nothing for it any more; `None` if it
    /// is gone.
    ///
    /// # Errors
    /// The store does not answer, or refuses us, or does not tell.
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

    /// For how long an entry may be there on, where the store shows no more than that it ends by time.
    ///
    /// # Errors
    /// The store refuses us, or does not tell.
    pub(super) async fn longest_ending(&self) -> anyhow::Result<Duration> {
        // Bounded by itself, and longer than one attempt.
        let examining = self.store.examine(Arc::new(guard::now));
        let longest = aloud(&self.log, &self.location, examining).await?.longest_ending;
        longest
            .with_context(|| format!("{} does not tell how long leases last there", self.location))
    }

    /// Removes the leader's entry with this token, unless it has another mark than that by which it was judged to be over.
    ///
    /// # Errors
    /// The store does not answer, or refuses us; or it was renewed since.
    pub(super) async fn remove(&self, token: Token, mark: Option<u64>) -> anyhow::Result<()> {
        let what = Removal::Leader { token, mark };
        let ask = async || self.store.remove(self.election, what).await;
        self.insist(ask).await
    }

    /// Whether nobody wants to wait any longer.
    pub(super) fn is_late(&self) -> bool {
        self.end.is_some_and(|end| guard::now() >= end)
    }

    /// Who leads and who waits.
    ///
    /// # Errors
    /// The store does not answer, or refuses us.
    pub(super) async fn survey(&self) -> anyhow::Result<Survey> {
        let seen = self.insist(async || see(self.store.as_ref(), self.election).await).await?;
        Ok(seen.survey)
    }

    async fn insist<T>(&self, ask: impl AsyncFnMut() -> Result<T, Error>) -> anyhow::Result<T> {
        let asking = insist_until(&self.location, ATTEMPTS, self.end, ask);
        aloud(&self.log, &self.location, asking).await
    }

    /// What is asked at present.
    ///
    /// # Errors
    /// The store does not answer, or refuses us, or holds what no elect has written.
    pub(super) async fn asked(&self) -> anyhow::Result<Control> {
        Ok(self.ever_asked().await?.as_of(stamp::display()))
    }

    /// What is asked, also with a pause that is over: an older elect does not know that it is.
    ///
    /// # Errors
    /// As [`ControlClient::asked`].
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

    /// Asks what `change` makes of all that is asked. Returns that.
    ///
    /// # Errors
    /// The store does not answer, or refuses us, or holds what no elect has written.
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
                    // What came of it is seen when it is read again.
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

    /// Waits until the election is so, and returns what was seen; `None` if the time was over before.
    ///
    /// # Errors
    /// The store refuses us.
    pub(super) async fn wait_until(
        &self,
        mut is_met: impl FnMut(&Survey) -> bool,
    ) -> anyhow::Result<Option<Survey>> {
        let end = self.wait(self.election, self.end, |seen| is_met(&seen.survey)).await?;
        Ok(end.map(|seen| seen.survey))
    }

    /// The same until `end` at the latest.
    ///
    /// # Errors
    /// The store refuses us.
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

    /// As [`ControlClient::wait_until`], where it matters whether the election is paused. Whoever waits for more than a moment is
    /// told for what: why it is not so yet.
    ///
    /// # Errors
    /// The store refuses us.
    pub(super) async fn wait_until_seen(
        &self,
        why: &str,
        is_met: impl FnMut(&ElectionSnapshot) -> bool,
    ) -> anyhow::Result<Option<ElectionSnapshot>> {
        self.reminding(why, self.wait(self.election, self.end, is_met)).await
    }

    /// Waits until each part of an election that is divided is so, one after the other. Says whether that came
    /// before the time was over; meanwhile as [`ControlClient::wait_until_seen`].
    ///
    /// # Errors
    /// The store refuses us.
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

    /// Tells whoever waits for more than a moment why it is not so yet.
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
            Awaited::So(seen) => Some(seen),
            Awaited::NotSo(_) | Awaited::Unknown(_) => None,
        })
    }
}

/// What is asked by whoever runs this.
pub(super) fn request(reason: Option<&str>) -> Request {
    Request::new(who_asks(), reason.map(ToOwned::to_owned))
}

/// The user who runs this, and their machine.
pub(in crate::command) fn who_asks() -> String {
    let uid = nix::unistd::getuid();
    let user = nix::unistd::User::from_uid(uid).ok().flatten();
    let name = user.map_or_else(|| uid.to_string(), |user| user.name);
    format!("{name}@{}", host_name())
}

/// Whether leadership with this token lasts.
pub(super) fn is_led_by(survey: &Survey, token: Token) -> bool {
    survey.leader.as_ref().is_some_and(|leader| leader.token == token)
}

/// Whether it is plain who leads now: whoever may lead does not only wait, and is not about to stand back, unless it is seen
/// to be stopped.
pub(super) fn is_settled(seen: &ElectionSnapshot) -> bool {
    let survey = &seen.survey;
    let may_lead = survey.waiting.iter().any(|entry| entry.candidate.priority > 0);
    let stays =
        survey.leader.as_ref().map(|leader| leader.entry.is_stopped || !seen.may_stand_back);
    seen.pause.is_some() || stays.unwrap_or(!may_lead)
}

/// Prints it. The exit code is 0.
///
/// # Errors
/// When stdout cannot be written.
pub(super) fn say_who_leads(leader: Option<&Leader>) -> anyhow::Result<u8> {
    let line = match leader {
        Some(leader) => format!("{} leads, token {}\n", leader.entry.candidate.id, leader.token),
        None => "nobody leads\n".to_owned(),
    };
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}
