//! One connection to the primary.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{Error, ErrorKind, StoreId, count_trip};
use elect_remote::{
    Address, Destination, Encryption, Host, Identity, Notices, Opener, Password, Product, Pulse,
    Respondent, Trouble, Variable, Way, Witness,
};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo, Value,
};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::address::{DEFAULT_USER, SENTINEL};
use crate::error::{self, Failure, Refusal};
use crate::script::Scripts;
use crate::{PRODUCT, address, examine};

/// The number of requests that wait for one another. It is so great that each is sent when its call is polled first.
const QUEUE: usize = 4096;
/// The longest time for a name, a connection and TLS.
const HANDSHAKE: Duration = Duration::from_secs(3);
/// How often a node of a cluster may name another one that has the keys.
const MOST_MOVES: usize = 4;

/// A connection that has logged in.
pub(crate) struct Session {
    connection: MultiplexedConnection,
    /// The place, for messages.
    pub(crate) place: String,
    /// How it was opened.
    origin: (Address, Destination),
    /// What the server said of itself.
    pub(crate) server: Server,
    pub(crate) notices: Arc<Notices>,
    driver: AbortHandle,
    pulse: Pulse,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    /// The fields of `INFO`.
    info: HashMap<String, String>,
    /// The id of the store, if it has one.
    pub(crate) id: Option<String>,
}

impl Server {
    /// A field of `INFO`; empty if it is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    /// The version of Redis with which it is compatible, also if it is Valkey.
    pub(crate) fn redis_version(&self) -> &str {
        self.get("redis_version")
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.get("role") == "master"
    }

    pub(crate) fn store(&self) -> Option<StoreId> {
        StoreId::read(self.id.as_ref()?.as_bytes())
    }

    /// Its program and version.
    pub(crate) fn version(&self) -> String {
        match self.get("valkey_version") {
            "" => self.redis_version().to_owned(),
            version => format!("Valkey {version}"),
        }
    }
}

