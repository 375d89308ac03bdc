//! What `elect doctor` learns about a bucket.

use elect_api::Finding;
use elect_remote::Respondent;

use crate::error::{Failure, element};
use crate::session::proof::is_without_deletes;
use crate::session::{Session, is_without_bucket};

/// Whether the bucket is there.
pub(crate) enum State {
    Missing,
    There,
}

pub(crate) async fn state(session: &Session) -> Result<State, Failure> {
    match session.read(&session.bucket.id()).await {
        Ok(_) => Ok(State::There),
        Err(failure) if is_without_bucket(&failure) => Ok(State::Missing),
        Err(failure) => Err(failure),
    }
}

/// What `elect doctor` shows of the bucket.
pub(crate) async fn examine(session: &Session, state: &State) -> Respondent {
    let (bucket, server) = (&session.bucket.name, session.server.clone());
    let mut findings = match state {
        State::Missing => vec![Finding::error(
            format!("there is no bucket {bucket}"),
            "correct its name, the region or the endpoint, or make it as elect help s3 shows",
        )],
        State::There if session.noted().is_some() => Vec::new(),
        State::There => vec![Finding::note(
            format!("no candidate has proven yet that {server:?} heeds the conditions of a put"),
            "elect run does so before it first leads there, and refuses a store that does not",
        )],
    };
    if matches!(state, State::There) {
        findings.extend(settings(session).await);
        if is_without_deletes(session).await {
            findings.push(Finding::note(
                "the credentials may not remove objects: each deleted row leaves one of 16 bytes behind",
                format!("permit s3:DeleteObject on {}", session.bucket.arn()),
            ));
        }
    }
    Respondent {
        version: server,
        role: "bucket",
        store: session.store().cloned(),
        is_primary: true,
        findings,
        connections: None,
    }
}

/// The settings that do harm. What the credentials may not read, or the store does not know, is passed over.
async fn settings(session: &Session) -> Vec<Finding> {
    let (bucket, mut findings) = (&session.bucket.name, Vec::new());
    let versioning = session.setting("versioning").await.unwrap_or_default();
    if element(&versioning, "Status") == Some("Enabled") {
        findings.push(Finding::note(
            format!("the bucket {bucket} keeps the old version of an object at each renewal"),
            "take a bucket without versioning, or one with a rule that removes old versions soon",
        ));
    }
    let rules = session.setting("lifecycle").await.unwrap_or_default();
    if removes(&rules, &session.bucket.folder()) {
        findings.push(Finding::warning(
            format!("the bucket {bucket} has a rule that removes old objects"),
            "limit it to other prefixes: elect would forget fences and values that are old",
        ));
    }
    findings
}

/// Returns whether a rule of these removes objects below a folder, which have no tags.
fn removes(rules: &str, folder: &str) -> bool {
    rules.split("<Rule>").skip(1).any(|rule| {
        let rule = rule.split("</Rule>").next().unwrap_or_default();
        let ends = element(rule, "Expiration").unwrap_or_default();
        let prefix = element(rule, "Prefix").unwrap_or_default();
        element(rule, "Status") == Some("Enabled")
            && ["<Days>", "<Date>"].iter().any(|end| ends.contains(end))
            && !rule.contains("<Tag>")
            && (prefix.starts_with(folder) || folder.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_judged_by_itself() {
        let rule = |filter: &str, status: &str, what: &str| {
            format!("<Rule><ID>a</ID>{filter}<Status>{status}</Status>{what}</Rule>")
        };
        let days = "<Expiration><Days>9</Days></Expiration>";
        let of = |prefix: &str| format!("<Filter><Prefix>{prefix}</Prefix></Filter>");
        let tagged = "<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>";
        let large = "<Filter><ObjectSizeGreaterThan>9</ObjectSizeGreaterThan></Filter>";
        for (rule, is_bad) in [
            (rule("<Filter/>", "Enabled", days), true),
            (rule(&of(""), "Enabled", days), true),
            (rule(&of("jobs/"), "Enabled", days), true),
            (rule(&of("jobs/elect/a/"), "Enabled", days), true),
            (rule("<Prefix>jobs</Prefix>", "Enabled", days), true),
            (rule(&format!("<Filter><And>{}</And></Filter>", of("jobs")), "Enabled", days), true),
            (rule(large, "Enabled", days), true),
            (rule("", "Enabled", "<Expiration><Date>2026-01-01</Date></Expiration>"), true),
            (rule(&of("jobs/elected"), "Enabled", days), false),
            (rule(&of("other/"), "Enabled", days), false),
            (rule("", "Disabled", days), false),
            (rule(tagged, "Enabled", days), false),
            (
                rule(
                    "",
                    "Enabled",
                    "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>",
                ),
                false,
            ),
            (
                rule(
                    "",
                    "Enabled",
                    "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>",
                ),
                false,
            ),
        ] {
            let other =
                "<Rule><Status>Disabled</Status><Expiration><Days>1</Days></Expiration></Rule>";
            let rules = format!("<LifecycleConfiguration>{other}{rule}</LifecycleConfiguration>");
            assert_eq!(removes(&rules, "jobs/elect/"), is_bad, "{rule}");
        }
        let other = rule(&of("other/"), "Enabled", days);
        assert!(removes(&other, ""), "elect's objects begin with any election");
        assert!(!removes("", "jobs/"));
    }
}
