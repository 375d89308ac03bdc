//! TLS for the client library, by files that may change while elect runs.

use std::fmt;
use std::sync::Mutex;

use elect_api::{Error, ErrorKind};
use elect_remote::{Host, Pem, Renewed, Secured, Tls, Tries, Url};
use zookeeper_client::{
    TlsCa, TlsCerts, TlsCertsOptions, TlsDynamicCerts, TlsIdentity, TlsOptions,
};

use crate::task::lock;

/// The TLS options of a URL, for the client library and for probes.
pub(crate) struct Security {
    files: Renewed<Tls>,
    /// What the client library makes its connections by.
    certs: TlsDynamicCerts,
    /// Why the files are not used as they are now.
    doubt: Mutex<Option<Error>>,
}

impl Security {
    /// Reads the files that the URL names; `None` if it asks for no TLS.
    pub(crate) fn of(url: &Url) -> Result<Option<Self>, Error> {
        let Some(tls) = Tls::of(url, &[])? else { return Ok(None) };
        if url.option("server-name").is_some() {
            return Err(Error::new(
                ErrorKind::Unfit,
                "the option server-name is not for ZooKeeper, whose client looks for the name in the URL in the \
                 server's certificate: write that name as the host",
            ));
        }
        // The client library looks for the host as it is in the certificate, and panics if no certificate can have it.
        if let Some(host) = url.hosts.iter().find(|host| host.name != host.without_zone()) {
            let what = format!(
                "{:?} is no name that a certificate can have: leave out the zone",
                host.name
            );
            return Err(Error::new(ErrorKind::Unfit, what));
        }
        let certs = TlsDynamicCerts::new(certs(&tls.pem)?);
        Ok(Some(Self { files: Renewed::new(tls), certs, doubt: Mutex::default() }))
    }

    /// Reads the files anew. What cannot be used, as a certificate whose key is still to come, changes nothing yet.
    pub(crate) fn renew(&self) {
        let Tries { first, second, unread } = self.files.tries(Tls::again);
        let renewed = match (second, unread) {
            (_, Some(error)) => Err(error),
            (None, None) => Ok(()),
            (Some(_), None) => certs(&first.pem).map(|certs| {
                self.certs.update(certs);
                self.files.keep(&first);
            }),
        };
        *lock(&self.doubt) = renewed.err();
    }

    /// For the connections of one client, each of which begins by what was renewed last.
    pub(crate) fn options(&self) -> TlsOptions {
        self.renew();
        TlsOptions::new().with_certs(TlsCertsOptions::from(self.certs.clone()))
    }

    /// Returns TLS for one handshake with a host.
    ///
    /// # Errors
    /// No certificate can have the host's name.
    pub(crate) fn secured(&self, host: &Host) -> Result<Secured, Error> {
        self.renew();
        self.files.known().secure(host)
    }

    /// Why the files are not used as they are now, in words.
    pub(crate) fn doubt(&self) -> Option<String> {
        lock(&self.doubt).as_ref().map(|error| format!("still by older files, as {error}"))
    }
}

/// No certificates, and above all no key.
impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Security")
    }
}

/// For the client library, which reads PEM by rules of its own.
fn certs(pem: &Pem) -> Result<TlsCerts, Error> {
    let unread = |error| {
        Error::new(ErrorKind::Unfit, "ZooKeeper's client cannot read the certificates")
            .because(error)
    };
    let mut builder =
        TlsCerts::builder().with_ca(TlsCa::from_pem(&pem.authorities).map_err(unread)?);
    if let Some((cert, key)) = &pem.identity {
        builder = builder.with_identity(TlsIdentity::from_pem(cert, key).map_err(unread)?);
    }
    builder.build().map_err(unread)
}
