//! The round over all servers of a URL, for `elect doctor`.

use std::time::Duration;

use elect_api::{
    Clock, Endpoint, EndpointAnswer, Error, Examination, Finding, StoreId, StoreIdentity, Supply,
    Unit, middle,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

#[cfg(test)]
use crate::Host;

/// The longest time for one answer.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
/// The number of questions to each server.
const QUESTIONS: usize = 5;
/// A server that takes longer than this is asked no further question.
const LONG: Duration = Duration::from_secs(1);

/// The outcome of a visit to each server, in the order of the URL. `R` describes a server that has answered.
pub struct Round<R>(Vec<(String, Result<R, Error>)>);

impl<R: Send + 'static> Round<R> {
    /// Visits all hosts at once. `visit` gets the place of the host in the list.
    pub async fn visit<'a, H: ToString + 'a, V>(
        hosts: impl IntoIterator<Item = &'a H>,
        visit: impl Fn(usize, &'a H) -> V,
    ) -> Self
    where
        V: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let mut visits = JoinSet::new();
        for (place, host) in hosts.into_iter().enumerate() {
            let (address, visit) = (host.to_string(), visit(place, host));
            visits.spawn(async move { (place, (address, visit.await)) });
        }
        let mut ended = visits.join_all().await;
        ended.sort_by_key(|(place, _)| *place);
        Self(ended.into_iter().map(|(_, visit)| visit).collect())
    }

    /// The servers that have answered, with their addresses.
    pub fn respondents(&self) -> Vec<(&str, &R)> {
        self.0
            .iter()
            .filter_map(|(address, visit)| Some((&**address, visit.as_ref().ok()?)))
            .collect()
    }

    /// All servers, as a report shows them.
    pub fn endpoints(&self, answer: impl Fn(&R) -> EndpointAnswer) -> Vec<Endpoint> {
        let endpoint = |(address, visit): &(String, Result<R, Error>)| Endpoint {
            address: address.clone(),
            answer: visit.as_ref().map(&answer).map_err(Clone::clone),
        };
        self.0.iter().map(endpoint).collect()
    }
}

/// A server of a database that has answered.
pub struct Respondent {
    /// The version of its program.
    pub version: String,
    /// What it is beside the others, as in `primary`.
    pub role: &'static str,
    /// The id of the store, if it has one.
    pub store: Option<StoreId>,
    /// Whether it accepts writes.
    pub is_primary: bool,
    /// What is wrong there.
    pub findings: Vec<Finding>,
    /// The greatest number of connections, and the present one.
    pub connections: Option<(u64, u64)>,
}

impl Round<(Duration, Respondent)> {
    /// All that the servers of one database have answered. Two that accept writes are an error.
    pub(crate) fn examination(&self, product: &str) -> Examination {
        let respondents = self.respondents();
        let mut findings = Vec::new();
        let mut supplies = Vec::new();
        for (address, (_, respondent)) in &respondents {
            findings.extend(respondent.findings.iter().cloned());
            supplies.extend(respondent.connections.map(|(most, used)| Supply {
                what: format!("connections of {product} at {address}"),
                unit: Unit::Pieces,
                most: Some(most),
                used: Some(used),
            }));
        }
        let primaries = respondents.into_iter().filter(|(_, (_, it))| it.is_primary);
        let primaries: Vec<_> = primaries.map(|(address, _)| address).collect();
        if primaries.len() > 1 {
            findings.push(Finding::error(
                format!(
                    "{} all accept writes: two candidates could lead at once",
                    primaries.join(" and ")
                ),
                "stop the old primary, and name the servers of one cluster only",
            ));
        }
        Examination {
            endpoints: self.endpoints(|(round_trip, respondent)| EndpointAnswer {
                round_trip: *round_trip,
                version: Some(respondent.version.clone()),
                role: Some(respondent.role.to_owned()),
                store: StoreIdentity::of(respondent.store.clone()),
            }),
            supplies,
            findings,
            ..Examination::default()
        }
    }
}

/// How long answers take over an open connection, and what the last one was.
pub struct Measured<T> {
    /// The median.
    pub round_trip: Duration,
    /// The last answer.
    pub last: T,
}

/// Asks a server the same question several times.
///
/// # Errors
/// The error of the first answer; `None` if there was no answer in time.
pub async fn measure<T, E, A>(clock: &Clock, ask: impl Fn() -> A) -> Result<Measured<T>, Option<E>>
where
    A: Future<Output = Result<T, E>>,
{
    let (mut spans, mut last) = (Vec::new(), Err(None));
    while spans.len() < QUESTIONS && spans.last().is_none_or(|span| *span < LONG) {
        let sent = clock();
        match (timeout(ANSWER_TIMEOUT, ask()).await, &last) {
            (Ok(Ok(answer)), _) => last = Ok(answer),
            (_, Ok(_)) => break,
            (Ok(Err(error)), Err(_)) => return Err(Some(error)),
            (Err(_), Err(_)) => return Err(None),
        }
        spans.push(clock().since(sent));
    }
    last.map(|last| Measured { round_trip: middle(spans), last })
}

/// The advice to name more servers, if the URL names fewer than have a vote. `of` says of what they are, as in
/// `members of the cluster`.
pub fn unnamed(named: usize, voters: usize, of: &str) -> Option<Finding> {
    (named < voters).then(|| {
        Finding::note(
            format!("the URL names {named} of the {voters} {of}"),
            "name all of them, separated by commas, so that any of them may fail; or have what the URL names find \
             one that lives",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use elect_api::{Boottime, ErrorKind};

    use super::*;

    #[tokio::test]
    async fn a_round_keeps_the_order_of_the_url() {
        let hosts = [1, 2, 3].map(|port| Host { name: "a".to_owned(), port });
        let round = Round::visit(&hosts, |place, host| {
            let port = host.port;
            async move {
                for _ in place..3 {
                    tokio::task::yield_now().await;
                }
                if port == 2 { Err(Error::new(ErrorKind::Unreachable, "no")) } else { Ok(port) }
            }
        });
        let round = round.await;
        assert_eq!(round.respondents(), [("a:1", &1), ("a:3", &3)]);
        let endpoints = round.endpoints(|_| EndpointAnswer {
            round_trip: Duration::ZERO,
            version: None,
            role: None,
            store: StoreIdentity::Untold,
        });
        let shown: Vec<_> = endpoints.iter().map(|it| (&*it.address, it.answer.is_ok())).collect();
        assert_eq!(shown, [("a:1", true), ("a:2", false), ("a:3", true)]);
    }

    #[test]
    fn a_url_that_names_too_few_is_told() {
        assert_eq!(unnamed(3, 3, "members"), None);
        let told = unnamed(1, 3, "members").expect("a finding").what;
        assert_eq!(told, "the URL names 1 of the 3 members");
    }

    #[tokio::test]
    async fn the_first_failure_counts_and_a_later_one_ends_the_questions() {
        let ticks = AtomicUsize::new(0);
        let clock: Clock = Arc::new(|| Boottime::from_boot(Duration::ZERO));
        let ask = |good: usize| {
            let ticks = &ticks;
            ticks.store(0, Ordering::Relaxed);
            move || {
                let tick = ticks.fetch_add(1, Ordering::Relaxed);
                async move { if tick < good { Ok(tick) } else { Err("no") } }
            }
        };
        assert_eq!(measure(&clock, ask(0)).await.err(), Some(Some("no")));
        assert_eq!(measure(&clock, ask(2)).await.ok().map(|it| it.last), Some(1));
        assert_eq!(measure(&clock, ask(99)).await.ok().map(|it| it.last), Some(QUESTIONS - 1));
    }
}
