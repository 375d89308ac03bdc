use std::io;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::{Error, ErrorKind};
use rustls::client::Resumption;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::verifier::Lenient;
use crate::{Host, Secured, Url, unfit};

/// The TLS options of a URL, with the files read and understood.
#[derive(Clone)]
pub struct Tls {
    /// The contents of the files, in PEM.
    pub pem: Pem,
    /// The names of the protocols inside TLS.
    protocols: &'static [&'static str],
    settings: TlsSettings,
    config: Arc<ClientConfig>,
}

/// What TLS with servers is set up from, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The certificates of the authorities that sign the servers' certificates.
    pub authorities: String,
    /// The client certificate and its key.
    pub identity: Option<(String, String)>,
    /// What is checked of a server's certificate.
    pub check: Check,
}

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The authority that has signed it, and the name of the server in it.
    Name,
    /// The authority that has signed it. It may be for any name.
    Authority,
    /// Nothing: any certificate is accepted, and the authorities do not matter.
    Nothing,
}

/// The settings of a TLS connection, as a URL or another configuration gives them.
#[derive(Clone)]
pub struct TlsSettings {
    /// The file of authorities; `None` for those of the system.
    pub ca: Option<String>,
    /// The file of the client's certificate.
    pub cert: Option<String>,
    /// The file of its key.
    pub key: Option<String>,
    /// What is checked of a server's certificate.
    pub check: Check,
    /// The name that a server's certificate must have, if it is not the host's.
    pub server_name: Option<String>,
    /// The names of the first three settings, for messages.
    pub names: [&'static str; 3],
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
        let names @ [ca, cert, key] = NAMES;
        let settings = TlsSettings {
            ca: option(ca),
            cert: option(cert),
            key: option(key),
            check: Check::Name,
            server_name: option("server-name"),
            names,
        };
        Self::new(settings, protocols, &url.hosts).map(Some)
    }

    /// Reads the files of these settings. A server must speak one of the `protocols` inside TLS, if any are named.
    ///
    /// # Errors
    /// As [`Tls::of`].
    pub fn new(
        settings: TlsSettings,
        protocols: &'static [&'static str],
        hosts: &[Host],
    ) -> Result<Self, Error> {
        let pem = settings.read()?;
        let config = settings.config(&pem, protocols)?;
        let tls = Self { pem, protocols, settings, config };
        hosts.iter().try_for_each(|host| tls.secure(host).map(drop))?;
        Ok(tls)
    }

    /// The same options, with the files read again.
    ///
    /// # Errors
    /// As [`Tls::of`].
    pub fn again(&self) -> Result<Self, Error> {
        let pem = self.settings.read()?;
        if pem == self.pem {
            return Ok(self.clone());
        }
        let config = self.settings.config(&pem, self.protocols)?;
        Ok(Self { pem, config, ..self.clone() })
    }

    /// What it takes to dial a host.
    ///
    /// # Errors
    /// As [`Secured::new`].
    pub fn secure(&self, host: &Host) -> Result<Secured, Error> {
        let name = self.settings.server_name.as_deref().unwrap_or_else(|| host.without_zone());
        Secured::new(Arc::clone(&self.config), name)
    }
}

impl Secured {
    /// TLS with a server whose certificate must have this name.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if no certificate can have it.
    pub fn new(config: Arc<ClientConfig>, name: &str) -> Result<Self, Error> {
        let expected = ServerName::try_from(name.to_owned());
        let name = expected.map_err(|error| {
            unfit(format!("{name:?} is no name that a certificate can have")).because(error)
        })?;
        Ok(Self { config, name })
    }
}

impl TlsSettings {
    fn read(&self) -> Result<Pem, Error> {
        let [ca, cert, key] = self.names;
        let of = |option: &str, path: &Option<String>| {
            let of_file = |path: &String| {
                let (what, path) = (format!("the file of the option {option}"), Path::new(path));
                pem_of(&format!("{what}, {},", path.display()), &read(&what, path)?)
            };
            path.as_ref().map(of_file).transpose()
        };
        let identity = match (of(cert, &self.cert)?, of(key, &self.key)?) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => {
                return Err(unfit(format!(
                    "a client certificate is two files: the options {cert} and {key} go together"
                )));
            }
        };
        let authorities = match (self.check, of(ca, &self.ca)?) {
            (Check::Nothing, _) => String::new(),
            (_, Some(authorities)) => authorities,
            (_, None) => system_authorities(&format!("the option {ca}"))?,
        };
        Ok(Pem { authorities, identity, check: self.check })
    }

    fn config(&self, pem: &Pem, protocols: &[&str]) -> Result<Arc<ClientConfig>, Error> {
        let [ca, cert, key] = self.names;
        let identity = format!("the options {cert} and {key}");
        pem.config(protocols, &format!("the option {ca}"), &identity)
    }
}

