//! Whether the application is well: asked again and again, beside the engine and never in its way.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::get::status_of;
use crate::command::candidacy::{Errand, Helper, environment};
use crate::config::{CommandLine, HealthPlan, HealthUrl};
use crate::guard::Inherited;
use crate::report::Log;

/// What is known of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fitness {
    /// No check has passed yet.
    Unknown,
    /// It is well.
    Fit,
    /// It is not, for this reason.
    Unfit(String),
}

pub(super) struct Health<'a> {
    plan: &'a HealthPlan,
    inherited: &'a Inherited,
    log: &'a Log,
    told: watch::Sender<Fitness>,
}

impl<'a> Health<'a> {
    pub(super) const fn new(
        plan: &'a HealthPlan,
        inherited: &'a Inherited,
        log: &'a Log,
        told: watch::Sender<Fitness>,
    ) -> Self {
        Self { plan, inherited, log, told }
    }

    /// Looks, and tells what changes. Never ends.
    pub(super) async fn keep_looking(&self) {
        if self.plan.url.is_none() && self.plan.command.is_none() {
            self.told.send_replace(Fitness::Fit);
            return std::future::pending().await;
        }
        let mut failures = 0_u32;
        loop {
            let pause = sleep(self.plan.interval);
            match self.look().await {
                Ok(()) => {
                    failures = 0;
                    self.passed();
                }
                Err(why) => {
                    failures = failures.saturating_add(1);
                    self.failed(failures, &why);
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

    fn failed(&self, failures: u32, why: &str) {
        let is_new = match &*self.told.borrow() {
            Fitness::Unknown => failures == 1,
            Fitness::Fit => failures >= self.plan.threshold,
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

    async fn look(&self) -> Result<(), String> {
        let limit = self.plan.timeout;
        if let Some(url) = &self.plan.url {
            look_at(url, limit).await?;
        }
        match &self.plan.command {
            Some(command) => self.ask(command, limit).await,
            None => Ok(()),
        }
    }

    /// Runs a health command as commands are run: whatever it does, all of it is dead in the end.
    async fn ask(&self, command: &CommandLine, limit: Duration) -> Result<(), String> {
        let environment = environment::for_helper();
        let errand = Errand { command, environment, limit, lease: None };
        let mut helper = Helper::start(errand, self.inherited)?;
        // Where a process cannot be killed, its guardian is left to wait for it.
        match timeout(limit * 2, helper.over()).await {
            Ok(outcome) => {
                helper.dismiss();
                outcome
            }
            Err(_) => Err("it cannot be killed".to_owned()),
        }
    }
}

async fn look_at(url: &HealthUrl, limit: Duration) -> Result<(), String> {
    match timeout(limit, status_of(url.uri())).await {
        Ok(Ok(status)) if status.is_success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{url} answered {status}")),
        Ok(Err(why)) => Err(format!("{url}: {why}")),
        Err(_) => Err(format!("{url} did not answer within {}", humantime::format_duration(limit))),
    }
}