impl Session {
    /// Asks one question, of another node too, if this one says that the key is there. The names of `operation` are
    /// counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        question: &Cmd,
    ) -> Result<Value, Failure> {
        count_trip(operation);
        let answer = self.request(question).await;
        match answer.as_ref().err().and_then(Failure::refusal).and_then(Refusal::asks) {
            Some(host) => {
                count_trip("asking");
                self.pulse.ask(self.ask_aside(host, question)).await
            }
            None => answer,
        }
    }

    /// Asks a node that does not have the slot yet. This takes a connection, as the next key may still be here.
    async fn ask_aside(&self, host: Host, question: &Cmd) -> Result<Value, Failure> {
        let (address, destination) = &self.origin;
        let destination = destination.moved(host);
        let (mut connection, driver) =
            connected(address, &destination, &Witness::default(), None, true)
                .await
                .map_err(unsent)?;
        // It ends the connection, also if this call is dropped.
        let _pulse = Pulse::of(driver);
        let mut both = redis::pipe();
        both.add_command(redis::cmd("ASKING")).add_command(question.clone());
        let answer = connection.send_packed_commands(&both, 1, 1).await;
        let answer = answer.map_err(|error| error::of(&error))?.into_iter().next();
        let answer = answer.ok_or(Failure::Odd("no answer"))?;
        answer.extract_error().map_err(|error| error::of(&error))
    }

    async fn request(&self, question: &Cmd) -> Result<Value, Failure> {
        let mut connection = self.connection.clone();
        let asked = async {
            let answer = connection.send_packed_command(question).await;
            answer.and_then(Value::extract_error).map_err(|error| error::of(&error))
        };
        self.pulse.ask(asked).await
    }

    /// Waits for the next notice on a channel. The first poll begins to listen.
    pub(crate) async fn notice(&self, channel: &str) -> Result<(), Failure> {
        let (mut notices, is_new) = self.notices.join(channel);
        if is_new {
            count_trip("listen");
            let mut connection = self.connection.clone();
            let asked =
                async { connection.subscribe(channel).await.map_err(|error| error::of(&error)) };
            // The request of this call comes first, so that it is sent at once.
            let (heard, ()) = tokio::join!(self.pulse.ask(asked), self.hush());
            if let Err(failure) = heard {
                self.notices.forget(channel);
                return Err(failure);
            }
        }
        // The driver drops the senders when the connection ends.
        notices.changed().await.map_err(|_| Failure::Silent)
    }

    /// Stops listening to what no call waits for.
    pub(crate) async fn hush(&self) {
        let unused = self.notices.unused();
        if !unused.is_empty() {
            count_trip("listen");
            let mut connection = self.connection.clone();
            let asked =
                async { connection.unsubscribe(unused).await.map_err(|error| error::of(&error)) };
            let _ = self.pulse.ask(asked).await;
        }
    }

    /// Connects, logs in, and asks the server who it is and whether it has the keys.
    async fn open(
        address: &Address,
        destination: &Destination,
        scripts: &Scripts,
        witness: &Witness,
    ) -> Result<Self, Failure> {
        let notices = Arc::new(Notices::default());
        let (connection, driver) =
            connected(address, destination, witness, Some(&notices), true).await?;
        let (server, pulse) = (Server::default(), Pulse::of(driver.clone()));
        let (origin, place) = ((address.clone(), destination.clone()), destination.way.to_string());
        let mut session = Self { connection, place, origin, server, notices, driver, pulse };
        // Both questions go out together.
        let (info, probe) = (redis::cmd("INFO"), scripts.probe());
        let (info, id) = tokio::join!(session.ask("hello", &info), session.ask("epoch", &probe));
        let lines = text(info?).ok_or(Failure::Odd("no INFO"))?;
        let lines = lines.lines().filter_map(|line| line.split_once(':'));
        let info = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        session.server = Server { info, id: None };
        if session.server.get("redis_mode") == "sentinel" {
            return Err(Failure::Refused(Refusal::Sentinel));
        }
        session.server.id = text(id?);
        Ok(session)
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
        !self.driver.is_finished()
    }

    async fn check(&self) -> bool {
        self.request(&redis::cmd("PING")).await.is_ok()
    }
}

/// A text in an answer, if it is one.
pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A destination of the same server or cluster.
trait Moved {
    fn moved(&self, host: Host) -> Self;
}

impl Moved for Destination {
    fn moved(&self, host: Host) -> Self {
        // A node that does not know its own name leaves it out.
        let name = match &self.way {
            Way::Network(known) if host.name.is_empty() => known.name.clone(),
            _ => host.name,
        };
        Self { way: Way::Network(Host { name, ..host }), ..self.clone() }
    }
}

/// Returns whether a server answers without TLS. It keeps silent to a handshake, which it takes for the beginning of a
/// line.
async fn answers_in_the_clear(host: &Host) -> bool {
    let answer = elect_remote::ask(host, None, b"PING\r\n", 64).await;
    answer.is_ok_and(|answer| answer.starts_with(b"+PONG") || answer.starts_with(b"-NOAUTH"))
}

/// A failure before anything was asked.
fn unsent(failure: Failure) -> Failure {
    if failure.refusal().is_some() { failure } else { Failure::Unsent }
}

