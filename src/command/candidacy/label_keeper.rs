//! Keeps the label of the leader's pod in step with the leadership. This happens beside the engine, which never
//! waits for it.

use std::time::Duration;

use anyhow::Context;
use elect_api::{Error, ErrorKind};
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::config::{self, CampaignPlan, PodLabel};
use crate::report::{Complaints, Level, Log, chain};

/// The pause after the first failure. Each further pause is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Sets the label on the pod while this candidate leads, as far as the store allows it.
///
/// One task makes the changes one after another, and repeats those that failed. It first removes a label that an
/// earlier process may have left on the pod.
pub(in crate::command) struct LabelKeeper {
    wanted: Sender<bool>,
    /// The last change that was tried: whether it set the label. `None` while it goes on.
    tried: Receiver<Option<bool>>,
    limit: Duration,
    pod: String,
    log: Log,
    task: JoinHandle<()>,
}

impl LabelKeeper {
    /// Starts the task on the present runtime, if the plan asks for a label.
    ///
    /// # Errors
    /// The name of this pod is unknown, or the store cannot be used.
    pub(in crate::command) fn of(plan: &CampaignPlan, log: &Log) -> anyhow::Result<Option<Self>> {
        let label = config::pod_label(plan).context("cannot label the pod")?;
        Ok(label.map(|label| Self::keep(label, log)))
    }

    fn keep(label: Box<dyn PodLabel>, log: &Log) -> Self {
        let (wanted, wants) = watch::channel(false);
        let (tell, tried) = watch::channel(None);
        let (limit, pod) = (label.limit(), label.pod());
        let work = Work {
            label,
            log: log.clone(),
            wants,
            ours: Trouble::default(),
            others: Trouble::default(),
            others_are_done: false,
            is_in_doubt: false,
        };
        let task = tokio::spawn(work.go_on(tell));
        Self { wanted, tried, limit, pod, log: log.clone(), task }
    }

    /// Sets whether the pod shall have the label from now on.
    pub(super) fn want(&self, leads: bool) {
        self.wanted.send_if_modified(|wanted| std::mem::replace(wanted, leads) != leads);
    }

    /// Waits until the removal of the label was tried, for as long as one change may take.
    pub(super) async fn see_out(&mut self) {
        self.want(false);
        let removed = self.tried.wait_for(|tried| *tried == Some(false));
        if timeout(self.limit, removed).await.is_err() {
            self.log.warn(format_args!(
                "--pod-label: the label of the pod {} is not known to be removed: the next leader removes it",
                self.pod
            ));
        }
    }
}

impl Drop for LabelKeeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The state of the task.
struct Work {
    label: Box<dyn PodLabel>,
    log: Log,
    wants: Receiver<bool>,
    ours: Trouble,
    others: Trouble,
    /// Other pods have lost the label since this leadership began, or elect has no right to change them.
    others_are_done: bool,
    /// A request to set the label had no answer, so it may take effect after a removal.
    is_in_doubt: bool,
}

/// The last failure that people were told of, unless it is over.
#[derive(Default)]
struct Trouble(Complaints);

