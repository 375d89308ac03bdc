use std::path::Path;

use crate::{Error, ErrorKind};

use super::Url;

/// The TLS options of a URL, with the files read.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificates of the authorities that sign the servers' certificates, in PEM. `None` stands for
    /// the system's authorities.
    pub ca: Option<Vec<u8>>,
    /// The client certificate and its key, in PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name that the servers' certificates must have, if it differs from the host in the URL.
    pub server_name: Option<String>,
    files: Files,
}

/// The paths of the files, for reading them again.
#[derive(Clone, Default, PartialEq, Eq)]
struct Files {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
}

impl Tls {
    /// The options of a URL that [`Tls::of`] reads.
    pub const OPTIONS: &[&str] = &["ca", "cert", "key", "server-name"];

    /// Reads the files that the options `ca`, `cert` and `key` name, and the option `server-name`.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if a file is missing or is not PEM, or if only one of `cert` and `key` is
    /// given. `Denied` if this process may not read a file.
    pub fn of(url: &Url) -> Result<Self, Error> {
        let option = |name: &str| url.option(name).map(str::to_owned);
        let files = Files { ca: option("ca"), cert: option("cert"), key: option("key") };
        Self::read(files, option("server-name"))
    }

    /// The same options, with the files read again.
    ///
    /// # Errors
    /// As [`Tls::of`].
    pub fn again(&self) -> Result<Self, Error> {
        Self::read(self.files.clone(), self.server_name.clone())
    }

    fn read(files: Files, server_name: Option<String>) -> Result<Self, Error> {
        let read = |option: &str, path: &Option<String>| {
            path.as_ref().map(|path| read_pem(option, path)).transpose()
        };
        let identity = match (read("cert", &files.cert)?, read("key", &files.key)?) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => {
                return Err(Error::new(
                    ErrorKind::Unfit,
                    "a client certificate is two files: the options cert and key go together",
                ));
            }
        };
        Ok(Self { ca: read("ca", &files.ca)?, identity, server_name, files })
    }
}

fn read_pem(option: &str, path: &str) -> Result<Vec<u8>, Error> {
    let bytes = crate::path::read(Path::new(path)).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            _ => ErrorKind::Unfit,
        };
        Error::new(kind, format!("cannot read the file of the option {option}, {path}"))
            .because(error)
    })?;
    if !bytes.windows(11).any(|window| window == b"-----BEGIN ") {
        let what = format!("the file of the option {option}, {path}, is not in PEM form");
        return Err(Error::new(ErrorKind::Unfit, what));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(query: &str) -> Result<Tls, Error> {
        Tls::of(&Url::parse(&format!("x://a?{query}"), 1, Tls::OPTIONS).unwrap())
    }

    #[test]
    fn files_are_read_and_what_is_wrong_is_named() {
        let good = std::env::temp_dir().join(format!("elect-pem-{}", std::process::id()));
        fs::write(&good, "-----BEGIN CERTIFICATE-----\n").unwrap();
        let path = good.to_str().unwrap();
        let tls = of(&format!("ca={path}&cert={path}&key={path}&server-name=s")).unwrap();
        assert!(tls.ca.is_some() && tls.identity.is_some());
        assert_eq!(tls.server_name.as_deref(), Some("s"));
        assert!(of("").unwrap().ca.is_none());
        fs::write(&good, "-----BEGIN CERTIFICATE-----\nanother\n").unwrap();
        assert!(tls.again().unwrap() != tls && tls.again().unwrap() == tls.again().unwrap());
        assert_eq!(tls.again().unwrap().server_name, tls.server_name);
        for (query, why) in [
            ("ca=/nowhere".to_owned(), "/nowhere"),
            ("ca=/dev/null".to_owned(), "PEM"),
            (format!("cert={path}"), "go together"),
            (format!("key={path}"), "go together"),
        ] {
            let error = of(&query).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Unfit);
            assert!(error.to_string().contains(why), "{query}: {error}");
        }
        fs::remove_file(good).unwrap();
    }
}