impl Pem {
    /// Sets TLS up. Messages call the settings by the names `authority` and `identity`, as in `the option ca` and `the
    /// options cert and key`. A server must speak one of the `protocols` inside TLS, if there are any.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if there is no authority, or no certificate and key that go together.
    pub fn config(
        &self,
        protocols: &[&str],
        authority: &str,
        identity: &str,
    ) -> Result<Arc<ClientConfig>, Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| unfit("TLS cannot be set up").because(error))?;
        let builder = if self.check == Check::Nothing {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Lenient::any(&provider)))
        } else {
            let mut roots = RootCertStore::empty();
            let all = CertificateDer::pem_slice_iter(self.authorities.as_bytes());
            // A file that is being written may end within a certificate.
            let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| {
                unfit(format!("{authority} names a damaged certificate")).because(error.to_string())
            })?;
            if roots.add_parsable_certificates(all).0 == 0 {
                return Err(unfit(format!("{authority} names no certificate")));
            }
            if self.check == Check::Name {
                builder.with_root_certificates(roots)
            } else {
                let verifier = Lenient::of_authorities(roots, &provider)
                    .map_err(|error| unfit("certificates cannot be checked").because(error))?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let wrong =
                    || unfit(format!("{identity} name no certificate and key that go together"));
                let no_pem = |error: pem::Error| wrong().because(error.to_string());
                let chain = CertificateDer::pem_slice_iter(cert.as_bytes());
                let chain = chain.collect::<Result<_, _>>().map_err(no_pem)?;
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(no_pem)?;
                let config = builder.with_client_auth_cert(chain, key);
                config.map_err(|error| wrong().because(error))?
            }
        };
        // A resumed session would not show the certificate that the server has by now.
        config.resumption = Resumption::disabled();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// The options of a URL that name files of TLS.
const NAMES: [&str; 3] = ["ca", "cert", "key"];
pub(crate) const AUTHORITY: &str = "the option ca";
pub(crate) const IDENTITY: &str = "the options cert and key";

/// Reads a file. `what` names it in messages.
///
/// # Errors
/// [`ErrorKind::Denied`] if this process may not read it, or `Unfit`.
pub fn read(what: &str, path: &Path) -> Result<Vec<u8>, Error> {
    elect_system::path::read(path).map_err(|error| unreadable(what, path, error))
}

/// The text in a file, as [`read`].
///
/// # Errors
/// As [`read`]; `Unfit` if it is no text.
pub fn read_text(what: &str, path: &Path) -> Result<String, Error> {
    String::from_utf8(read(what, path)?)
        .map_err(|_| unfit(format!("{what}, {}, is no UTF-8", path.display())))
}

/// The error of [`read`] for a file that was read in another way.
pub fn unreadable(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        _ => ErrorKind::Unfit,
    };
    Error::new(kind, format!("cannot read {what}, {}", path.display())).because(error)
}

/// A text in PEM form. `what` names it in messages.
///
/// # Errors
/// [`ErrorKind::Unfit`] if it is in another form. The message does not quote it, as it may be a key.
pub fn pem_of(what: &str, bytes: &[u8]) -> Result<String, Error> {
    // The text around the blocks may have any encoding.
    let text = String::from_utf8_lossy(bytes).into_owned();
    let is_pem = text.contains("-----BEGIN ");
    if is_pem { Ok(text) } else { Err(unfit(format!("{what} is not in PEM form"))) }
}

/// The authorities that the system trusts, in PEM. `authority` names the setting that names others.
///
/// # Errors
/// [`ErrorKind::Unfit`] if there are none.
pub fn system_authorities(authority: &str) -> Result<String, Error> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let error = unfit(format!("this system trusts no authority: name one with {authority}"));
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
    fn certificate_files_are_read_anew_and_errors_in_them_named() {
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
        // A bundle whose second certificate is still being written.
        let mut bundle = fs::read(authority.ca()).expect("a file");
        bundle.extend_from_within(..bundle.len() / 2);
        let halved = one.cert.with_file_name("halved");
        fs::write(&halved, bundle).expect("a file");
        let halved = format!("ca={}", halved.display());
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
            (&[&cert_as_ca], "names a damaged certificate"),
            (&[&halved], "names a damaged certificate"),
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
