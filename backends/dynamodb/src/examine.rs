//! What `elect doctor` learns about a table.

use elect_api::Finding;
use elect_remote::Respondent;
use serde_json::{Value, json};

use crate::creation;
use crate::error::{Failure, NO_RIGHT};
use crate::item::{DOCUMENT, ELECTION};
use crate::session::{Operation, Session, TableName, is_without_table};

/// What the service says of the table.
pub(crate) enum State {
    /// There is none.
    Missing,
    /// The credentials may not read it.
    Denied,
    /// The description.
    Table(Value),
}

/// The service's description of the table.
pub(crate) async fn described(session: &Session) -> Result<Value, Failure> {
    let mut answer = session.ask(Operation::DESCRIBE, json!({})).await?;
    Ok(answer.get_mut("Table").map(Value::take).unwrap_or_default())
}

pub(crate) async fn state(session: &Session) -> Result<State, Failure> {
    match described(session).await {
        Ok(table) => Ok(State::Table(table)),
        Err(failure) if is_without_table(&failure) => Ok(State::Missing),
        Err(failure) if failure.refusal().is_some_and(|refusal| refusal.is(NO_RIGHT)) => {
            Ok(State::Denied)
        }
        Err(failure) => Err(failure),
    }
}

/// Why no candidate may lead with this table; `None` if one may.
pub(crate) fn unfit(table: &Value) -> Option<String> {
    let key = |kind: &str| {
        let keys = table.get("KeySchema")?.as_array()?;
        let key =
            keys.iter().find(|key| key.get("KeyType").and_then(Value::as_str) == Some(kind))?;
        key.get("AttributeName")?.as_str()
    };
    let is_text = |name: &str| {
        let types = table.get("AttributeDefinitions").and_then(Value::as_array);
        let wanted = json!({"AttributeName": name, "AttributeType": "S"});
        types.is_some_and(|types| types.contains(&wanted))
    };
    let has_keys = (key("HASH"), key("RANGE")) == (Some(ELECTION), Some(DOCUMENT));
    if !has_keys || !is_text(ELECTION) || !is_text(DOCUMENT) {
        return Some(format!(
            "has other keys: elect needs a table of its own, with the partition key {ELECTION} and the sort key \
             {DOCUMENT}, both texts"
        ));
    }
    let replicas = table.get("Replicas").and_then(Value::as_array).map_or(0, Vec::len);
    let is_strong = table.get("MultiRegionConsistency").and_then(Value::as_str) == Some("STRONG");
    (replicas > 0 && !is_strong).then(|| {
        "has replicas in other regions that are only eventually consistent, so two candidates could lead at once: use a \
         table of one region, or one with multi-region strong consistency"
            .to_owned()
    })
}

/// What `elect doctor` shows of the table.
pub(crate) fn examine(session: &Session, state: &State) -> Respondent {
    let TableName { table: name, region, .. } = &session.name;
    let mut class = String::new();
    let findings = match state {
        State::Missing => vec![Finding::error(
            format!("there is no table {name} in {region}"),
            format!(
                "correct the name or the region, or create it: elect doctor --create with the same URL, or {}",
                creation::command(name, region)
            ),
        )],
        State::Denied => vec![Finding::warning(
            format!("the credentials may not read the settings of the table {name}"),
            "permit dynamodb:DescribeTable on it: elect run needs it, too",
        )],
        State::Table(table) => {
            let found = table.pointer("/TableClassSummary/TableClass").and_then(Value::as_str);
            class = found.unwrap_or_default().to_lowercase();
            of_table(name, table)
        }
    };
    Respondent {
        version: class,
        role: "table",
        store: session.store().cloned(),
        is_primary: true,
        findings,
        connections: None,
    }
}

fn of_table(name: &str, table: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(why) = unfit(table) {
        let (what, way_out) = why.split_once(": ").unwrap_or((&why, ""));
        findings.push(Finding::error(format!("the table {name} {what}"), way_out.to_owned()));
    }
    // A table that never was on demand may say nothing of its billing.
    let billing = table.pointer("/BillingModeSummary/BillingMode").and_then(Value::as_str);
    let reads = table.pointer("/ProvisionedThroughput/ReadCapacityUnits").and_then(Value::as_u64);
    if billing == Some("PROVISIONED") || billing.is_none() && reads > Some(0) {
        findings.push(Finding::note(
            format!("the table {name} has a fixed capacity: requests beyond it are refused"),
            "give it a write and a read for each candidate, or make it on demand",
        ));
    }
    if table.get("DeletionProtectionEnabled") == Some(&json!(false)) {
        findings.push(Finding::note(
            format!("the table {name} may be deleted, and all elections with it"),
            "switch its deletion protection on",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_grants_a_lease_in_each_region_is_unfit() {
        let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
        let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        let mut table = json!({
            "KeySchema": [key(ELECTION, "HASH"), key(DOCUMENT, "RANGE")],
            "AttributeDefinitions": [attribute(ELECTION), attribute(DOCUMENT)],
        });
        assert_eq!(unfit(&table), None);
        table["Replicas"] = json!([{"RegionName": "eu-west-1"}]);
        assert!(unfit(&table).expect("unfit").contains("replicas in other regions"));
        table["MultiRegionConsistency"] = json!("EVENTUAL");
        assert!(unfit(&table).is_some());
        table["MultiRegionConsistency"] = json!("STRONG");
        assert_eq!(unfit(&table), None);
        table["AttributeDefinitions"][0]["AttributeType"] = json!("N");
        assert!(unfit(&table).expect("unfit").contains("other keys"));
    }
}
