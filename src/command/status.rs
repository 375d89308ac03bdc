//! `elect status`: who leads and who waits.

use std::time::SystemTime;

use anyhow::Context;
use elect_api::{ElectionName, Store};

use super::attempts::insist;
use crate::config::{self, OutputFormat, StatusPlan};
use crate::report::{self, ElectionStatus, Log, StatusReport};

/// How often a store is asked.
const ATTEMPTS: u32 = 5;

/// Reports on the elections of a plan. The exit code is 0 if every named one has a leader, else 1.
///
/// # Errors
/// The store cannot be reached or read, or stdout cannot be written.
pub(super) fn status(plan: &StatusPlan, log: &Log, now: SystemTime) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let store = config::connect(&plan.backend)?;
    let location = store.profile().location;
    let report = runtime.block_on(look(&*store, &plan.elections, log));
    // A resolver may keep a thread for minutes.
    runtime.shutdown_background();
    let report = report?;
    if report.elections.is_empty() {
        log.warn(format_args!("there are no elections at {location}; `elect run` makes one"));
    }
    let text = match plan.output {
        OutputFormat::Table => {
            format!("backend: {}\n{}", report::escape(&location), report.table(now))
        }
        OutputFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
        OutputFormat::Yaml => serde_yaml::to_string(&report)?,
    };
    report::print(&text).context("cannot write to stdout")?;
    Ok(u8::from(!plan.elections.is_empty() && !report.is_led()))
}

/// Surveys the elections that are named, or else all.
async fn look(
    store: &dyn Store,
    named: &[ElectionName],
    log: &Log,
) -> anyhow::Result<StatusReport> {
    let profile = store.profile();
    let all = match named {
        [] => insist(&profile.location, ATTEMPTS, async || store.elections().await).await?,
        named => named.to_vec(),
    };
    let mut elections = Vec::with_capacity(all.len());
    for name in all {
        let survey =
            match insist(&profile.location, ATTEMPTS, async || store.survey(&name).await).await {
                Ok(survey) => survey,
                Err(error) if named.is_empty() => {
                    log.warn(format_args!("{name} is left out: {error:#}"));
                    continue;
                }
                Err(error) => return Err(error),
            };
        elections.push(ElectionStatus::new(&name, &profile, &survey));
    }
    Ok(StatusReport { elections })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use async_trait::async_trait;
    use elect_api::{
        Candidate, ElectionName, Entry, Error, ErrorKind, Leader, Lease, Order, Profile, Seat,
        Store, Survey, Token,
    };

    use super::look;
    use crate::config::{LogFormat, Verbosity};
    use crate::report::Log;

    /// A store with one election that is led and one that is not.
    struct Fake;

    #[async_trait]
    impl Store for Fake {
        fn profile(&self) -> Profile {
            Profile {
                scheme: "fake",
                location: "fake:here".to_owned(),
                lease: Lease::Unlimited,
                order: Order::Queue,
            }
        }

        async fn open(
            &self,
            _: &ElectionName,
            _: &Candidate,
            _: Duration,
        ) -> Result<Box<dyn Seat>, Error> {
            Err(Error::new(ErrorKind::Denied, "a status must not take part"))
        }

        async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
            if election.as_str() != "led" {
                return Ok(Survey::default());
            }
            let candidate = Candidate {
                id: "a".to_owned(),
                host: "web".to_owned(),
                pid: 1,
                command: "job".to_owned(),
                containment: "scan".to_owned(),
            };
            let entry = Entry { candidate, joined: Some(UNIX_EPOCH) };
            Ok(Survey {
                leader: Some(Leader {
                    entry,
                    token: Token::new(1),
                    since: Some(UNIX_EPOCH),
                    remaining: None,
                }),
                waiting: Vec::new(),
            })
        }

        async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
            Ok(["idle", "led"].iter().filter_map(|name| name.parse().ok()).collect())
        }
    }

    fn names_seen(named: &[&str]) -> (Vec<String>, bool) {
        let named: Vec<ElectionName> = named.iter().map(|name| name.parse().unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let report = runtime
            .block_on(look(
                &Fake,
                &named,
                &Log::new(Verbosity::Quiet, LogFormat::Text, || UNIX_EPOCH),
            ))
            .unwrap();
        assert!(report.elections.iter().all(|election| election.backend == "fake:here"));
        let led = report.is_led();
        (report.elections.into_iter().map(|election| election.election).collect(), led)
    }

    #[test]
    fn all_elections_if_none_is_named() {
        assert_eq!(names_seen(&[]), (vec!["idle".to_owned(), "led".to_owned()], false));
    }

    #[test]
    fn a_named_election_that_nobody_entered_has_no_leader() {
        assert_eq!(names_seen(&["led"]), (vec!["led".to_owned()], true));
        assert!(!names_seen(&["led", "unheard-of"]).1);
    }
}
