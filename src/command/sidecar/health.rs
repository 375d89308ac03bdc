//! Checks the health of a sidecar's application again and again. This happens beside the engine,
//! which never waits for it.

use std::convert::Infallible;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::command::candidacy::{HealthCheck, Leave, environment};
use crate::config::HealthPlan;
use crate::guard::Inherited;
use crate::report::Log;

/// The health of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fitness {
    /// No check has passed yet.
    Unknown,
    /// The application is healthy.
    Fit,
    /// The application is unhealthy, for this reason.
    Unfit(String),
}

pub(super) struct ApplicationHealth<'a> {
    /// `None` if nothing is checked.
    check: Option<HealthCheck<'a>>,
    log: &'a Log,
    told: watch::Sender<Fitness>,
}

impl<'a> ApplicationHealth<'a> {
    pub(super) fn new(
        plan: Option<&'a HealthPlan>,
        inherited: &'a Inherited,
        log: &'a Log,
        told: watch::Sender<Fitness>,
    ) -> Self {
        let check = plan.map(|plan| HealthCheck::new(plan, inherited, environment::for_helper));
        Self { check, log, told }
    }

    /// Checks the application, and reports changes.
    pub(super) async fn run_health_checks(&self) -> Infallible {
        let Some(check) = &self.check else {
            self.told.send_replace(Fitness::Fit);
            return std::future::pending().await;
        };
        let mut failures = 0_u32;
        // The leave of a sidecar's checks never ends. Only their time limit ends a check.
        let (_unchanged, mut leave) = watch::channel(Leave::default());
        loop {
            let pause = sleep(check.plan.interval);
            match check.run(&mut leave).await.outcome {
                Ok(()) => {
                    failures = 0;
                    self.passed();
                }
                Err(why) => {
                    failures = failures.saturating_add(1);
                    self.failed(failures, check.plan.threshold, &why);
                }
            }
            pause.await;
        }
    }

    fn passed(&self) {
        if *self.told.borrow() != Fitness::Fit {
            self.log.info("the application is well");
            self.told.send_replace(Fitness::Fit);
        }
    }

    fn failed(&self, failures: u32, threshold: u32, why: &str) {
        let is_new = match &*self.told.borrow() {
            Fitness::Unknown => failures == 1,
            Fitness::Fit => failures >= threshold,
            Fitness::Unfit(known) => *known != why,
        };
        self.log.debug(format_args!("the application did not pass: {why}"));
        if !is_new {
            return;
        }
        let was_fit = self.told.send_if_modified(|fitness| {
            let was_fit = *fitness == Fitness::Fit;
            if *fitness != Fitness::Unknown {
                *fitness = Fitness::Unfit(why.to_owned());
            }
            was_fit
        });
        if !was_fit {
            self.log.warn(format_args!(
                "the application is not well: {why}; taking no part until it is"
            ));
        }
    }
}
