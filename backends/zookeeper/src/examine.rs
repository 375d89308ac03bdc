//! How each server is, asked over sessions of its own, which have no entry and are closed.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{
    Clock, EndpointAnswer, Error, ErrorKind, Examination, Finding, Grants, StoreIdentity,
};
use elect_remote::{ANSWER_TIMEOUT, Host, Measured, Round, measure, unnamed};
use tokio::time::timeout;
use zookeeper_client::Error as Zk;

use crate::client::Client;
use crate::error::not_let_in;
use crate::probe::{self, Diagnosis};
use crate::settings::Settings;
use crate::{connect, identity};

/// For what a server says without a session.
const LOOK_TIMEOUT: Duration = Duration::from_secs(4);
/// For a session.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);
/// Shorter, and longer, than servers grant that are set up as usual. What is shorter still the client library
/// cannot connect in.
const ASKED: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(24 * 60 * 60)];
/// Before it there are no containers, and a `create` returns too little.
const OLDEST: (u32, u32) = (3, 5);

/// A server that has answered.
struct Respondent {
    answer: EndpointAnswer,
    grants: Grants,
    /// How many servers of the ensemble have a vote, if that may be read.
    voters: Option<usize>,
}

/// Asks all servers at once.
pub(crate) async fn examine(settings: &Arc<Settings>, clock: Clock) -> Examination {
    let round = Round::visit(&settings.hosts, |_, host| {
        let (settings, host, clock) = (Arc::clone(settings), host.clone(), Arc::clone(&clock));
        async move { visit(&settings, &host, &clock).await }
    });
    let round = round.await;
    let respondents = round.respondents();
    let mut findings: Vec<_> =
        respondents.iter().flat_map(|(address, respondent)| misfits(address, respondent)).collect();
    findings.extend(unlike(&respondents));
    let voters = respondents.iter().filter_map(|(_, respondent)| respondent.voters).max();
    findings.extend(
        voters.and_then(|voters| unnamed(settings.hosts.len(), voters, "servers of the ensemble")),
    );
    let grants = || respondents.iter().map(|(_, respondent)| respondent.grants);
    Examination {
        grants: Grants {
            least: grants().filter_map(|grants| grants.least).max(),
            greatest: grants().filter_map(|grants| grants.greatest).min(),
        },
        // A client cannot see the time-out of another's session. None is longer than the greatest. Sessions end in
        // turns of a tick, and the greatest time-out is 20 ticks by default.
        longest_ending: grants().filter_map(|grants| grants.greatest).max().map(|it| it * 5 / 4),
        supplies: Vec::new(),
        findings,
        endpoints: round.endpoints(|respondent| respondent.answer.clone()),
    }
}

async fn visit(settings: &Arc<Settings>, host: &Host, clock: &Clock) -> Result<Respondent, Error> {
    let look = timeout(LOOK_TIMEOUT, probe::examine(host, settings.security.as_ref()));
    let said = match look.await.unwrap_or(Diagnosis::SILENT) {
        Diagnosis::Answers(said) => said,
        diagnosis => {
            let what = format!("cannot use ZooKeeper at {host}: {}", diagnosis.words());
            return Err(Error::new(diagnosis.kind(), what));
        }
    };
    let [short, long] = ASKED;
    let client = open(settings, host, long).await?;
    let greatest = client.session_timeout();
    // The leader of the ensemble has a part in each answer. No rights are needed.
    let measured = measure(clock, || client.sync("/")).await;
    let voters = voters(&client).await;
    let store = match timeout(ANSWER_TIMEOUT, identity::read(&client, settings)).await {
        Ok(Ok(id)) => StoreIdentity::of(id),
        _ => StoreIdentity::Untold,
    };
    close(client).await;
    let Ok(Measured { round_trip, .. }) = measured else {
        let what = format!("ZooKeeper at {host} grants a session, and then does not answer");
        return Err(Error::new(ErrorKind::Unreachable, what));
    };
    let least = match open(settings, host, short).await {
        Ok(client) => {
            let least = client.session_timeout();
            close(client).await;
            // Who grants what is asked for may grant less.
            Some(least).filter(|&least| least > short)
        }
        Err(_) => None,
    };
    Ok(Respondent {
        answer: EndpointAnswer {
            round_trip,
            version: version(&said),
            role: line(&said, "Mode: ").map(str::to_owned),
            store,
        },
        grants: Grants { least, greatest: Some(greatest) },
        voters,
    })
}

async fn open(settings: &Arc<Settings>, host: &Host, span: Duration) -> Result<Client, Error> {
    let opened = timeout(SESSION_TIMEOUT, connect::connect(settings, settings.spell(host), span));
    match opened.await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error @ Zk::AuthFailed)) => {
            Err(not_let_in(&format!("ZooKeeper at {host}"), settings.login.is_some())
                .because(error))
        }
        Ok(Err(error)) => {
            let what = format!("ZooKeeper at {host} is there, and grants no session");
            Err(Error::new(ErrorKind::Unreachable, what).because(error))
        }
        Err(_) => {
            let what = format!("ZooKeeper at {host} is there, and grants no session in time");
            Err(Error::new(ErrorKind::Unreachable, what))
        }
    }
}

