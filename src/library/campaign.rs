use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elect_api::{Candidate, Division, ElectionName, ElectionNameError, Promise, Store};
use tokio::sync::{oneshot, watch};

use super::candidature::Candidature;
use super::candidature::Work;
use super::engine::Engine;
use super::leadership::Told;
use super::store_of;
use super::{Error, Leadership, Validity};
use crate::election::machine::{LetIn, Wait};
use crate::election::timing::{LONGEST_TTL, Timing, TimingOptions};
use crate::identity;
use crate::stores::BackendUrl;

/// The containment that other candidates see: there is none.
const CONTAINMENT: &str = "none";

/// A campaign to lead an election of a store under a label.
///
/// It does nothing before [`lead`](Campaign::lead), and may lead again and again. Each time it takes part as a new
/// candidate. The other candidates may be campaigns, commands of `elect run` or sidecars.
///
/// All campaigns of a process share one thread. Those with the same URL share one connection where the store allows it.
/// No runtime of the caller is needed. Neither that thread nor a leadership survives a `fork` without `exec`.
#[derive(Clone)]
pub struct Campaign {
    store: Arc<dyn Store>,
    election: ElectionName,
    label: String,
    options: TimingOptions,
    require_strong: bool,
    has_led: Arc<AtomicBool>,
}

impl Campaign {
    /// Returns a campaign in this election of the store at `url`. The URL is `file:///DIR`, `etcd://HOST,...`,
    /// `zk://HOST,...` or `kubernetes:///NAMESPACE`. `elect run -b` takes the same URLs, with the same variables for
    /// credentials. The name of an election has 1 to 128 letters, digits and `. _ - @ : + =`, as for `elect run -e`.
    ///
    /// It sends nothing, and starts no thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL names no store, if something that it names cannot be read, or if the election
    /// cannot have this name.
    pub fn new(url: &str, election: &str) -> Result<Self, Error> {
        let election = election.parse().map_err(|why: ElectionNameError| {
            let shown = BackendUrl::shown(election);
            Error::Invalid(format!("{shown:?} cannot name an election: {why}"))
        })?;
        let store = store_of(url)?;
        let label = identity::label_of_host(&identity::host_name());
        let options = TimingOptions::usual(&store.profile());
        Ok(Self { store, election, label, options, require_strong: false, has_led: Arc::default() })
    }

