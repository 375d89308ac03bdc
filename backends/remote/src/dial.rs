//! Dialling one server: one race of its addresses, then TLS, with what a store puts between them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::Host;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::stream::Tcp;
use crate::{Stream, Trouble, Witness};

/// The time for which one address of a machine is tried alone before the next one is tried too.
const HEAD_START: Duration = Duration::from_millis(250);
/// The longest time for the rest of a short answer after its beginning.
const REST: Duration = Duration::from_millis(500);

/// TLS for one server.
#[derive(Clone)]
pub struct Secured {
    /// The authorities, the client certificate, and the protocols inside TLS.
    pub config: Arc<ClientConfig>,
    /// The name that the server's certificate must have.
    pub name: ServerName<'static>,
}

/// Connects to a server, with TLS if it is `secured`. The `witness` forgets an earlier connection.
///
/// # Errors
/// The trouble, which the witness keeps too.
///
/// # Cancellation
/// Leaves no connection behind.
pub async fn dial(
    host: &Host,
    secured: Option<&Secured>,
    witness: &Witness,
) -> Result<Stream, Trouble> {
    // These futures are large and seldom run, so they must not enlarge those of callers.
    let stream = Box::pin(connect(host, witness)).await?;
    match secured {
        None => Ok(stream),
        Some(secured) => Box::pin(secured.over(stream, witness)).await,
    }
}

/// Connects to a server or a proxy without TLS. Errors and cancellation are as for [`dial`].
pub async fn connect(host: &Host, witness: &Witness) -> Result<Stream, Trouble> {
    witness.restore(crate::Seen::default());
    let connect = async {
        let addresses = lookup_host((host.name.as_str(), host.port)).await;
        let name = || host.name.clone();
        let unknown = |error: io::Error| Trouble::NoSuchName(name(), error.to_string());
        race(addresses.map_err(unknown)?, name).await
    };
    let stream = connect.await.inspect_err(|trouble| witness.note(trouble))?;
    // A request waits for its answer, so no further bytes would fill the packet.
    let _ = stream.set_nodelay(true);
    Ok(Stream::new(Tcp::new(stream, witness.clone()), witness.clone()))
}

impl Secured {
    /// Begins TLS over a connection, which may lead through a proxy. The `witness` forgets what came before TLS. Errors
    /// and cancellation are as for [`dial`].
    pub async fn over(&self, stream: Stream, witness: &Witness) -> Result<Stream, Trouble> {
        witness.restore(crate::Seen::default());
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let connected = connector.connect(self.name.clone(), stream.unwitnessed()).await;
        let secured = connected.map_err(|error| match Trouble::of(&error) {
            Trouble::HungUp if witness.has_heard() => Trouble::BrokenOff,
            trouble => trouble,
        });
        let secured = secured.and_then(|stream| {
            let has_protocol = stream.get_ref().1.alpn_protocol().is_some();
            let is_well = has_protocol || self.config.alpn_protocols.is_empty();
            if is_well { Ok(stream) } else { Err(Trouble::NoProtocol) }
        });
        let stream = secured.inspect_err(|trouble| witness.note(trouble))?;
        Ok(Stream::new(stream, witness.clone()))
    }
}

/// Connects to the first address that answers. A silent one does not hold up the others.
async fn race(
    addresses: impl Iterator<Item = SocketAddr>,
    name: impl Fn() -> String,
) -> Result<TcpStream, Trouble> {
    let mut addresses = addresses.peekable();
    let mut tries = JoinSet::new();
    let mut outcome = Trouble::NoSuchName(name(), "it has no addresses".to_owned());
    loop {
        if let Some(address) = addresses.next() {
            tries.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            ended = tries.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => outcome = unconnected(&error),
                Some(Err(_)) => {}
                None => return Err(outcome),
            },
            () = tokio::time::sleep(HEAD_START), if addresses.peek().is_some() => {}
        }
    }
}

fn unconnected(error: &io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Trouble::Refused,
        // A listener that is closed resets those who wait in its queue. One that closes a new connection, and resets
        // it, may do both before we look.
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Trouble::HungUp,
        _ => Trouble::NoWay(error.to_string()),
    }
}

/// Asks a server one question over a connection of its own. Returns the answer up to `limit` bytes or until the server
/// closes the connection; empty if it says nothing.
///
/// # Errors
/// Why there is no connection, or why the server ended TLS.
pub async fn ask(
    host: &Host,
    secured: Option<&Secured>,
    question: &[u8],
    limit: u64,
) -> Result<Vec<u8>, Trouble> {
    let witness = Witness::default();
    let mut stream = dial(host, secured, &witness).await?;
    let mut answer = Vec::new();
    if stream.write_all(question).await.is_ok() && stream.flush().await.is_ok() {
        let mut rest = (&mut stream).take(limit);
        // A server that resets the connection may have answered first, and one that greets may keep it open.
        if rest.read_buf(&mut answer).await.is_ok_and(|read| read > 0) {
            let _ = timeout(REST, rest.read_to_end(&mut answer)).await;
        }
    }
    match witness.seen().trouble {
        // With TLS 1.3 a server refuses the client's certificate after the handshake.
        Some(trouble) if answer.is_empty() && trouble.is_of_tls() => Err(trouble),
        _ => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_closes_a_new_connection_hangs_up() {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, HostUnreachable};
        for kind in [BrokenPipe, ConnectionAborted, ConnectionReset] {
            assert!(matches!(unconnected(&kind.into()), Trouble::HungUp), "{kind}");
        }
        assert!(matches!(unconnected(&HostUnreachable.into()), Trouble::NoWay(_)));
    }
}
