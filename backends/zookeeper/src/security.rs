use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::remote::{Host, Tls, Url};
use elect_api::{Error, ErrorKind};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use zookeeper_client::TlsOptions;

/// How connections are made safe.
pub(crate) struct Security {
    options: TlsOptions,
    /// The same for our own handshake, which is made only to tell what is wrong.
    config: Arc<ClientConfig>,
}

impl Security {
    /// Reads the files that the URL names; without an authority in it, those of the system.
    pub(crate) fn of(url: &Url) -> Result<Self, Error> {
        let tls = Tls::of(url)?;
        if tls.server_name.is_some() {
            return Err(unfit(
                "the option server-name is not for ZooKeeper, whose client looks for the name in the URL \
                 in the server's certificate: write that name as the host",
            ));
        }
        for host in &url.hosts {
            server_name(host)?;
        }
        let authorities = match &tls.ca {
            Some(pem) => text(pem, "ca")?.to_owned(),
            None => system_authorities()?,
        };
        let mut options = TlsOptions::new()
            .with_pem_ca(&authorities)
            .map_err(|error| unfit("the option ca names no certificate").because(error))?;
        if let Some((cert, key)) = &tls.identity {
            options = options
                .with_pem_identity(text(cert, "cert")?, text(key, "key")?)
                .map_err(|error| unfit(IDENTITY).because(error))?;
        }
        Ok(Self { options, config: Arc::new(config(&authorities, tls.identity.as_ref())?) })
    }

    pub(crate) fn options(&self) -> TlsOptions {
        self.options.clone()
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }
}

/// No certificates, and above all no key.
impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Security")
    }
}

const IDENTITY: &str = "the options cert and key name no certificate and key that go together";

/// The name that a server's certificate is to have.
pub(crate) fn server_name(host: &Host) -> Result<ServerName<'static>, Error> {
    ServerName::try_from(host.name.clone()).map_err(|error| {
        unfit(format!("{:?} is no name that a certificate can have", host.name)).because(error)
    })
}

/// A configuration that trusts nobody: enough to see whether a server speaks TLS at all.
pub(crate) fn without_authorities() -> Option<Arc<ClientConfig>> {
    config("", None).ok().map(Arc::new)
}

fn config(authorities: &str, identity: Option<&(Vec<u8>, Vec<u8>)>) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(
        CertificateDer::pem_slice_iter(authorities.as_bytes()).filter_map(Result::ok),
    );
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unfit("TLS cannot be set up").because(error))?
        .with_root_certificates(roots);
    let Some((cert, key)) = identity else { return Ok(builder.with_no_client_auth()) };
    let wrong = |error| unfit(IDENTITY).because(error);
    let chain = CertificateDer::pem_slice_iter(cert).collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong(error.to_string()))?;
    let chain = chain.map_err(|error| wrong(error.to_string()))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| wrong(error.to_string()))
}

/// The authorities that this system trusts, in the form that the client library takes.
fn system_authorities() -> Result<String, Error> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let error = unfit("this system trusts no authority: name one with the option ca");
        return Err(match found.errors.into_iter().next() {
            Some(why) => error.because(why),
            None => error,
        });
    }
    let pem = |certificate: &CertificateDer<'_>| {
        let body = BASE64.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    };
    Ok(found.certs.iter().map(pem).collect())
}

fn text<'a>(pem: &'a [u8], option: &str) -> Result<&'a str, Error> {
    std::str::from_utf8(pem).map_err(|error| {
        unfit(format!("the file of the option {option} is not in PEM form")).because(error)
    })
}

fn unfit(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unfit, what)
}
