//! The session with a table: the queue of its requests, each of which is signed.

use elect_amazon::Signer;
use elect_api::{Error, Order, StoreId, count_trip};
use elect_remote::{
    Address, Destination, HttpQueue, Identity, Opener, Product, Pulse, Respondent, Session as _,
    Variable, Witness,
};
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use reqsign_core::hash::hex_sha256;
use serde_json::{Value, json};

use crate::error::{Failure, NO_TABLE, Refusal};
use crate::examine::{self, State};
use crate::{PRODUCT, address, item};

/// The name of the service and its version, before the name of an operation.
const SERVICE: &str = "DynamoDB_20120810";
/// The key of the item with the id of the store.
pub(crate) const ID: (&str, &str) = ("-", "id");

/// The port that no request names, as it is signed.
const HTTPS: u16 = 443;

/// Opens sessions with one table.
#[derive(Clone, Debug)]
pub(crate) struct TableName {
    pub(crate) table: String,
    pub(crate) region: String,
    pub(crate) order: Order,
    signer: Signer,
}

/// A connection to the service, and what signs its requests.
pub(crate) struct Session {
    /// The table and its host, for messages.
    place: String,
    host: String,
    pub(crate) name: TableName,
    store: Option<StoreId>,
    is_without_table: bool,
    requests: HttpQueue<Refusal>,
    pulse: Pulse,
}

/// An operation: its name at the service, and the name under which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation(pub(crate) &'static str, pub(crate) &'static str);

impl Operation {
    pub(crate) const GET: Self = Self("GetItem", "get_item");
    pub(crate) const UPDATE: Self = Self("UpdateItem", "update_item");
    pub(crate) const PUT: Self = Self("PutItem", "put_item");
    pub(crate) const DELETE: Self = Self("DeleteItem", "delete_item");
    pub(crate) const QUERY: Self = Self("Query", "query");
    pub(crate) const SCAN: Self = Self("Scan", "scan");
    pub(crate) const DESCRIBE: Self = Self("DescribeTable", "describe_table");
    pub(crate) const CREATE: Self = Self("CreateTable", "create_table");
}

impl TableName {
    pub(crate) fn of(address: &Address) -> Self {
        let signer = Signer::new("dynamodb", &address.space, &address.url);
        // A wrong order was refused with the URL.
        let order = elect_amazon::order(&address.url).unwrap_or(Order::Race);
        Self { table: address.database.clone(), region: address.space.clone(), order, signer }
    }
}

impl Session {
    /// Carries out an operation on the table. `question` has all but the table's name.
    ///
    /// # Errors
    /// Why it was not, or why that is not known.
    pub(crate) async fn ask(
        &self,
        operation: Operation,
        mut question: Value,
    ) -> Result<Value, Failure> {
        let is_of_items = ![Operation::DESCRIBE, Operation::CREATE].contains(&operation);
        let Operation(name, counted) = operation;
        count_trip(counted);
        question["TableName"] = json!(self.name.table);
        let body = question.to_string();
        // All of this is signed. The address is one with a host, as the signature needs it.
        let request = Request::post(format!("https://{}/", self.host))
            .header(HOST, &self.host)
            .header(USER_AGENT, concat!("elect/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/x-amz-json-1.0")
            .header("x-amz-target", format!("{SERVICE}.{name}"))
            .header("x-amz-content-sha256", hex_sha256(body.as_bytes()))
            .body(body)
            .map_err(|_| Failure::Odd("no host"))?;
        let (mut head, body) = request.into_parts();
        let signed = self.name.signer.sign(&mut head).await;
        let key = signed.map_err(|refused| Failure::Refused(Refusal::Unsigned(refused)))?;
        head.uri = Uri::from_static("/");
        let answer = self.pulse.ask(self.requests.ask(Request::from_parts(head, body))).await?;
        let refusal = (answer.status() != StatusCode::OK).then(|| Refusal::of(&answer));
        if self.is_without_table && is_of_items {
            // The table may be made at any time. The next session reads the id of the store in it.
            self.close();
            if refusal.is_none() {
                return Err(Failure::Lost("the table was made meanwhile".to_owned()));
            }
        }
        if let Some(refusal) = refusal {
            if refusal.is_of_credentials() {
                self.name.signer.forget(&key);
            }
            return Err(Failure::Refused(refusal));
        }
        serde_json::from_slice(answer.body()).map_err(|_| Failure::Odd("no JSON"))
    }

    /// Reads one item as it stands after the call.
    pub(crate) async fn item(
        &self,
        election: &str,
        document: &str,
    ) -> Result<Option<Value>, Failure> {
        let question = json!({"Key": item::key(election, document), "ConsistentRead": true});
        let mut answer = self.ask(Operation::GET, question).await?;
        Ok(answer.get_mut("Item").map(Value::take))
    }

    /// Whether there was no such table when the session began.
    pub(crate) const fn is_without_table(&self) -> bool {
        self.is_without_table
    }

    /// The id of the store, if it has one.
    pub(crate) const fn store(&self) -> Option<&StoreId> {
        self.store.as_ref()
    }
}

impl elect_remote::Session for Session {
    type Refusal = Refusal;

    const PRODUCT: Product = PRODUCT;

    fn place(&self) -> &str {
        &self.place
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    fn is_connected(&self) -> bool {
        self.requests.is_open()
    }

    async fn check(&self) -> bool {
        self.item(ID.0, ID.1).await.is_ok()
    }
}

impl Opener for TableName {
    type Session = Session;
    type State = State;

    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error> {
        address::parse(url, variable)
    }

    async fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        let (requests, pulse) =
            HttpQueue::dial(&destination.way, &address.encryption, witness).await?;
        let (place, host) = (destination.way.to_string(), destination.way.authority(HTTPS));
        let name = self.clone();
        let mut session =
            Session { place, host, name, store: None, is_without_table: false, requests, pulse };
        let found = match session.item(ID.0, ID.1).await {
            // Each request for a row says so, and `elect doctor --create` makes it.
            Err(failure) if is_without_table(&failure) => {
                session.is_without_table = true;
                None
            }
            found => found?,
        };
        if let Some(found) = found {
            let id = item::of(&found, item::CELLS).and_then(|id| StoreId::read(id.as_bytes()));
            session.store = Some(id.ok_or(Failure::Odd("the id of the store is damaged"))?);
        }
        Ok(session)
    }

    fn admit(&self, session: &Session, identity: &Identity) -> Result<(), Error> {
        // A table that is missing has no id, and is not another one.
        if session.is_without_table {
            return Ok(());
        }
        identity.admit(&PRODUCT.at(&session.place), session.store())
    }

    async fn state(&self, session: &Session) -> Result<State, Failure> {
        examine::state(session).await
    }

    async fn examine(&self, session: &Session, state: State) -> Respondent {
        examine::examine(session, &state)
    }
}

/// Returns whether there is no such table.
pub(crate) fn is_without_table(failure: &Failure) -> bool {
    failure.refusal().is_some_and(|refusal| refusal.is(NO_TABLE))
}
