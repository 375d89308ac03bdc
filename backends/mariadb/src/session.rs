//! One connection to one server.

use std::collections::HashSet;
use std::pin::Pin;
use std::time::Duration;

use elect_api::{Error, ErrorKind, StoreId, count_trip};
use elect_remote::{
    Address, Destination, Identity, Opener, Product, Pulse, Respondent, Variable, Witness,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Sleep, sleep};

use crate::error::{Failure, Refusal, code};
use crate::sql::{COLUMNS, NONE, SETTINGS, Sql};
use crate::wire::{Answer, Command, LONGEST, Row, Wire};
use crate::{PRODUCT, address, examine, sql};

/// The number of requests that wait for one another. Callers wait for their own turn.
const QUEUE: usize = 16;

/// How long after the first write of a leader its session takes the lock. A shorter run is spared the statements.
const TAKEN_AFTER: Duration = Duration::from_millis(20);

/// A connection that has logged in.
pub(crate) struct Session {
    /// The place, for messages.
    pub(crate) place: String,
    /// What the server said of itself.
    pub(crate) server: Server,
    requests: mpsc::Sender<Request>,
    pulse: Pulse,
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
    /// Whether it let us in without TLS only because it remembers the password.
    pub(crate) is_remembered: bool,
}

/// Whether the session is to hold a named lock of the server.
pub(crate) struct Lock {
    /// Its name, as an expression.
    pub(crate) name: String,
    pub(crate) is_held: bool,
}

struct Request {
    /// `None` asks for nothing.
    command: Option<Command>,
    /// What becomes of a lock right after the command has written one row.
    lock: Option<Lock>,
    reply: oneshot::Sender<Result<Answer, Failure>>,
}

impl Session {
    /// Asks one question. The names of `operation` are counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        statement: String,
    ) -> Result<Answer, Failure> {
        self.ask_then(operation, statement, None).await
    }

    /// Asks, and releases a lock, or takes it a moment later, if that has written one row. No caller waits for the
    /// lock.
    pub(crate) async fn ask_then(
        &self,
        operation: &'static str,
        statement: String,
        lock: Option<Lock>,
    ) -> Result<Answer, Failure> {
        count_trip(operation);
        let longest = self.server.longest;
        if statement.len() >= longest {
            return Err(Failure::Refused(Refusal::TooLong(longest)));
        }
        self.request(Some(Command::Query(statement)), lock).await
    }

    /// Releases a lock if the session holds it.
    pub(crate) async fn release(&self, name: String) {
        let _ = self.request(None, Some(Lock { name, is_held: false })).await;
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

    async fn request(
        &self,
        command: Option<Command>,
        lock: Option<Lock>,
    ) -> Result<Answer, Failure> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            let request = Request { command, lock, reply };
            self.requests.send(request).await.map_err(|_| Failure::Unsent)?;
            // The driver was ended, perhaps in the middle.
            answer.await.unwrap_or_else(|_| Err(Failure::Lost("the session was closed".into())))
        };
        self.pulse.ask(asked).await
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
        self.request(Some(Command::Ping), None).await.is_ok()
    }
}

/// A column of the first row, if it is there.
pub(crate) fn text(rows: &[Row], column: usize) -> Option<String> {
    let bytes = rows.first()?.get(column)?.clone()?;
    String::from_utf8(bytes).ok()
}

/// Carries out one request after the other, until the connection fails or the session is dropped.
async fn drive(mut wire: Wire, mut requests: mpsc::Receiver<Request>) {
    let mut locks = Locks::default();
    loop {
        let request = tokio::select! {
            biased;
            () = wire.disturbed() => break,
            request = requests.recv() => request,
            () = locks.due() => match locks.take(&mut wire).await {
                Ok(()) => continue,
                Err(_) => break,
            },
        };
        let Some(Request { command, lock, reply }) = request else { break };
        // A request that was dropped before its turn is not sent.
        if reply.is_closed() {
            continue;
        }
        let answer = match command {
            Some(command) => wire.ask(&command).await,
            None => Ok(Answer::Done(1)),
        };
        let is_over = !matches!(answer, Ok(_) | Err(Failure::Refused(_)));
        if is_over {
            // Before the answer, so that no request follows it here.
            requests.close();
        }
        let lock = lock.filter(|_| matches!(answer, Ok(Answer::Done(1))));
        let _ = reply.send(answer);
        if is_over {
            break;
        }
        if let Some(lock) = lock
            && locks.set_held(&mut wire, lock).await.is_err()
        {
            break;
        }
    }
}

