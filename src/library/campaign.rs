use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elect_api::{Candidate, Division, ElectionName, ElectionNameError, Store};
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

/// What others see in the place of a containment: there is none.
const CONTAINMENT: &str = "none";

/// A wish to lead an election: where, which, and as whom.
///
/// It does nothing before [`lead`](Campaign::lead), and may lead again and again. Each time it takes part as a
/// new candidate, among all others of the election, commands of `elect run` and sidecars included.
///
/// All campaigns of a process share one thread, and those with the same URL one connection where the store
/// allows for it; it needs no runtime of the caller's. Neither that thread nor a leadership
/// gets across a `fork` without `exec`.
#[derive(Clone)]
pub struct Campaign {
    store: Arc<dyn Store>,
    election: ElectionName,
    label: String,
    options: TimingOptions,
    has_led: Arc<AtomicBool>,
}

impl Campaign {
    /// A campaign in this election of the store at `url`: `file:///DIR`, `etcd://HOST,...`, `zk://HOST,...` or `kubernetes:///NAMESPACE`, as
    /// `elect run -b` takes it, with the same variables for credentials. An election's name is
    /// made of 1 to 128 letters, digits and `. _ - @ : + =`, as `elect run -e` takes it.
    ///
    /// Nothing is sent, and no thread is started.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL names no store, something that it names cannot be read, or the election cannot
    /// have this name.
    pub fn new(url: &str, election: &str) -> Result<Self, Error> {
        let election = election.parse().map_err(|why: ElectionNameError| {
            let shown = BackendUrl::shown(election);
            Error::Invalid(format!("{shown:?} cannot name an election: {why}"))
        })?;
        let store = store_of(url)?;
        let label = identity::label_of_host(&identity::host_name());
        Ok(Self {
            store,
            election,
            label,
            options: TimingOptions::default(),
            has_led: Arc::default(),
        })
    }

    /// What people are to know this candidate by: 1 to 64 printable ASCII characters without spaces and `/`. The name
    /// of this machine if this is not called.
    pub fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    /// The length of lease to ask for, 1 s to 24 h; 15 s if this is not called. It is how long nobody leads after a
    /// leader that crashed. Where leases do not end by time (`file:`) it has no meaning.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// How long the program may take to stop once leadership is being lost or given up: from the end of
    /// [`Validity::lost`] to the [deadline](Validity::deadline). 4/15 of the TTL if this is not called. A lease has to
    /// leave time for it.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.options.kill_grace = Some(grace);
        self
    }

    /// The greatest difference between the rates of this machine's clock and the store's, as a share: from 0 up to,
    /// and without, 1; 0.1 if this is not called. In a store that counts no leases it is that between the clocks of two
    /// candidates, each of which has half. Where leases do not end by time it has no meaning.
    pub const fn max_clock_drift(mut self, share: f64) -> Self {
        self.options.max_clock_drift = share;
        self
    }

    /// Takes part, and waits for as long as it takes to lead. It queues where the store does.
    ///
    /// A leadership may have been lost again by the time that a busy program gets to see it; its validity tells.
    ///
    /// # Errors
    /// [`Error::Invalid`] if what was asked for does not go together; [`Error::Unreached`] if the store never
    /// answered, or answered and took no entry; [`Error::Refused`] if it refuses, unless this
    /// campaign has led before: then that is [`Error::Unreached`]; [`Error::Failed`] if this machine does not allow for
    /// leading. A store that has given us a place and is out of reach later, or refuses us, is waited for.
    ///
    /// # Cancellation
    /// Dropping the future leaves the election in the background, within seconds, also in the instant of a win. So
    /// a timeout around it limits the wait.
    pub async fn lead(&self) -> Result<Leadership, Error> {
        loop {
            if let Some(leadership) = self.enter(Wait::Forever).await? {
                return Ok(leadership);
            }
        }
    }

    /// As [`lead`](Campaign::lead), but does not wait: `None` if somebody else leads or is before us, or the election
    /// is paused. In a store that counts no leases it waits until whoever is before us is known to live, or dead: for a
    /// TTL and a third of it at most.
    ///
    /// # Errors
    /// As [`lead`](Campaign::lead).
    ///
    /// # Cancellation
    /// As [`lead`](Campaign::lead).
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
        let lease = self.store.profile().lease;
        Timing::new(&self.options, lease).map_err(Error::invalid)
    }
}

impl fmt::Debug for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign")
            .field("store", &self.store.profile().location)
            .field("election", &self.election)
            .field("label", &self.label)
            .field("options", &self.options)
            .field("has_led", &self.has_led)
            .finish()
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::{Campaign, Leadership, Validity};

    /// All may go to other threads, on any executor.
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