impl Work {
    async fn go_on(mut self, tell: Sender<Option<bool>>) {
        let mut pause = PAUSE;
        loop {
            let leads = *self.wants.borrow_and_update();
            tell.send_replace(None);
            let is_done = if leads { self.mark().await } else { self.unmark().await };
            tell.send_replace(Some(leads));
            tokio::select! {
                changed = self.wants.changed() => match changed {
                    Ok(()) => pause = PAUSE,
                    Err(_) => return,
                },
                () = sleep(pause), if !is_done => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    /// Sets the label. Returns whether there is nothing left to do.
    async fn mark(&mut self) -> bool {
        if !self.others_are_done {
            let cleared = tokio::select! {
                biased;
                // A resignation ends the wait: removing this pod's label must not wait for other pods.
                _ = self.wants.changed() => {
                    self.wants.mark_changed();
                    return false;
                }
                cleared = self.label.remove_from_others() => cleared,
            };
            let is_denied = |error: Error| error.kind() == ErrorKind::Denied;
            self.others.judge(&self.log, "remove the label of other pods", &cleared);
            self.others_are_done = cleared.map_or_else(is_denied, |()| true);
        }
        let set = self.label.set().await;
        self.ours.judge(&self.log, &format!("label the pod {}", self.label.pod()), &set);
        self.is_in_doubt = set.as_ref().is_err_and(|error| error.kind() == ErrorKind::Ambiguous);
        if set.is_ok() {
            self.log
                .debug(format_args!("the pod {} has the label of the leader", self.label.pod()));
        }
        set.is_ok() && self.others_are_done
    }

    /// Removes the label. Returns whether there is nothing left to do.
    async fn unmark(&mut self) -> bool {
        self.others_are_done = false;
        let removed = self.label.remove().await;
        let what = format!("remove the label of the pod {}", self.label.pod());
        self.ours.judge(&self.log, &what, &removed);
        // A request without an answer may still set the label, so the label is removed once more.
        removed.is_ok() && !std::mem::take(&mut self.is_in_doubt)
    }
}

impl Trouble {
    /// Reports a failure, once for as long as the error stays the same, at any attempted change.
    fn judge(&mut self, log: &Log, what: &str, outcome: &Result<(), Error>) {
        let Err(error) = outcome else {
            self.0.end();
            return;
        };
        let why = chain(error);
        if let Some(more) = self.0.tell(Level::Warn, &why) {
            log.warn(format_args!("--pod-label: cannot {what}: {why}{more}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;

    use super::*;
    use crate::config::{LogFormat, Verbosity};

    /// The script of a store: how each change ends, and which changes were asked for.
    #[derive(Default)]
    struct Script {
        asked: Vec<&'static str>,
        denies_list: bool,
        /// The number of changes that still fail.
        failures: u32,
        hangs: bool,
    }

    struct Scripted(Arc<Mutex<Script>>);

    impl Scripted {
        async fn ask(&self, what: &'static str) -> Result<(), Error> {
            let hangs = {
                let mut script = self.0.lock().expect("no panic");
                script.asked.push(what);
                if what == "others" && script.denies_list {
                    return Err(Error::new(ErrorKind::Denied, "no"));
                }
                if script.failures > 0 {
                    script.failures -= 1;
                    return Err(Error::new(ErrorKind::Unreachable, "away"));
                }
                script.hangs
            };
            if hangs {
                sleep(self.limit()).await;
                return Err(Error::new(ErrorKind::Ambiguous, "late"));
            }
            Ok(())
        }
    }

    #[async_trait]
    impl PodLabel for Scripted {
        fn pod(&self) -> String {
            "p".to_owned()
        }

        fn limit(&self) -> Duration {
            Duration::from_secs(2)
        }

        async fn set(&self) -> Result<(), Error> {
            self.ask("set").await
        }

        async fn remove(&self) -> Result<(), Error> {
            self.ask("remove").await
        }

        async fn remove_from_others(&self) -> Result<(), Error> {
            self.ask("others").await
        }
    }

    fn keeper(script: Script) -> (LabelKeeper, Arc<Mutex<Script>>) {
        let script = Arc::new(Mutex::new(script));
        let log = Log::new(Verbosity::Quiet, LogFormat::Text, || std::time::UNIX_EPOCH);
        (LabelKeeper::keep(Box::new(Scripted(Arc::clone(&script))), &log), script)
    }

    /// Returns the changes of so many seconds. The clock of the test moves on whenever all tasks wait.
    async fn asked(script: &Mutex<Script>, seconds: u64) -> Vec<&'static str> {
        sleep(Duration::from_secs(seconds)).await;
        std::mem::take(&mut script.lock().expect("no panic").asked)
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_label_is_removed_first_and_the_leader_has_it_alone() {
        let (mut keeper, script) = keeper(Script::default());
        assert_eq!(asked(&script, 100).await, ["remove"]);
        keeper.want(true);
        keeper.want(true);
        assert_eq!(asked(&script, 100).await, ["others", "set"]);
        keeper.see_out().await;
        assert_eq!(asked(&script, 100).await, ["remove"]);
        keeper.want(true);
        assert_eq!(asked(&script, 100).await, ["others", "set"]);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_label_requests_are_repeated_after_pauses() {
        let (keeper, script) = keeper(Script { failures: 3, ..Script::default() });
        assert_eq!(asked(&script, 8).await, ["remove"; 4]);
        keeper.want(true);
        script.lock().expect("no panic").failures = 4;
        assert_eq!(asked(&script, 8).await, ["others", "set", "others", "set", "others", "set"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_is_denied_is_asked_for_once_in_a_leadership() {
        let (keeper, script) = keeper(Script { denies_list: true, ..Script::default() });
        assert_eq!(asked(&script, 1).await, ["remove"]);
        keeper.want(true);
        assert_eq!(asked(&script, 100).await, ["others", "set"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_exit_waits_no_longer_than_one_change_takes() {
        let (mut keeper, script) = keeper(Script::default());
        asked(&script, 1).await;
        keeper.want(true);
        asked(&script, 1).await;
        script.lock().expect("no panic").hangs = true;
        assert!(timeout(Duration::from_millis(2100), keeper.see_out()).await.is_ok());
        // A removal that fails at once ends the wait.
        script.lock().expect("no panic").hangs = false;
        keeper.want(true);
        asked(&script, 10).await;
        script.lock().expect("no panic").failures = 1;
        assert!(timeout(Duration::from_millis(1), keeper.see_out()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_label_that_may_be_set_late_is_removed_twice() {
        let (keeper, script) = keeper(Script::default());
        asked(&script, 1).await;
        script.lock().expect("no panic").hangs = true;
        keeper.want(true);
        // The list of other pods hangs as well. The resignation does not wait for it.
        assert_eq!(asked(&script, 3).await, ["others", "set"]);
        keeper.want(false);
        script.lock().expect("no panic").hangs = false;
        assert_eq!(asked(&script, 100).await, ["remove", "remove"]);
    }
}
