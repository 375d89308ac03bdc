use std::fmt;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::remote::{Host, Tls, Url};
use elect_api::{Error, ErrorKind};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use zookeeper_client::{
    TlsCa, TlsCerts, TlsCertsOptions, TlsDynamicCerts, TlsIdentity, TlsOptions,
};

use crate::task::lock;

/// How connections are made safe, by files that may change while we run.
pub(crate) struct Security {
    url: Url,
    /// What the client library makes its connections by.
    certs: TlsDynamicCerts,
    present: Mutex<Present>,
}

/// What was read last that can be used.
struct Present {
    files: Files,
    /// For our own handshake, which is made only to tell what is wrong.
    config: Arc<ClientConfig>,
    /// Why it is not what the files have by now.
    doubt: Option<Error>,
}

/// What the files hold, in PEM.
#[derive(PartialEq, Eq)]
struct Files {
    authorities: String,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Files {
    /// Those that the URL names; without an authority in it, those of the system.
    fn read(url: &Url) -> Result<Self, Error> {
        let tls = Tls::of(url)?;
        let authorities = match &tls.ca {
            Some(pem) => text(pem, "ca")?.to_owned(),
            None => system_authorities()?,
        };
        Ok(Self { authorities, identity: tls.identity })
    }

    /// For the client library, and for us.
    fn understood(&self) -> Result<(TlsCerts, Arc<ClientConfig>), Error> {
        let unread = |error| unfit("the option ca names no certificate").because(error);
        let builder = TlsCerts::builder();
        let mut builder = builder.with_ca(TlsCa::from_pem(&self.authorities).map_err(unread)?);
        if let Some((cert, key)) = &self.identity {
            let identity = TlsIdentity::from_pem(text(cert, "cert")?, text(key, "key")?);
            builder =
                builder.with_identity(identity.map_err(|error| unfit(IDENTITY).because(error))?);
        }
        let config = config(&self.authorities, self.identity.as_ref())?;
        Ok((builder.build().map_err(unread)?, Arc::new(config)))
    }
}

impl Security {
    /// Reads the files that the URL names; without an authority in it, those of the system.
    pub(crate) fn of(url: &Url) -> Result<Self, Error> {
        let files = Files::read(url)?;
        if url.option("server-name").is_some() {
            return Err(unfit(
                "the option server-name is not for ZooKeeper, whose client looks for the name in the URL \
                 in the server's certificate: write that name as the host",
            ));
        }
        for host in &url.hosts {
            server_name(host)?;
        }
        let (certs, config) = files.understood()?;
        Ok(Self {
            url: url.clone(),
            certs: TlsDynamicCerts::new(certs),
            present: Mutex::new(Present { files, config, doubt: None }),
        })
    }

    /// Reads the files anew. What cannot be used, as a certificate whose key is still to come, changes nothing yet.
    pub(crate) fn renew(&self) {
        let read = Files::read(&self.url);
        let mut present = lock(&self.present);
        let renewed = match read {
            Ok(files) if files == present.files => Ok(None),
            Ok(files) => files.understood().map(|it| Some((files, it))),
            Err(error) => Err(error),
        };
        match renewed {
            Ok(None) => present.doubt = None,
            Ok(Some((files, (certs, config)))) => {
                self.certs.update(certs);
                *present = Present { files, config, doubt: None };
            }
            Err(error) => present.doubt = Some(error),
        }
    }

    /// For the connections of one client, each of which begins by what was renewed last.
    pub(crate) fn options(&self) -> TlsOptions {
        self.renew();
        TlsOptions::new().with_certs(TlsCertsOptions::from(self.certs.clone()))
    }

    /// For one handshake of ours.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.renew();
        Arc::clone(&lock(&self.present).config)
    }

    /// Why the files are not used as they are by now.
    pub(crate) fn doubt(&self) -> Option<String> {
        lock(&self.present).doubt.as_ref().map(|error| format!("still by older files, as {error}"))
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