/// The named locks that a connection holds.
#[derive(Default)]
struct Locks {
    held: HashSet<String>,
    /// The one to take, and when.
    wanted: Option<(String, Pin<Box<Sleep>>)>,
    /// Whether the server has refused one. Then it is asked for no other.
    are_refused: bool,
}

impl Locks {
    /// Releases a lock at once, or has it taken later.
    async fn set_held(
        &mut self,
        wire: &mut Wire,
        Lock { name, is_held }: Lock,
    ) -> Result<(), Failure> {
        let is_wanted = self.wanted.as_ref().is_some_and(|(wanted, _)| *wanted == name);
        if is_held {
            let is_done = self.held.contains(&name) || self.wanted.is_some() || self.are_refused;
            if !is_done {
                self.wanted = Some((name, Box::pin(sleep(TAKEN_AFTER))));
            }
            return Ok(());
        }
        if is_wanted {
            self.wanted = None;
        }
        if self.held.remove(&name) {
            ask(wire, sql::release(&name)).await?;
        }
        Ok(())
    }

    /// Ends when it is time to take a lock.
    async fn due(&mut self) {
        match &mut self.wanted {
            Some((_, due)) => due.await,
            None => std::future::pending().await,
        }
    }

    /// Takes the lock that is wanted, unless another session holds it.
    async fn take(&mut self, wire: &mut Wire) -> Result<(), Failure> {
        let Some((name, _)) = self.wanted.take() else { return Ok(()) };
        match ask(wire, sql::take(&name)).await? {
            Some(Answer::Rows(rows)) if text(&rows, 0).as_deref() == Some("1") => {
                self.held.insert(name);
            }
            Some(_) => {}
            None => self.are_refused = true,
        }
        Ok(())
    }
}

/// The answer to a statement about a lock; `None` if the server refuses it.
async fn ask(wire: &mut Wire, statement: String) -> Result<Option<Answer>, Failure> {
    count_trip("lock");
    match wire.ask(&Command::Query(statement)).await {
        Err(Failure::Refused(_)) => Ok(None),
        answer => answer.map(Some),
    }
}

impl Opener for Sql {
    type Session = Session;
    type State = Vec<Row>;

    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error> {
        address::parse(url, variable)
    }

    async fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        let login = (address.user.as_str(), address.database.as_str());
        let wire = Wire::open(destination, &address.encryption, login, witness).await?;
        let is_remembered = wire.is_remembered;
        let (requests, received) = mpsc::channel(QUEUE);
        let pulse = Pulse::of(tokio::spawn(drive(wire, received)).abort_handle());
        let server = Server { longest: LONGEST, ..Server::default() };
        let mut session = Session { place: destination.way.to_string(), server, requests, pulse };
        for settings in SETTINGS {
            session.ask("settings", settings.to_owned()).await?;
        }
        // The epoch comes first: if the table changes in between, the next answer has another epoch.
        let epoch = match session.rows("epoch", self.epoch.clone()).await {
            Err(failure)
                if failure.is(&[code::NO_TABLE, code::NO_COLUMN])
                    || failure.is(&code::NO_RIGHT) =>
            {
                None
            }
            answer => text(&answer?, 0),
        };
        let hello = session.rows("hello", self.hello.clone()).await?;
        let text = |column| text(&hello, column);
        session.server = Server {
            version: text(0).ok_or(Failure::Odd("no version"))?,
            is_read_only: text(1).as_deref() != Some("0"),
            longest: text(2).and_then(|it| it.parse().ok()).unwrap_or(LONGEST).min(LONGEST),
            columns: text(3),
            epoch,
            is_remembered,
        };
        Ok(session)
    }

    fn admit(&self, session: &Session, identity: &Identity) -> Result<(), Error> {
        let (name, server) = (PRODUCT.at(&session.place), &session.server);
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
            _ => identity.admit(&name, server.epoch.as_deref().and_then(id).as_ref()),
        }
    }

    async fn state(&self, session: &Session) -> Result<Vec<Row>, Failure> {
        session.rows("state", examine::state()).await
    }

    async fn examine(&self, session: &Session, state: Vec<Row>) -> Respondent {
        examine::examine(session, self, &state).await
    }
}

/// The id of the table in the name of an epoch; `None` if it has none yet.
pub(crate) fn id(epoch: &str) -> Option<StoreId> {
    let (id, _) = epoch.split_once('-')?;
    if id == NONE { None } else { StoreId::read(id.as_bytes()) }
}
