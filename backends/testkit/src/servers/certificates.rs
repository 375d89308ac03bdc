use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
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
