use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::{Error, ErrorKind};
use rustls::client::Resumption;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::{Host, Secured, Url};

/// The TLS options of a URL, with the files read and understood.
#[derive(Clone)]
pub struct Tls {
    /// The contents of the files, in PEM.
    pub pem: Pem,
    server_name: Option<String>,
    /// The names of the protocols inside TLS.
    protocols: &'static [&'static str],
    files: Files,
    config: Arc<ClientConfig>,
}

/// What the files hold, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The certificates of the authorities that sign the servers' certificates: those of the option `ca`, or of the
    /// system.
    pub authorities: String,
    /// The client certificate and its key.
    pub identity: Option<(String, String)>,
}

/// The paths of the files, for reading them again.
#[derive(Clone)]
struct Files {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
}

/// Two are equal if their files hold the same: all else is of the same URL.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        self.pem == other.pem
    }
}

impl Tls {
    /// The options of a URL that [`Tls::of`] reads.
    pub const OPTIONS: &[&str] = &["ca", "cert", "key", "server-name"];

    /// Reads the files that the options `ca`, `cert` and `key` name, and the option `server-name`. `None` if the
    /// scheme of the URL does not end with `+tls`. A server must speak one of the `protocols` inside TLS, if any are
    /// named.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if a file is missing or does not hold what it should, if only one of `cert` and `key` is
    /// given, if the URL has an option and asks for no TLS, if no certificate can have the name of a host, or if the
    /// system has no authorities. `Denied` if this process may not read a file.
    pub fn of(url: &Url, protocols: &'static [&'static str]) -> Result<Option<Self>, Error> {
        let option = |name: &str| url.option(name).map(str::to_owned);
        let scheme = &url.scheme;
        if !scheme.ends_with("+tls") {
            return match Self::OPTIONS.iter().find(|name| url.option(name).is_some()) {
                None => Ok(None),
                Some(name) => Err(unfit(format!(
                    "the option {name} is about TLS, which {scheme}:// does not use: write {scheme}+tls://"
                ))),
            };
        }
        let files = Files { ca: option("ca"), cert: option("cert"), key: option("key") };
        let pem = files.read()?;
        let config = pem.config(protocols)?;
        let tls = Self { pem, server_name: option("server-name"), protocols, files, config };
        url.hosts.iter().try_for_each(|host| tls.secure(host).map(drop))?;
        Ok(Some(tls))
    }

    /// The same options, with the files read again.
    ///
    /// # Errors
    /// As [`Tls::of`].
    pub fn again(&self) -> Result<Self, Error> {
        let pem = self.files.read()?;
        if pem == self.pem {
            return Ok(self.clone());
        }
        let config = pem.config(self.protocols)?;
        Ok(Self { pem, config, ..self.clone() })
    }

    /// What it takes to dial a host.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if no certificate can have the host's name.
    pub fn secure(&self, host: &Host) -> Result<Secured, Error> {
        let name = self.server_name.as_deref().unwrap_or_else(|| host.without_zone());
        let expected = ServerName::try_from(name.to_owned());
        let name = expected.map_err(|error| {
            unfit(format!("{name:?} is no name that a certificate can have")).because(error)
        })?;
        Ok(Secured { config: Arc::clone(&self.config), name })
    }
}

impl Files {
    fn read(&self) -> Result<Pem, Error> {
        let read = |option: &str, path: &Option<String>| {
            path.as_ref().map(|path| read_pem(option, path)).transpose()
        };
        let identity = match (read("cert", &self.cert)?, read("key", &self.key)?) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => {
                return Err(unfit(
                    "a client certificate is two files: the options cert and key go together",
                ));
            }
        };
        let authorities = read("ca", &self.ca)?.map_or_else(system_authorities, Ok)?;
        Ok(Pem { authorities, identity })
    }
}

impl Pem {
    fn config(&self, protocols: &[&str]) -> Result<Arc<ClientConfig>, Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(
            CertificateDer::pem_slice_iter(self.authorities.as_bytes()).filter_map(Result::ok),
        );
        if roots.is_empty() {
            return Err(unfit("the option ca names no certificate"));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unfit("TLS cannot be set up").because(error))?
            .with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let no_pem = |error: pem::Error| unfit(IDENTITY).because(error.to_string());
                let chain = CertificateDer::pem_slice_iter(cert.as_bytes());
                let chain = chain.collect::<Result<_, _>>().map_err(no_pem)?;
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(no_pem)?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| unfit(IDENTITY).because(error))?
            }
        };
        // A resumed session would not show the certificate that the server has by now.
        config.resumption = Resumption::disabled();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Arc::new(config))
    }
}

const IDENTITY: &str = "the options cert and key name no certificate and key that go together";