/// Connects, and logs in if `has_login`. Passes on notices if they are wanted.
async fn connected(
    address: &Address,
    destination: &Destination,
    witness: &Witness,
    notices: Option<&Arc<Notices>>,
    has_login: bool,
) -> Result<(MultiplexedConnection, AbortHandle), Failure> {
    let dialled = timeout(HANDSHAKE, destination.way.dial(&address.encryption, witness)).await;
    let stream = match (dialled, &destination.way) {
        (Ok(dialled), _) => dialled,
        (Err(_), Way::Network(host))
            if address.encryption != Encryption::Off && answers_in_the_clear(host).await =>
        {
            Err(Trouble::NoTls)
        }
        (Err(_), _) => Err(Trouble::Silent),
    };
    let stream = stream.map_err(Failure::Way)?;
    let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
    let is_named = address.user != DEFAULT_USER;
    if has_login && is_named {
        login = login.set_username(&address.user);
    }
    // A user without a password logs in with any.
    if has_login && (is_named || destination.password.is_some()) {
        login = login.set_password(destination.password.as_ref().map_or("", Password::reveal));
    }
    // The engine and `Pulse` limit the time.
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let mut config = config.set_pipeline_buffer_size(QUEUE);
    if let Some(notices) = notices.map(Arc::clone) {
        let number = address.database.parse().unwrap_or_default();
        login = login.set_protocol(ProtocolVersion::RESP3).set_db(number);
        config = config.set_push_sender(move |push: PushInfo| {
            if push.kind == PushKind::Message
                && let Some(channel) = push.data.into_iter().next().and_then(text)
            {
                notices.tell(&channel);
            }
            Ok::<(), redis::aio::SendError>(())
        });
    }
    let made = MultiplexedConnection::new_with_config(&login, stream, config).await;
    let (connection, driver) = made.map_err(|error| error::of(&error))?;
    let end = notices.map(Notices::end_later);
    let driver = tokio::spawn(async move {
        let _end = end;
        driver.await;
    });
    Ok((connection, driver.abort_handle()))
}

/// The primary that a Sentinel names.
async fn primary(
    address: &Address,
    destination: &Destination,
    name: &str,
    witness: &Witness,
) -> Result<Host, Failure> {
    let mut question = redis::cmd("SENTINEL");
    question.arg("get-master-addr-by-name").arg(name);
    let mut answer = Err(Failure::Silent);
    // Most Sentinels ask for no password, even if the servers do.
    for has_login in [false, true] {
        let (mut connection, driver) =
            connected(address, destination, witness, None, has_login).await?;
        let _pulse = Pulse::of(driver);
        count_trip("sentinel");
        let asked = connection.send_packed_command(&question).await.and_then(Value::extract_error);
        answer = asked.map_err(|error| error::of(&error));
        if !answer.as_ref().is_err_and(|failure| failure.is(&["NOAUTH"])) {
            break;
        }
    }
    let no_primary = || Failure::Refused(Refusal::NoPrimary(name.to_owned()));
    let is_unknown = |failure: &Failure| failure.refusal().is_some_and(Refusal::is_unknown);
    let answer = answer.map_err(|it| if is_unknown(&it) { no_primary() } else { it })?;
    let Value::Array(host) = answer else { return Err(no_primary()) };
    let mut host = host.into_iter().map_while(text);
    let (name, port) = (host.next(), host.next().and_then(|port| port.parse().ok()));
    let host = name.zip(port).map(|(name, port)| Host { name, port });
    host.ok_or(Failure::Odd("the Sentinel names no host"))
}

impl Opener for Scripts {
    type Session = Session;
    type State = Vec<(String, String)>;

    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error> {
        address::parse(url, variable)
    }

    async fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        let mut destination = destination.clone();
        if let Some(name) = address.url.option(SENTINEL) {
            destination.way = Way::Network(primary(address, &destination, name, witness).await?);
        }
        let mut moves = 0;
        loop {
            let opened = Session::open(address, &destination, self, witness).await;
            let Err(Failure::Refused(refusal)) = &opened else { return opened };
            match refusal.moved_to() {
                Some(host) if moves < MOST_MOVES => {
                    (destination, moves) = (destination.moved(host), moves + 1);
                }
                _ => return opened,
            }
        }
    }

    fn admit(&self, session: &Session, identity: &Identity) -> Result<(), Error> {
        let name = PRODUCT.at(&session.place);
        if !session.server.is_primary() {
            return Err(Error::new(ErrorKind::Unreachable, format!("{name} is a replica"))
                .and("name the primary in the URL, or its Sentinels with ?sentinel=NAME"));
        }
        identity.admit_pinned(&name, session.server.store().as_ref())
    }

    async fn state(&self, session: &Session) -> Result<Self::State, Failure> {
        examine::state(session).await
    }

    async fn examine(&self, session: &Session, state: Self::State) -> Respondent {
        examine::examine(session, self, &state)
    }
}
