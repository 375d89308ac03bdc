//! One connection to one server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{Error, ErrorKind, StoreId, count_trip};
use elect_remote::{Identity, Opener, Place, Pulse, Witness};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::address::Address;
use crate::error::{self, Failure, code};
use crate::sql::{COLUMNS, NONE, SETTINGS, Sql};
use crate::wire::{Answer, Command, LONGEST, Row, Wire};

/// The longest time for a name, a connection, TLS and the login together. The engine cuts its own attempts sooner, as a
/// rule.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for one answer, for callers that have no limit of their own.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of requests that wait for one another. Callers wait for their own turn.
const QUEUE: usize = 16;

/// A connection that has logged in.
pub(crate) struct Session {
    /// The place, for messages.
    pub(crate) place: String,
    /// What the server said of itself.
    pub(crate) server: Server,
    requests: mpsc::Sender<Request>,
    pulse: Arc<Pulse>,
    driver: AbortHandle,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) version: String,
    pub(crate) is_read_only: bool,
    /// The longest request that it takes, in bytes.
    longest: usize,
    /// The engine and the columns of the table, if it is there.
    pub(crate) columns: Option<String>,
    /// The epoch in which the table has these columns, if it may be read.
    pub(crate) epoch: Option<String>,
}

struct Request {
    command: Command,
    reply: oneshot::Sender<Result<Answer, Failure>>,
}

impl Session {
    /// Connects, logs in, and asks the server who it is.
    ///
    /// # Errors
    /// Why the server cannot be used; never `Ambiguous`.
    pub(crate) async fn open(address: &Address, place: &Place, sql: &Sql) -> Result<Self, Error> {
        let (name, witness) = (place.way.to_string(), Witness::default());
        let opened = timeout(CONNECT_TIMEOUT, Box::pin(greeted(address, place, sql, &witness)));
        let opened = opened.await.unwrap_or(Err(Failure::Silent));
        let login = place.login(&address.user, "MYSQL_PWD");
        opened.map_err(|failure| error::unconnected(&name, &failure, &witness, &login))
    }

    /// Asks one question. The names of `operation` are counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        statement: String,
    ) -> Result<Answer, Failure> {
        count_trip(operation);
        let longest = self.server.longest;
        if statement.len() >= longest {
            return Err(Failure::TooLong(longest));
        }
        self.request(Command::Query(statement)).await
    }

    /// The rows that answer a question.
    pub(crate) async fn rows(
        &self,
        operation: &'static str,
        statement: String,
    ) -> Result<Vec<Row>, Failure> {
        match self.ask(operation, statement).await? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(Failure::Odd("no rows")),
        }
    }

    async fn request(&self, command: Command) -> Result<Answer, Failure> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            let request = Request { command, reply };
            self.requests.send(request).await.map_err(|_| Failure::Unsent)?;
            // The driver was ended, perhaps in the middle.
            answer.await.unwrap_or_else(|_| Err(Failure::Lost("the session was closed".into())))
        };
        self.pulse.answer(ANSWER_TIMEOUT, asked).await.unwrap_or(Err(Failure::Silent))
    }
}

impl elect_remote::Session for Session {
    async fn is_alive(&self) -> bool {
        let check = async {
            count_trip("check");
            self.request(Command::Ping).await.is_ok()
        };
        self.pulse.is_there(check).await
    }

    fn close(&self) {
        self.pulse.end();
        self.driver.abort();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        elect_remote::Session::close(self);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("place", &self.place).finish_non_exhaustive()
    }
}

async fn greeted(
    address: &Address,
    place: &Place,
    sql: &Sql,
    witness: &Witness,
) -> Result<Session, Failure> {
    let login = (address.user.as_str(), address.database.as_str());
    let wire = Wire::open(place, &address.encryption, login, witness).await?;
    let (requests, received) = mpsc::channel(QUEUE);
    let pulse = Arc::new(Pulse::default());
    let driver = tokio::spawn(drive(wire, received, Arc::clone(&pulse))).abort_handle();
    let server = Server { longest: LONGEST, ..Server::default() };
    let mut session = Session { place: place.way.to_string(), server, requests, pulse, driver };
    for settings in SETTINGS {
        session.ask("settings", settings.to_owned()).await?;
    }
    // The epoch comes first: if the table changes in between, the next answer has another epoch.
    let epoch = match session.rows("epoch", sql.epoch.clone()).await {
        Err(failure)
            if failure.is(&[code::NO_TABLE, code::NO_COLUMN]) || failure.is(&code::NO_RIGHT) =>
        {
            None
        }
        answer => text(&answer?, 0),
    };
    let hello = session.rows("hello", sql.hello.clone()).await?;
    let text = |column| text(&hello, column);
    session.server = Server {
        version: text(0).ok_or(Failure::Odd("no version"))?,
        is_read_only: text(1).as_deref() != Some("0"),
        longest: text(2).and_then(|it| it.parse().ok()).unwrap_or(LONGEST).min(LONGEST),
        columns: text(3),
        epoch,
    };
    Ok(session)
}

/// A column of the first row, if it is there.
pub(crate) fn text(rows: &[Row], column: usize) -> Option<String> {
    let bytes = rows.first()?.get(column)?.clone()?;
    String::from_utf8(bytes).ok()
}

/// Carries out one request after the other, until the connection fails or the session is dropped.
async fn drive(mut wire: Wire, mut requests: mpsc::Receiver<Request>, pulse: Arc<Pulse>) {
    loop {
        let request = tokio::select! {
            biased;
            () = wire.disturbed() => break,
            request = requests.recv() => request,
        };
        let Some(Request { command, reply }) = request else { break };
        // A request that was dropped before its turn is not sent.
        if reply.is_closed() {
            continue;
        }
        let answer = wire.ask(&command).await;
        let is_over = !matches!(answer, Ok(_) | Err(Failure::Server(_) | Failure::TooLong(_)));
        if is_over {
            pulse.end();
        }
        let _ = reply.send(answer);
        if is_over {
            break;
        }
    }
    pulse.end();
}

impl Opener for Sql {
    type Address = Address;
    type Session = Session;

    fn parse(url: &str) -> Result<Address, Error> {
        Address::parse(url, |name| std::env::var(name).ok())
    }

    fn places(address: &Address) -> &[Place] {
        &address.places
    }

    fn store(address: &Address) -> Option<StoreId> {
        address.store.clone()
    }

    async fn open(
        &self,
        address: &Address,
        place: &Place,
        identity: &Identity,
    ) -> Result<Session, Error> {
        let session = Session::open(address, place, self).await?;
        let (name, server) = (format!("MariaDB at {}", session.place), &session.server);
        if server.is_read_only {
            let what = format!("{name} takes no writes: name the primary in the URL");
            return Err(Error::new(ErrorKind::Unreachable, what));
        }
        match &server.columns {
            Some(columns) if columns != COLUMNS => {
                let what = format!(
                    "{name} has another table {}: it is {columns}, and not {COLUMNS}",
                    self.table
                );
                Err(Error::new(ErrorKind::Unfit, what)
                    .and("name another one in the URL, as in ?table=elect2, or rename that table"))
            }
            _ => {
                identity.admit(&name, server.epoch.as_deref().and_then(id).as_ref())?;
                Ok(session)
            }
        }
    }
}

/// The id of the table in the name of an epoch; `None` if it has none yet.
pub(crate) fn id(epoch: &str) -> Option<StoreId> {
    let (id, _) = epoch.split_once('-')?;
    if id == NONE { None } else { StoreId::read(id.as_bytes()) }
}