    /// Sets the label that people see of this candidate: 1 to 64 printable ASCII characters without spaces and `/`. The
    /// default is the name of this machine.
    pub fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Sets the length of lease to ask for, from 1 s to 24 h. The default is 15 s, and 60 s where each request is billed. After a leader has crashed, the
    /// election has no leader for this long. It has no meaning where leases do not end by time (`file:`).
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Sets the time that the program has to stop when leadership is being lost or given up. It lasts from the end of
    /// [`Validity::lost`] to the [deadline](Validity::deadline). The default is 4/15 of the TTL. A lease has to leave
    /// time for it.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.options.kill_grace = Some(grace);
        self
    }

    /// Sets the greatest difference between the rates of this machine's clock and the store's, as a share below 1. The
    /// default is 0.1. In a store that counts no leases, it is the difference between the clocks of two candidates, of
    /// which each gets half. It has no meaning where leases do not end by time.
    pub const fn max_clock_drift(mut self, share: f64) -> Self {
        self.options.max_clock_drift = share;
        self
    }

    /// Refuses a store whose promise is weak, such as Redis: there two candidates may lead at a time after a fail-over.
    /// [`lead`](Campaign::lead) then returns [`Error::Invalid`], and sends nothing.
    pub const fn require_strong(mut self) -> Self {
        self.require_strong = true;
        self
    }

    /// Takes part, and waits without a limit until it leads. It queues where the store does.
    ///
    /// A leadership may be lost again before a busy program sees it. Its validity tells.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the options contradict each other or the store. [`Error::Unreached`] if the store never
    /// answered, or answered and took no entry. [`Error::Refused`] if it refuses. If this campaign has led before, a
    /// refusal is [`Error::Unreached`]. [`Error::Failed`] if this machine does not permit leading. Once the store has
    /// given a place, the campaign waits through outages and refusals.
    ///
    /// # Cancellation
    /// Dropping the future leaves the election in the background, within seconds, even in the instant of a win. So a
    /// timeout around it limits the wait.
    pub async fn lead(&self) -> Result<Leadership, Error> {
        loop {
            if let Some(leadership) = self.enter(Wait::Forever).await? {
                return Ok(leadership);
            }
        }
    }

    /// Does the same as [`lead`](Campaign::lead), but does not wait. Returns `None` if another candidate leads or is
    /// ahead, or if the election is paused. In a store that counts no leases it waits until the candidates ahead are
    /// known to be alive or dead. That takes one and a half TTLs at most, or 10 s if that is longer.
    ///
    /// # Errors
    /// Those of [`lead`](Campaign::lead).
    ///
    /// # Cancellation
    /// The same as for [`lead`](Campaign::lead).
    pub async fn try_lead(&self) -> Result<Option<Leadership>, Error> {
        self.enter(Wait::No).await
    }

    async fn enter(&self, wait: Wait) -> Result<Option<Leadership>, Error> {
        let candidature = self.candidature(wait)?;
        let id = candidature.candidate.id.clone();
        let engine = Engine::shared()?;
        let (told, validity) = watch::channel(Told::default());
        let told = Arc::new(told);
        let (tell, won) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let work = Work::new(Arc::clone(&told), tell, released);
        let task = candidature.take_part(Arc::clone(&engine), work, told);
        engine.spawn(async {
            let _ = end.send(task.await);
        });
        match won.await {
            Ok(token) => {
                self.has_led.store(true, Ordering::Relaxed);
                let validity = Validity::new(validity);
                Ok(Some(Leadership { id, token, validity, release, ended }))
            }
            Err(_) => ended.await.unwrap_or_else(|_| Err(Error::stopped())).map(|()| None),
        }
    }

    fn candidature(&self, wait: Wait) -> Result<Candidature, Error> {
        let timing = self.timing()?;
        let label = identity::label(self.label.clone()).map_err(Error::invalid)?;
        let program = std::env::args_os().next().unwrap_or_default();
        let has_led = self.has_led.load(Ordering::Relaxed);
        Ok(Candidature {
            store: Arc::clone(&self.store),
            election: self.election.clone(),
            candidate: Candidate {
                id: identity::candidate_id(&label),
                host: identity::host_name(),
                pid: std::process::id(),
                command: program.to_string_lossy().into_owned(),
                containment: CONTAINMENT.to_owned(),
                priority: Candidate::USUAL_PRIORITY,
                division: Division::Whole,
                work: None,
            }
            .cleaned(),
            timing,
            wait,
            let_in: if has_led { LetIn::Before } else { LetIn::Never },
        })
    }

    fn timing(&self) -> Result<Timing, Error> {
        let TimingOptions { ttl, max_clock_drift: drift, .. } = self.options;
        if ttl > LONGEST_TTL {
            return Err(Error::Invalid("a lease takes 24 hours at most".to_owned()));
        }
        if !(0.0..1.0).contains(&drift) {
            let what = format!("a clock drift of {drift} is not a share below one, such as 0.1");
            return Err(Error::Invalid(what));
        }
        let profile = self.store.profile();
        if self.require_strong && profile.promise == Promise::Weak {
            let what = "require_strong needs a store with a strong promise; that of";
            return Err(Error::Invalid(format!("{what} {} is weak", profile.location)));
        }
        Timing::new(&self.options, profile.lease).map_err(Error::invalid)
    }
}

impl fmt::Debug for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign")
            .field("store", &self.store.profile().location)
            .field("election", &self.election)
            .field("label", &self.label)
            .field("options", &self.options)
            .field("require_strong", &self.require_strong)
            .field("has_led", &self.has_led)
            .finish()
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::{Campaign, Leadership, Validity};

    /// All types can be sent to other threads, on any executor.
    #[test]
    fn nothing_is_bound_to_a_thread() {
        fn is_free<T: Send + Sync>() {}
        fn may_move<T: Send>(_: T) {}
        is_free::<(Campaign, Leadership, Validity, super::Error)>();
        let campaign = Campaign::new("file:///nowhere", "job").unwrap();
        may_move((campaign.lead(), campaign.try_lead()));
        let _ = |leadership: Leadership, validity: &Validity| {
            may_move((leadership.resign(), validity.lost()));
        };
    }
}
