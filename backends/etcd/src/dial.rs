//! Connections of our own making, so that what is wrong with one can be told in words.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use elect_api::remote::{Host, Tls};
use elect_api::{Error, ErrorKind};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::first_bytes::{FirstBytes, Listener};

/// For a name, a connection and TLS together. The engine's own attempts are cut sooner, as a rule.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest that any answer may take, for callers who do not look at the time themselves.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// From one question whether the other side still lives to the next. etcd hangs up on who asks more often
/// than every five seconds, or without a request under way.
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// How long it has to answer that.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// What the headers of an answer may have, in bytes. A message may have 4 MiB, as tonic has it for all clients.
const LONGEST_HEADERS: u32 = 16 << 10;
/// How long an address of a machine is alone before the next one is tried too.
const HEAD_START: Duration = Duration::from_millis(250);

/// One member of the cluster.
pub(crate) struct Member {
    host: Host,
    /// Where it is, whether over TLS or not.
    endpoint: Endpoint,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum DialError {
    /// The name means no machine.
    Name(io::Error),
    /// The machine refuses, or is not to be reached.
    Connect(io::Error),
}

impl Member {
    pub(crate) fn new(host: Host, tls: Option<&Tls>) -> Result<Self, Error> {
        let unfit = |what: &str, error: tonic::transport::Error| {
            let text = chain_of(&error);
            Error::new(ErrorKind::Unfit, format!("{what} for {host}")).because(text)
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{}", without_zone(&host)))
            .map_err(|error| unfit("there is no way to write an address", error))?
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ANSWER_TIMEOUT)
            .http2_max_header_list_size(LONGEST_HEADERS)
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(false);
        secured(&endpoint, tls, &host)
            .map_err(|error| unfit("cannot use what the URL says about TLS", error))?;
        Ok(Self { host, endpoint })
    }

    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    /// Connects, and says nothing yet.
    pub(crate) async fn dial(
        &self,
        tls: Option<&Tls>,
        first_bytes: &FirstBytes,
    ) -> Result<Channel, tonic::transport::Error> {
        let (host, first_bytes) = (self.host.clone(), first_bytes.clone());
        let connector = tower::service_fn(move |_| {
            let (host, first_bytes) = (host.clone(), first_bytes.clone());
            async move { connect(&host, first_bytes).await.map(TokioIo::new) }
        });
        secured(&self.endpoint, tls, &self.host)?.connect_with_connector(connector).await
    }
}

async fn connect(host: &Host, first_bytes: FirstBytes) -> Result<Listener, DialError> {
    let addresses = lookup_host((host.name.as_str(), host.port)).await.map_err(DialError::Name)?;
    let stream = race(addresses).await?;
    // A request waits for its answer: nothing else would come to fill the packet.
    let _ = stream.set_nodelay(true);
    Ok(Listener::new(stream, first_bytes))
}

/// Connects to the first address that answers. One that is silent does not hold up the others.
async fn race(addresses: impl Iterator<Item = SocketAddr>) -> Result<TcpStream, DialError> {
    let mut addresses = addresses.peekable();
    let mut tries = JoinSet::new();
    let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no addresses");
    let mut outcome = DialError::Name(none());
    loop {
        if let Some(address) = addresses.next() {
            tries.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            ended = tries.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => outcome = DialError::Connect(error),
                Some(Err(_)) => {}
                None => return Err(outcome),
            },
            () = tokio::time::sleep(HEAD_START), if addresses.peek().is_some() => {}
        }
    }
}

/// The same with what is known of TLS by now.
fn secured(
    endpoint: &Endpoint,
    tls: Option<&Tls>,
    host: &Host,
) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint = endpoint.clone();
    match tls {
        None => Ok(endpoint),
        Some(tls) => endpoint.tls_config(tls_config(tls, host)),
    }
}

fn tls_config(tls: &Tls, host: &Host) -> ClientTlsConfig {
    let name = tls.server_name.clone();
    let config = ClientTlsConfig::new()
        .domain_name(name.unwrap_or_else(|| host.name.split('%').next().unwrap_or("").to_owned()));
    let config = match &tls.ca {
        Some(ca) => config.ca_certificate(Certificate::from_pem(ca)),
        None => config.with_native_roots(),
    };
    match &tls.identity {
        Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
        None => config,
    }
}

/// URLs know nothing of the interface of a link-local address; it is dialled with it.
fn without_zone(host: &Host) -> Host {
    let name = host.name.split('%').next().unwrap_or_default().to_owned();
    Host { name, port: host.port }
}

/// The words of an error and of all its causes.
pub(crate) fn chain_of(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let words = error.to_string();
        // Wrappers repeat what they wrap.
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        next = error.source();
    }
    text
}

impl DialError {
    /// Whether the machine is there, and nothing listens: all is said then.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) | Self::Connect(error) => error.fmt(f),
        }
    }
}

impl StdError for DialError {}
