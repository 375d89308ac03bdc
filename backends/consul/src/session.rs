//! The session with one agent or server: its id, and a task that sends one request after the other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use elect_api::{Error, StoreId, count_trip};
use elect_remote::{
    Address, Identity, Opener, Place, Product, Pulse, Respondent, Variable, Witness,
};
use hyper::StatusCode;
use tokio::sync::{mpsc, oneshot};

use crate::error::{Failure, Refusal};
use crate::examine::{self, State};
use crate::http::{Answer, Connection, Question};
use crate::keys::Keys;
use crate::listener::Listener;
use crate::transaction::{Outcome, Pair, Transaction, pairs};
use crate::{PRODUCT, address};

/// The number of requests that wait for one another. Callers wait for their own turn.
const QUEUE: usize = 16;

/// A connection whose token may read the id.
pub(crate) struct Session {
    /// The place, for messages.
    pub(crate) place: String,
    /// The id of the store, and the index at which it was written.
    store: Option<(StoreId, u64)>,
    /// Whether a write was refused already, as the id is another one by now.
    pub(crate) is_doubted: AtomicBool,
    requests: mpsc::Sender<Request>,
    pub(crate) listener: Arc<Listener>,
    pulse: Pulse,
}

struct Request {
    question: Question,
    reply: oneshot::Sender<Result<Answer, Failure>>,
}

impl Session {
    /// Asks one question. The names of `operation` are counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        question: Question,
    ) -> Result<Answer, Failure> {
        count_trip(operation);
        let (reply, answer) = oneshot::channel();
        let asked = async {
            let request = Request { question, reply };
            self.requests.send(request).await.map_err(|_| Failure::Unsent)?;
            // The driver was ended, perhaps in the middle.
            answer.await.unwrap_or_else(|_| Err(Failure::Lost("the session was closed".into())))
        };
        self.pulse.ask(asked).await
    }

    /// A transaction that does nothing if the id is another one by now.
    pub(crate) fn transaction(&self, keys: &Keys) -> Transaction {
        Transaction::of_store(&keys.id(), self.store.as_ref().map(|(_, index)| *index))
    }

    /// Asks for a transaction. Returns the keys that it wrote or read; `None` if a row has another tag.
    pub(crate) async fn transact(
        &self,
        operation: &'static str,
        keys: &Keys,
        transaction: &Transaction,
    ) -> Result<Option<Vec<Pair>>, Failure> {
        let question = Question::put(keys.transactions(), transaction.body());
        let answer = self.ask(operation, question).await?;
        let outcome = match answer.status {
            StatusCode::OK | StatusCode::CONFLICT => Outcome::of(&answer.body),
            _ => None,
        };
        let outcome = outcome.ok_or(Failure::Odd("no outcome of a transaction"))?;
        if answer.status == StatusCode::OK {
            return Ok(Some(outcome.pairs()));
        }
        let mistakes = outcome.errors.unwrap_or_default();
        match Refusal::of_transaction(&mistakes, transaction.is_checked) {
            Some(refusal) => Err(Failure::Refused(refusal)),
            None if mistakes.is_empty() => Err(Failure::Odd("no reason why nothing was done")),
            None => Ok(None),
        }
    }

    /// The id of the store, if it has one.
    pub(crate) fn store(&self) -> Option<&StoreId> {
        self.store.as_ref().map(|(id, _)| id)
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
        !self.requests.is_closed()
    }

    async fn check(&self) -> bool {
        self.ask("check", Question::get(examine::LEADER.to_owned())).await.is_ok()
    }
}

/// Carries out one request after the other, until the connection fails or the session is dropped.
async fn drive(
    mut http: Connection,
    mut requests: mpsc::Receiver<Request>,
    listener: Arc<Listener>,
) {
    // Also if this task is ended.
    let _end = listener.end_later();
    loop {
        let request = tokio::select! {
            biased;
            () = http.ended() => break,
            request = requests.recv() => request,
        };
        let Some(Request { question, reply }) = request else { break };
        // A request that was dropped before its turn is not sent.
        if reply.is_closed() {
            continue;
        }
        let answer = http.ask(question).await;
        let is_over = !matches!(answer, Ok(_) | Err(Failure::Refused(_)));
        if is_over {
            // Before the answer, so that no request follows it here.
            requests.close();
        }
        let _ = reply.send(answer);
        if is_over {
            break;
        }
    }
}

impl Opener for Keys {
    type Session = Session;
    type State = State;

    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error> {
        address::parse(url, variable)
    }

    async fn log_in(
        &self,
        address: &Address,
        place: &Place,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        let http = Connection::open(address, place, witness).await?;
        let (requests, received) = mpsc::channel(QUEUE);
        let listener = Arc::new(Listener::new(address.clone(), place.clone(), self.clone()));
        let driver = tokio::spawn(drive(http, received, Arc::clone(&listener)));
        let pulse = Pulse::of(driver.abort_handle());
        let place = place.way.to_string();
        let is_doubted = AtomicBool::new(false);
        let mut session = Session { place, store: None, is_doubted, requests, listener, pulse };
        let question = Question::get(self.path(&self.id(), "consistent"));
        let answer = session.ask("hello", question).await?;
        if answer.index.is_none() {
            return Err(Failure::Odd("its answer has no X-Consul-Index"));
        }
        if answer.status == StatusCode::OK {
            let found = pairs(&answer.body).and_then(|pairs| pairs.into_iter().next());
            let found = found.ok_or(Failure::Odd("its answer has no key"))?;
            let id = found.text().and_then(|text| StoreId::read(text.as_bytes()));
            let id = id.ok_or(Failure::Odd("the id of the store is damaged"))?;
            session.store = Some((id, found.modify_index));
        }
        Ok(session)
    }

    fn admit(&self, session: &Session, identity: &Identity) -> Result<(), Error> {
        identity.admit(&PRODUCT.at(&session.place), session.store())
    }

    async fn state(&self, session: &Session) -> Result<State, Failure> {
        examine::state(session).await
    }

    async fn examine(&self, session: &Session, state: State) -> Respondent {
        examine::examine(session, self, &state)
    }
}
