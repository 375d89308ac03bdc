//! The state of each server of the URL, and its faults.

use elect_api::Finding;
use elect_remote::{Respondent, Version, Versions};
use redis::Value;

use crate::error::Failure;
use crate::script::Scripts;
use crate::session::{Session, text};

/// The settings that `elect doctor` looks at.
const SETTINGS: [&str; 6] = [
    "appendonly",
    "appendfsync",
    "maxmemory-policy",
    "maxclients",
    "min-replicas-to-write",
    "min-replicas-max-lag",
];
/// The oldest one has all that the scripts and the protocol take.
const VERSIONS: Versions = Versions { product: "Redis", oldest: Version(6, 2, 0), defects: &[] };

/// What a server is asked about its settings; empty if it does not tell this user.
pub(crate) async fn state(session: &Session) -> Result<Vec<(String, String)>, Failure> {
    let mut question = redis::cmd("CONFIG");
    question.arg("GET").arg(&SETTINGS);
    let answer = match session.ask("state", &question).await {
        Ok(answer) => answer,
        Err(Failure::Refused(_)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure),
    };
    let Value::Map(pairs) = answer else { return Err(Failure::Odd("no settings")) };
    Ok(pairs.into_iter().filter_map(|(name, value)| text(name).zip(text(value))).collect())
}

/// The lines of `elect doctor` about a server.
pub(crate) fn examine(
    session: &Session,
    scripts: &Scripts,
    settings: &[(String, String)],
) -> Respondent {
    let (place, server) = (&session.place, &session.server);
    let number = |text: &str| text.parse::<u64>().ok();
    let setting = |name: &str| {
        settings.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    };
    let mut findings: Vec<_> = VERSIONS.findings(place, server.redis_version()).collect();
    if server.is_primary() {
        findings.extend(of_settings(place, server.get("connected_slaves"), setting));
    }
    if settings.is_empty() {
        findings.push(Finding::note(
            format!("{place} does not tell this user its settings"),
            format!(
                "an ACL that is enough for elect: {}; for this, add +config|get",
                scripts.rights()
            ),
        ));
    }
    Respondent {
        version: server.version(),
        role: if server.is_primary() { "primary" } else { "replica" },
        store: server.store(),
        is_primary: server.is_primary(),
        findings,
        connections: number(setting("maxclients")).zip(number(server.get("connected_clients"))),
    }
}

fn of_settings<'a>(place: &str, replicas: &str, setting: impl Fn(&str) -> &'a str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let policy = setting("maxmemory-policy");
    if policy.starts_with("allkeys") {
        findings.push(Finding::error(
            format!(
                "maxmemory-policy is {policy} at {place}: it may remove the record of a leader"
            ),
            "set maxmemory-policy to noeviction, or to a policy of volatile keys",
        ));
    }
    if setting("appendonly") == "no" {
        findings.push(Finding::warning(
            format!("appendonly is no at {place}: after a restart it has forgotten who leads"),
            "elect then waits 60 s before it lets another candidate lead; set appendonly yes",
        ));
    } else if setting("appendonly") == "yes" && setting("appendfsync") != "always" {
        findings.push(Finding::note(
            format!("appendfsync is {} at {place}: a power cut loses the newest writes", setting("appendfsync")),
            "elect then waits 60 s before it lets another candidate lead; appendfsync always loses none",
        ));
    }
    let (least, lag) = (setting("min-replicas-to-write"), setting("min-replicas-max-lag"));
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    if !least.is_empty() && number(least) < number(replicas) {
        findings.push(Finding::warning(
            format!(
                "{place} takes writes without {} of its {replicas} replicas, also if that one was promoted: two may \
                 lead at once",
                number(replicas) - number(least)
            ),
            format!("set min-replicas-to-write {replicas} and min-replicas-max-lag 10: that bounds it to 10 s"),
        ));
    } else if number(least) > 0 {
        findings.push(Finding::note(
            format!(
                "{place} takes writes for {lag} s after it has lost a replica that was promoted"
            ),
            format!("take a TTL of less than {} s", 60_u64.saturating_sub(number(lag) + 5)),
        ));
    }
    findings
}
