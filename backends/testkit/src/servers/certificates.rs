use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;

/// A certificate authority for servers and clients of a test. It keeps all its certificates in a folder
/// of its own.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    name: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as files in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pem {
    /// The certificate.
    pub cert: PathBuf,
    /// Its key, in PKCS#8.
    pub key: PathBuf,
}

impl Pem {
    /// TLS of a server that shows this certificate. If there are `clients`, it takes those alone that they have signed.
    ///
    /// # Panics
    /// Panics if the files have changed.
    pub fn server_config(&self, clients: Option<&Authority>) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let certificate = |path: &Path| CertificateDer::from_pem_file(path).expect("a certificate");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(certificate(&clients.ca())).expect("an authority");
                let roots = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(roots.build().expect("a verifier"))
            }
        };
        let key = PrivateKeyDer::from_pem_file(&self.key).expect("a key");
        builder.with_single_cert(vec![certificate(&self.cert)], key).expect("a pair")
    }
}

impl Authority {
    /// Creates a new authority, which no server or client trusts yet.
    ///
    /// # Panics
    /// Panics if the folder cannot be written.
    pub fn new() -> Self {
        // Each has its own name, because two with the same name are easily mistaken for each other.
        Self::named(&format!("test authority {:08x}", fastrand::u32(..)))
    }

    fn named(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        write(&folder.path().join("ca.pem"), &certificate.pem());
        Self { issuer: Issuer::new(params, key), folder, name: name.to_owned() }
    }

    /// Returns the path of its own certificate, for clients and servers that trust it.
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Issues a certificate for a server with these names and addresses. Members of a cluster also use
    /// it as clients of each other.
    pub fn server(&self, names: &[&str]) -> Pem {
        let mut params = params(names, "server");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params, &format!("server-{}", names.join("-")))
    }

    /// Issues a certificate for a client with this name.
    pub fn client(&self, name: &str) -> Pem {
        let mut params = params(&[], name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params, &format!("client-{name}"))
    }

    /// As [`Authority::server`], but the certificate expired long ago.
    pub fn expired(&self, names: &[&str]) -> Pem {
        let mut params = params(names, "server");
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params, &format!("expired-{}", names.join("-")))
    }

    /// Issues a certificate with a server's names that is valid for clients only.
    pub fn for_clients(&self, names: &[&str]) -> Pem {
        let mut params = params(names, "server");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params, &format!("for-clients-{}", names.join("-")))
    }

    /// Creates a self-signed certificate of an authority, with the names of a server.
    pub fn itself(&self, names: &[&str]) -> Pem {
        let mut params = params(names, "itself");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        self.write("itself", &certificate.pem(), &key)
    }

    /// Creates another authority with the same name and another key.
    ///
    /// # Panics
    /// Panics if its folder cannot be written.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::named(&self.name)
    }

    fn sign(&self, params: &CertificateParams, file: &str) -> Pem {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        self.write(file, &certificate.pem(), &key)
    }

    fn write(&self, file: &str, certificate: &str, key: &KeyPair) -> Pem {
        let path = |end: &str| self.folder.path().join(format!("{file}.{end}"));
        let pem = Pem { cert: path("pem"), key: path("key") };
        write(&pem.cert, certificate);
        write(&pem.key, &key.serialize_pem());
        pem
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

fn params(names: &[&str], common: &str) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("good names");
    params.distinguished_name.push(DnType::CommonName, common);
    params
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("a file in a temporary folder");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_it_gives_is_files_in_pem_form() {
        let authority = Authority::new();
        let names = ["127.0.0.1", "localhost"];
        let pems = [authority.server(&names), authority.client("me"), authority.expired(&names)];
        let files = pems.iter().flat_map(|pem| [&pem.cert, &pem.key]);
        for file in files.chain([&authority.ca()]) {
            assert!(fs::read_to_string(file).expect("a file").starts_with("-----BEGIN "));
        }
        assert_ne!(pems[0], pems[2]);
    }
}
