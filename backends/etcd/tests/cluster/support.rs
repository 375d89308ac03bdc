//! Candidates for the tests, and the standings that tests expect of them.

use std::time::Duration;

use elect_api::{Candidate, ElectionName, Error, Seat, Standing, Store, Survey, Token, Wake};
use elect_testkit::oracle;

/// The TTL that the candidates ask for.
pub(crate) const TTL: Duration = Duration::from_secs(12);

/// The longest time for one attempt, as the engine derives it from that TTL.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(2);

pub(crate) fn job() -> ElectionName {
    "job".parse().expect("a good name")
}

/// One `elect run`: a store and a seat in it.
pub(crate) struct Runner {
    pub(crate) store: Box<dyn Store>,
    pub(crate) seat: Box<dyn Seat>,
}

impl Runner {
    pub(crate) async fn new(url: &str, id: &str) -> Self {
        Self::in_election(url, &job(), id).await
    }

    pub(crate) async fn in_election(url: &str, election: &ElectionName, id: &str) -> Self {
        let store = elect_etcd::connect(url).expect("a good URL");
        let candidate = Candidate::foreign(id);
        let seat = store.open(election, &candidate, TTL).await.expect("a seat");
        Self { store, seat }
    }

    /// Makes one refresh; `None` if it takes longer than [`ATTEMPT`].
    pub(crate) async fn attempt(&mut self) -> Option<Result<Standing, Error>> {
        tokio::time::timeout(ATTEMPT, self.refresh()).await.ok()
    }

    /// Makes one refresh, and returns its answer.
    pub(crate) async fn refresh(&mut self) -> Result<Standing, Error> {
        Ok(self.seat.refresh(oracle::now()).await?.standing)
    }

    /// Makes one refresh that must lead.
    pub(crate) async fn lead(&mut self) -> Token {
        match self.refresh().await {
            Ok(Standing::Leading { token, .. }) => token,
            Ok(other) => panic!("it was to lead but {}", in_words(&other)),
            Err(error) => panic!("it was to lead: {error}: {error:?}"),
        }
    }

    /// Makes one refresh that must wait behind `expected` candidates.
    pub(crate) async fn wait_behind(&mut self, expected: usize) -> Wake {
        match self.refresh().await {
            Ok(Standing::Waiting { ahead, wake, .. }) if ahead == expected => wake,
            Ok(other) => panic!("it was to wait behind {expected} but {}", in_words(&other)),
            Err(error) => panic!("it was to wait: {error}: {error:?}"),
        }
    }

    /// Refreshes as the engine does until there is an answer, at most `attempts` times.
    pub(crate) async fn within(&mut self, attempts: usize) -> Standing {
        let mut errors = Vec::new();
        for _ in 0..attempts {
            match self.attempt().await {
                Some(Ok(standing)) => return standing,
                Some(Err(error)) => {
                    assert!(!error.is_permanent(), "{error}: {error:?}");
                    errors.push(error.to_string());
                }
                None => errors.push("no answer".to_owned()),
            }
        }
        panic!("{attempts} attempts failed: {errors:#?}")
    }

    /// Makes one refresh that must fail.
    pub(crate) async fn failure(&mut self) -> Error {
        match self.refresh().await {
            Err(error) => error,
            Ok(other) => panic!("it was to fail but {}", in_words(&other)),
        }
    }

    pub(crate) async fn survey(&self) -> Survey {
        self.store.survey(&job()).await.expect("a survey")
    }

    /// The ids of all candidates in the election, the leader first.
    pub(crate) async fn line_up(&self) -> Vec<String> {
        let survey = self.survey().await;
        let leader = survey.leader.into_iter().map(|leader| leader.entry);
        leader.chain(survey.waiting).map(|entry| entry.candidate.id).collect()
    }
}

pub(crate) fn in_words(standing: &Standing) -> String {
    match standing {
        Standing::Leading { token, .. } => format!("leads with {token}"),
        Standing::Waiting { ahead, .. } => format!("waits behind {ahead}"),
        Standing::Evicted(why) | Standing::Gone(why) => why.clone(),
    }
}
