//! TLS to an API server: its authority, our certificate, and what is wrong if it does not work.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use elect_api::Error;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, InconsistentKeys, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::distrust::{Expected, in_words};
use super::files::Held;
use super::kubeconfig::unfit;

/// A certificate and its key, in PEM.
pub(super) type Identity = (Vec<u8>, Vec<u8>);

/// The settings of TLS with an API server.
pub(super) struct Tls {
    /// The authority of its certificate; `None` for those of the system.
    authority: Option<Held>,
    /// Our certificate and its key.
    identity: Option<(Held, Held)>,
    /// The name in its certificate, if the URL has another one.
    name: Option<String>,
    is_blind: bool,
    /// Whether it is to a proxy on the way there.
    is_proxy: bool,
    made: Mutex<Option<Made>>,
}

/// The last configuration, and the certificate of a plugin that it was made for.
struct Made {
    identity: Option<Identity>,
    config: Arc<ClientConfig>,
}

impl Tls {
    pub(super) fn new(
        authority: Option<Held>,
        identity: Option<(Held, Held)>,
        name: Option<String>,
        is_blind: bool,
    ) -> Self {
        Self { authority, identity, name, is_blind, is_proxy: false, made: Mutex::default() }
    }

    /// Returns whether the server may be any machine, as its certificate is not checked.
    pub(super) const fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Checks that certificates and keys can be used. The system's authorities are read later.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`], with the file that is wrong.
    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some(authority) = &self.authority {
            let path = authority.path.display();
            roots(&authority.bytes).map_err(|why| {
                unfit(format!("there is no certificate-authority in {path}: {why}"))
            })?;
        }
        if let Some((certificate, key)) = &self.identity {
            let paths = (certificate.path.display(), key.path.display());
            let wrong = |why| {
                let (certificate, key) = paths;
                unfit(format!(
                    "our client certificate in {certificate}, or its key in {key}, is no good: {why}"
                ))
            };
            identify(&(certificate.bytes.clone(), key.bytes.clone())).map_err(wrong)?;
        }
        Ok(())
    }

    /// Checks that our certificate and its key belong together. In a renewal that is half done they do not.
    ///
    /// # Errors
    /// The reason, for people.
    pub(super) fn expect_a_pair(&self) -> Result<(), String> {
        configure(None, self.identity().as_ref()).map(drop)
    }

    fn identity(&self) -> Option<Identity> {
        let own = self.identity.as_ref();
        own.map(|(certificate, key)| (certificate.bytes.clone(), key.bytes.clone()))
    }

    /// Speaks TLS over a connection to `host`. A plugin's `identity` counts before ours.
    ///
    /// # Errors
    /// The trouble and its remedy, for people.
    pub(super) async fn connect<S>(
        &self,
        stream: S,
        host: &str,
        identity: Option<&Identity>,
    ) -> Result<TlsStream<S>, String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.config(identity)?;
        let name = self.name.as_deref().unwrap_or(host);
        let expected = ServerName::try_from(name.to_owned());
        let expected = expected.map_err(|_| format!("no certificate can be for {name:?}"))?;
        TlsConnector::from(config).connect(expected, stream).await.map_err(|error| {
            // The system's authorities may be others by now.
            *lock(&self.made) = None;
            *lock(&SYSTEM) = None;
            self.words(&error, name)
        })
    }

    /// Returns the configuration, and makes a new one only for another certificate of a plugin.
    fn config(&self, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, String> {
        let identity = identity.cloned().or_else(|| self.identity());
        let mut made = lock(&self.made);
        if let Some(made) = &*made
            && made.identity == identity
        {
            return Ok(Arc::clone(&made.config));
        }
        let own = self.authority.as_ref();
        let roots = || own.map_or_else(system, |held| roots(&held.bytes).map(Arc::new));
        let verifier = if self.is_blind { Ok(None) } else { roots().map(Some) };
        let config = Arc::new(configure(verifier?, identity.as_ref())?);
        *made = Some(Made { identity, config: Arc::clone(&config) });
        Ok(config)
    }

    /// Explains what went wrong with a server that should have this name.
    fn words(&self, error: &io::Error, name: &str) -> String {
        let authority = self.authority.as_ref().map_or_else(
            || "this system's authorities".to_owned(),
            |authority| format!("the authority in {}", authority.path.display()),
        );
        in_words(error, &Expected { name, authority, is_proxy: self.is_proxy })
    }
}

/// Speaks TLS with a proxy, which the system's authorities have to know.
///
/// # Errors
/// The trouble and its remedy, for people.
pub(super) async fn connect_to_proxy<S>(stream: S, host: &str) -> Result<TlsStream<S>, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let tls = Tls { is_proxy: true, ..Tls::new(None, None, None, false) };
    tls.connect(stream, host, None).await
}

fn configure(
    roots: Option<Arc<RootCertStore>>,
    identity: Option<&Identity>,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match roots {
        None => Arc::new(Blind(Arc::clone(&provider))),
        Some(roots) => {
            let builder = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            builder.build().map_err(|error| error.to_string())?
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let Some(identity) = identity else { return Ok(builder.with_no_client_auth()) };
    let (chain, key) = identify(identity)?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                "client-certificate and client-key of the user do not go together".to_owned()
            }
            other => format!("our client certificate or its key is no good: see client-certificate of the user ({other})"),
        })
}

/// Reads a chain of certificates and a key. A message does not quote a text that is not in PEM form, as it may be a
/// key.
fn identify(
    (certificate, key): &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let chain = certificates(certificate).ok_or("our client certificate is not in PEM form")?;
    let key = PrivateKeyDer::from_pem_slice(key);
    Ok((chain, key.map_err(|_| "the key of our client certificate is not in PEM form")?))
}

/// Reads the authorities in a file in PEM form.
fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem).ok_or("it is not in PEM form")? {
        roots
            .add(certificate)
            .map_err(|error| format!("a certificate in it is damaged ({error})"))?;
    }
    Ok(roots)
}

/// Reads the certificates of a text in PEM form, or `None` if it has none.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty())
}

/// The system's authorities, as they were last read.
static SYSTEM: Mutex<Option<Arc<RootCertStore>>> = Mutex::new(None);

/// Returns the system's authorities.
fn system() -> Result<Arc<RootCertStore>, String> {
    let mut known = lock(&SYSTEM);
    if let Some(roots) = &*known {
        return Ok(Arc::clone(roots));
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "this system has no certificate authorities: install ca-certificates, or name a \
                    certificate-authority"
                .into(),
        );
    }
    Ok(Arc::clone(known.insert(Arc::new(roots))))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes any certificate, for `insecure-skip-tls-verify`.
#[derive(Debug)]
struct Blind(Arc<CryptoProvider>);

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
