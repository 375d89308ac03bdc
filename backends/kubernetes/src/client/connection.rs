//! Connections to the API server, with or without a proxy and TLS. Each takes one request at a time.

use std::sync::Arc;

use elect_remote::{Http, Protocol, Stream, Trouble, Witness, connect, in_full};
use hyper::Request;
use hyper::body::Incoming;

use super::access::Access;
use super::server::Identity;

/// A connection. Dropped, it is closed.
pub(super) struct Connection {
    http: Http,
    /// The access that it was made with. Another access may have another certificate.
    access: Arc<Access>,
    /// The certificate that a plugin gave us for it.
    identity: Option<Arc<Identity>>,
    witness: Witness,
}

/// The reason why there is no connection.
pub(super) struct Unconnected {
    /// The attempt and its outcome, for people.
    pub(super) why: String,
    /// Whether a certificate was refused, ours or the server's. New certificate files may mend that.
    pub(super) is_distrust: bool,
}

/// The reason why a request has no answer.
pub(super) enum Unanswered {
    /// The request was not sent. It comes back for another attempt.
    Unsent(Box<Request<String>>, String),
    /// The request may have been sent.
    Lost(String),
}

impl Connection {
    /// Connects to the server, with the certificate of a plugin if there is one.
    ///
    /// # Errors
    /// The attempt and its outcome.
    pub(super) async fn dial(
        access: &Arc<Access>,
        identity: Option<&Arc<Identity>>,
    ) -> Result<Self, Unconnected> {
        let (server, witness) = (&access.server, Witness::default());
        let failed = |way: &str, why: String, is_distrust| {
            let why = format!("cannot connect to {}{way}: {why}", server.address);
            Unconnected { why, is_distrust }
        };
        let of = |trouble: Trouble| failed("", trouble.in_full(&server.hints), trouble.is_of_tls());
        let secured = server.secured(identity.map(AsRef::as_ref));
        let secured = secured.map_err(|error| failed("", in_full(&error), true))?;
        // This future is large and seldom runs, so it must not enlarge those of callers.
        let stream: Stream = Box::pin(async {
            let host = &server.address.host;
            let stream = match &server.proxy {
                None => connect(host, &witness).await.map_err(of)?,
                Some(proxy) => proxy.connect(host, &witness).await.map_err(|why| {
                    failed(&format!(" through the proxy at {}", proxy.host), why, false)
                })?,
            };
            match &secured {
                None => Ok(stream),
                // A server may also close the connection of a client whose certificate is over.
                Some(secured) => secured
                    .over(stream, &witness)
                    .await
                    .map_err(|trouble| failed("", trouble.in_full(&server.hints), true)),
            }
        })
        .await?;
        let http = Http::over(stream).await;
        let http = http.map_err(|error| failed("", in_full(&error), false))?;
        let (access, identity) = (Arc::clone(access), identity.cloned());
        Ok(Self { http, access, identity, witness })
    }

    /// Returns whether it can take a request with these credentials, as far as we know.
    pub(super) async fn is_good_for(
        &mut self,
        access: &Arc<Access>,
        identity: Option<&Arc<Identity>>,
    ) -> bool {
        let is_ours = Arc::ptr_eq(&self.access, access) && self.identity.as_ref() == identity;
        is_ours && self.http.is_ready().await
    }

    /// Closes it.
    #[cfg(test)]
    pub(super) async fn close(&mut self) {
        self.http.close().await;
    }

    /// Sends a request, and waits for the head of its answer.
    ///
    /// # Errors
    /// [`Unanswered`] tells whether the request was sent.
    ///
    /// # Cancellation
    /// The connection is closed.
    pub(super) async fn ask(
        &mut self,
        request: Request<String>,
    ) -> Result<hyper::Response<Incoming>, Unanswered> {
        let sent = self.http.ask(request).await;
        sent.map_err(|unanswered| match unanswered {
            elect_remote::Unanswered::Unsent(request, error) => {
                Unanswered::Unsent(request, self.in_words(&error))
            }
            elect_remote::Unanswered::Lost(error) => Unanswered::Lost(self.in_words(&error)),
        })
    }

    /// Explains an error by what came from the server.
    fn in_words(&self, error: &hyper::Error) -> String {
        let (seen, hints) = (self.witness.seen(), &self.access.server.hints);
        // The first bytes are the proxy's, if there is one.
        let is_clear = self.access.server.tls.is_none() && self.access.server.proxy.is_none();
        match seen.trouble {
            _ if is_clear && Protocol::Tls.is_in(&seen.first_bytes) => {
                Trouble::WantsTls.in_full(hints)
            }
            Some(trouble) if trouble.is_of_tls() || seen.first_bytes.is_empty() => {
                trouble.in_full(hints)
            }
            _ if error.is_parse() => {
                format!("the server there does not speak HTTP ({})", in_full(error))
            }
            _ => in_full(error),
        }
    }
}
