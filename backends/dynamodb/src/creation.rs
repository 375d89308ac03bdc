//! The table itself: `elect doctor --create` makes it, as a table costs money.

use std::time::Duration;

use elect_api::{Error, ErrorKind};
use elect_remote::Session as _;
use serde_json::{Value, json};

use crate::examine;
use crate::item::{DOCUMENT, ELECTION};
use crate::session::{Operation, Session, is_without_table};

/// The table is there.
const EXISTS: &str = "ResourceInUseException";
/// The pause between two looks at a table that is being made, and the number of looks. It takes some seconds.
const PAUSE: Duration = Duration::from_millis(500);
const LOOKS: usize = 120;

/// Makes the table if it is missing, and waits until it can be used. Returns whether it was missing.
pub(crate) async fn create(session: &Session) -> Result<bool, Error> {
    let doing = format!("cannot create the table {}", session.name.table);
    if !session.is_without_table() {
        return Ok(false);
    }
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let question = json!({
        "AttributeDefinitions": [attribute(ELECTION), attribute(DOCUMENT)],
        "KeySchema": [key(ELECTION, "HASH"), key(DOCUMENT, "RANGE")],
        "BillingMode": "PAY_PER_REQUEST",
        // Without its table, an election forgets its leader.
        "DeletionProtectionEnabled": true,
        "Tags": [{"Key": "made-by", "Value": "elect"}],
    });
    let is_new = match session.ask(Operation::CREATE, question).await {
        Ok(_) => true,
        Err(failure) if failure.refusal().is_some_and(|it| it.is(EXISTS)) => false,
        Err(failure) => return Err(session.failed(&doing, &failure, true)),
    };
    for _ in 0..LOOKS {
        // A new table may be unknown for some seconds.
        match examine::described(session).await {
            Ok(table) if table.get("TableStatus").and_then(Value::as_str) == Some("ACTIVE") => {
                return Ok(is_new);
            }
            Err(failure) if !is_without_table(&failure) => {
                let error = session.failed(&doing, &failure, false);
                if error.is_permanent() {
                    return Err(error);
                }
            }
            _ => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
    let what = format!("{doing}: it is not ready yet");
    Err(Error::new(ErrorKind::Unreachable, what).and("look again in a minute"))
}

/// The command that makes the table with Amazon's own tool.
pub(crate) fn command(table: &str, region: &str) -> String {
    format!(
        "aws dynamodb create-table --region {region} --table-name {table} --billing-mode PAY_PER_REQUEST \
         --deletion-protection-enabled --attribute-definitions AttributeName={ELECTION},AttributeType=S \
         AttributeName={DOCUMENT},AttributeType=S --key-schema AttributeName={ELECTION},KeyType=HASH \
         AttributeName={DOCUMENT},KeyType=RANGE"
    )
}