/// A session that does not hear of its end is none that anybody waits for.
async fn close(client: Client) {
    let _ = timeout(ANSWER_TIMEOUT, connect::close(client)).await;
}

/// The number of servers that vote. The ensemble's configuration shows it to clients that may read it.
async fn voters(client: &Client) -> Option<usize> {
    let asked = client.get_config();
    let (text, _) = timeout(ANSWER_TIMEOUT, asked).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&text);
    let voters =
        text.lines().filter(|line| line.starts_with("server.") && line.contains(":participant"));
    Some(voters.count())
}

/// What follows this beginning of a line.
fn line<'t>(said: &'t str, beginning: &str) -> Option<&'t str> {
    said.lines().find_map(|line| line.strip_prefix(beginning)).map(str::trim)
}

/// The numbers of the version that a server says it has, without what it was built from.
fn version(said: &str) -> Option<String> {
    let text = line(said, "Zookeeper version: ")?;
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    Some(text[..end].trim_end_matches('.').to_owned()).filter(|version| !version.is_empty())
}

fn misfits(address: &str, respondent: &Respondent) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(version) = &respondent.answer.version {
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
        let [major, minor] = [numbers.next().flatten(), numbers.next().flatten()];
        if major.zip(minor).is_some_and(|version| version < OLDEST) {
            findings.push(Finding::error(
                format!(
                    "ZooKeeper at {address} is {version}, which lacks what elect needs (containers)"
                ),
                "upgrade it to 3.5 or newer",
            ));
        }
    }
    findings
}

/// A session that moves to a server which grants less ends earlier than it was told.
fn unlike(respondents: &[(&str, &Respondent)]) -> Option<Finding> {
    let (_, first) = respondents.first()?;
    if respondents.iter().all(|(_, respondent)| respondent.grants == first.grants) {
        return None;
    }
    let words: Vec<String> = respondents
        .iter()
        .map(|(address, Respondent { grants, .. })| {
            let [least, greatest] = [grants.least, grants.greatest]
                .map(|span| span.map_or_else(|| "?".to_owned(), |span| format!("{span:?}")));
            format!("{address} from {least} to {greatest}")
        })
        .collect();
    Some(Finding::warning(
        format!(
            "the servers grant sessions of different lengths ({}): a leader whose session moves to one that grants \
             less has to stop",
            words.join(", ")
        ),
        "give all servers the same tickTime, minSessionTimeout and maxSessionTimeout",
    ))
}

#[cfg(test)]
mod tests {
    use elect_api::Severity;

    use super::*;

    const SAID: &str = "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2022-02-25 08:49 UTC\n\
                        Latency min/avg/max: 0/0.0/0\nMode: follower\nNode count: 5\n";

    fn respondent(version: &str, role: &str, greatest: u64) -> Respondent {
        Respondent {
            answer: EndpointAnswer {
                round_trip: Duration::ZERO,
                version: Some(version.to_owned()),
                role: Some(role.to_owned()),
                store: StoreIdentity::Untold,
            },
            grants: Grants { least: None, greatest: Some(Duration::from_secs(greatest)) },
            voters: Some(3),
        }
    }

    #[test]
    fn a_server_says_its_version_and_its_mode() {
        assert_eq!(version(SAID).as_deref(), Some("3.8.0"));
        assert_eq!(line(SAID, "Mode: "), Some("follower"));
        assert_eq!(version("srvr is not executed because it is not in the whitelist."), None);
        assert_eq!(version("Zookeeper version: \n"), None);
    }

    #[test]
    fn a_server_that_is_too_old_is_found() {
        let severities = |version, role| -> Vec<Severity> {
            misfits("a:1", &respondent(version, role, 9))
                .iter()
                .map(|found| found.severity)
                .collect()
        };
        assert_eq!(severities("3.4.14", "leader"), [Severity::Error]);
        assert_eq!(severities("3.5.0", "leader"), []);
        assert_eq!(severities("3.10.1", "follower"), []);
    }

    #[test]
    fn servers_that_grant_differently_are_found() {
        let (one, same, other) = (
            respondent("3.8.0", "leader", 40),
            respondent("3.8.0", "follower", 40),
            respondent("3.8.0", "follower", 9),
        );
        assert_eq!(unlike(&[("a:1", &one), ("b:1", &same)]), None);
        let found = unlike(&[("a:1", &one), ("b:1", &same), ("c:1", &other)]).expect("a finding");
        assert!(found.what.contains("c:1 from ? to 9s"), "{found:?}");
    }
}
