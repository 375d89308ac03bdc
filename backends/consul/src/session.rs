//! The session with one agent or server: its id, and the queue of its requests.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use elect_api::{Error, StoreId, count_trip};
use elect_remote::{
    Address, Destination, HttpQueue, Identity, Opener, Product, Pulse, Respondent, Variable,
    Witness,
};
use hyper::StatusCode;

use crate::error::{Failure, Refusal};
use crate::examine::{self, State};
use crate::http::{Answer, Connection, Form, Question};
use crate::keys::Keys;
use crate::listener::Listener;
use crate::transaction::{Outcome, Pair, Transaction, pairs};
use crate::{PRODUCT, address};

/// A connection whose token may read the id.
pub(crate) struct Session {
    /// The place, for messages.
    pub(crate) place: String,
    /// The id of the store, and the index at which it was written.
    store: Option<(StoreId, u64)>,
    /// Whether a write was refused already, as the id is another one by now.
    pub(crate) is_doubted: AtomicBool,
    form: Form,
    requests: HttpQueue<Refusal>,
    pub(crate) listener: Arc<Listener>,
    pulse: Pulse,
}

impl Session {
    /// Asks one question. The names of `operation` are counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        question: Question,
    ) -> Result<Answer, Failure> {
        count_trip(operation);
        let request = self.form.request(question)?;
        self.pulse.ask(self.requests.ask(request)).await.and_then(Answer::of)
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
        self.requests.is_open()
    }

    async fn check(&self) -> bool {
        self.ask("check", Question::get(examine::LEADER.to_owned())).await.is_ok()
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
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        let Connection { http, form } = Connection::open(address, destination, witness).await?;
        let listener = Arc::new(Listener::new(address.clone(), destination.clone(), self.clone()));
        let (requests, pulse) = HttpQueue::over(http, listener.end_later());
        let place = destination.way.to_string();
        let is_doubted = AtomicBool::new(false);
        let mut session =
            Session { place, store: None, is_doubted, form, requests, listener, pulse };
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