fn read_pem(option: &str, path: &str) -> Result<String, Error> {
    let bytes = elect_system::path::read(Path::new(path)).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            _ => ErrorKind::Unfit,
        };
        Error::new(kind, format!("cannot read the file of the option {option}, {path}"))
            .because(error)
    })?;
    // The text around the blocks may have any encoding.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text).filter(|text| text.contains("-----BEGIN ")).ok_or_else(|| {
        unfit(format!("the file of the option {option}, {path}, is not in PEM form"))
    })
}

/// The authorities that the system trusts, in PEM.
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

fn unfit(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use elect_testkit::servers::{Authority, Pem as Files};
    use rustls::ServerConfig;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::{Trouble, Witness, dial};

    fn of(url: &str) -> Result<Option<Tls>, Error> {
        Tls::of(&Url::parse(url, 1, Tls::OPTIONS).expect("a good URL"), &[])
    }

    #[test]
    fn options_of_tls_need_tls() {
        assert!(of("x://a").expect("a good URL").is_none());
        let error = of("x://a?server-name=b").err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Unfit);
        assert!(error.to_string().contains("write x+tls://"), "{error}");
    }

    #[test]
    fn files_are_read_anew_and_what_is_wrong_is_named() {
        let authority = Authority::new();
        let (ca, one) = (authority.ca(), authority.client("one"));
        let ca = format!("ca={}", ca.display());
        let (cert, key) =
            (format!("cert={}", one.cert.display()), format!("key={}", one.key.display()));
        let query = |parts: &[&str]| of(&format!("x+tls://a?{}", parts.join("&")));
        let tls = query(&[&ca, &cert, &key]).expect("good files").expect("TLS");
        assert!(tls.again().expect("the same files") == tls);
        // Text beside the certificates has any encoding.
        let commented =
            [b"M\xfcller\n".to_vec(), fs::read(authority.ca()).expect("a file")].concat();
        let path = one.cert.with_file_name("commented");
        fs::write(&path, commented).expect("a file");
        query(&[&format!("ca={}", path.display())]).expect("a good file");
        // Half of a renewal: the key is still to come.
        let others = Authority::new();
        let other = others.client("other");
        fs::copy(&other.cert, &one.cert).expect("a file");
        assert!(tls.again().err().expect("no pair").to_string().contains("go together"));
        fs::copy(&other.key, &one.key).expect("a file");
        assert!(tls.again().expect("a pair") != tls);
        let cert_as_ca = cert.replace("cert=", "ca=");
        fs::write(&one.cert, "-----BEGIN CERTIFICATE-----\n").expect("a file");
        for (parts, why) in [
            (&["ca=/nowhere"][..], "/nowhere"),
            (&["ca=/dev/null"], "PEM"),
            (&[&cert_as_ca], "names no certificate"),
            (&[&ca, &cert], "go together"),
            (&[&ca, &key], "go together"),
        ] {
            let error = query(parts).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Unfit);
            assert!(error.to_string().contains(why), "{parts:?}: {error}");
        }
    }

    fn server(files: &Files) -> ServerConfig {
        let chain = vec![CertificateDer::from_pem_file(&files.cert).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_file(&files.key).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .expect("a pair")
    }

    /// A resumed session would hide the new certificate.
    #[tokio::test]
    async fn each_connection_sees_the_certificate_that_the_server_has_by_now() {
        let (ours, other) = (Authority::new(), Authority::new());
        let old = server(&ours.server(&["127.0.0.1"]));
        let mut new = server(&other.server(&["127.0.0.1"]));
        // A server that reads its files again keeps the sessions of its clients.
        new.session_storage = Arc::clone(&old.session_storage);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let url = format!("x+tls://127.0.0.1:{port}?ca={}", ours.ca().display());
        let url = Url::parse(&url, 1, Tls::OPTIONS).expect("a good URL");
        let tls = Tls::of(&url, &[]).expect("good files").expect("TLS");
        let secured = tls.secure(&url.hosts[0]).expect("a name");
        let mut seen = Vec::new();
        for config in [old, new] {
            let serve = async {
                let (stream, _) = listener.accept().await.expect("a client");
                let stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await;
                // The byte follows the means to resume the session.
                if let Ok(mut stream) = stream {
                    stream.write_all(b"x").await.expect("room");
                }
            };
            let connect = async {
                let mut stream = dial(&url.hosts[0], Some(&secured), &Witness::default()).await?;
                Ok(stream.read_u8().await.expect("a byte"))
            };
            seen.push(tokio::join!(serve, connect).1);
        }
        assert!(matches!(seen[..], [Ok(b'x'), Err(Trouble::Certificate(_))]), "{seen:?}");
    }
}
