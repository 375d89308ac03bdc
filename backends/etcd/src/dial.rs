//! gRPC over the connections of [`elect_remote`].

use std::error::Error as StdError;
use std::time::Duration;

use elect_api::{Error, ErrorKind};
use elect_remote::{Credentials, Host, Secured, Seen, Tls, Trouble, Witness};
use hyper_util::rt::TokioIo;
use tonic::transport::{Channel, Endpoint, Uri};

/// The longest time for a name, a connection and TLS together. The engine cuts its own attempts sooner, as a rule.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for one answer, for callers that have no limit of their own.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two pings. etcd closes the connection of a client that pings more often than every five seconds, or
/// without a request under way.
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// The longest time for the answer to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest headers of an answer, in bytes. A message may have 4 MiB, as tonic has it for all clients.
const LONGEST_HEADERS: u32 = 16 << 10;

/// What members are told, and whom they must be.
#[derive(Clone, PartialEq)]
pub(crate) struct Access {
    pub(crate) credentials: Option<Credentials>,
    /// `None` for connections in the clear.
    pub(crate) tls: Option<Tls>,
}

impl Access {
    /// The same, with the files read again.
    ///
    /// # Errors
    /// As [`Credentials::again`] and [`Tls::again`].
    pub(crate) fn again(&self) -> Result<Self, Error> {
        Ok(Self {
            credentials: self.credentials.as_ref().map(Credentials::again).transpose()?,
            tls: self.tls.as_ref().map(Tls::again).transpose()?,
        })
    }

    /// Returns TLS for one member; `None` for a connection in the clear. No error ends in such a connection.
    fn secured(&self, host: &Host) -> Result<Option<Secured>, Trouble> {
        let secured = self.tls.as_ref().map(|tls| tls.secure(host)).transpose();
        secured.map_err(|error| Trouble::Failed(error.to_string()))
    }
}

/// One member of the cluster.
pub(crate) struct Member {
    host: Host,
    endpoint: Endpoint,
}

impl Member {
    pub(crate) fn new(host: Host, is_secure: bool) -> Result<Self, Error> {
        // The zone of a link-local address is dialled, and is in no URL.
        let place = Host { name: host.without_zone().to_owned(), port: host.port };
        let uri = |scheme: &str| {
            format!("{scheme}://{place}").parse::<Uri>().map_err(|error| {
                let what = format!("there is no way to write an address for {host}");
                Error::new(ErrorKind::Unfit, what).because(error)
            })
        };
        // TLS is ours: tonic sees a connection in the clear, and its requests tell etcd of TLS.
        let endpoint = Endpoint::from(uri("http")?)
            .origin(uri(if is_secure { "https" } else { "http" })?)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ANSWER_TIMEOUT)
            .http2_max_header_list_size(LONGEST_HEADERS)
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(false);
        Ok(Self { host, endpoint })
    }

    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    /// Connects, and sends no request.
    pub(crate) async fn dial(
        &self,
        access: &Access,
        witness: &Witness,
    ) -> Result<Channel, tonic::transport::Error> {
        let (host, witness, secured) =
            (self.host.clone(), witness.clone(), access.secured(&self.host));
        let connector = tower::service_fn(move |_| {
            let (host, witness, secured) = (host.clone(), witness.clone(), secured.clone());
            async move {
                let secured = secured.inspect_err(|_| witness.restore(Seen::default()))?;
                elect_remote::dial(&host, secured.as_ref(), &witness).await.map(TokioIo::new)
            }
        });
        self.endpoint.connect_with_connector(connector).await
    }
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

#[cfg(test)]
mod tests {
    use elect_testkit::servers::Authority;
    use tokio::net::TcpListener;

    use super::*;
    use crate::address::Address;

    /// The URL was checked, but nothing else keeps such a host away from here.
    #[tokio::test]
    async fn a_host_that_no_certificate_can_name_is_not_dialled_at_all() {
        let authority = Authority::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let url = format!("etcd+tls://127.0.0.1:{port}?ca={}", authority.ca().display());
        let Address { credentials, tls, .. } = Address::parse(&url, |_| None).expect("a good URL");
        let access = Access { credentials, tls };
        let dialled = async |name: &str| {
            let member =
                Member::new(Host { name: name.to_owned(), port }, true).expect("an address");
            let witness = Witness::default();
            let dial = member.dial(&access, &witness);
            tokio::select! {
                biased;
                _ = listener.accept() => Ok(()),
                outcome = dial => Err(chain_of(&outcome.expect_err("no server"))),
            }
        };
        dialled("127.0.0.1").await.expect("a connection");
        // Another way to write the same address.
        let refusal = dialled("127.1").await.expect_err("a connection");
        assert!(refusal.contains("no name that a certificate can have"), "{refusal}");
    }
}
