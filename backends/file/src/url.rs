use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use elect_api::{Error, ErrorKind};

/// The content of a `file:` URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The directory, absolute and without `.` and `..`; `None` stands for the default.
    pub(crate) directory: Option<PathBuf>,
    /// Whether a network file system is accepted.
    pub(crate) allow_network: bool,
}

/// Reads `file:`, `file://` and `file:///DIR`, each with or without `?allow-network`.
pub(crate) fn parse(url: &str) -> Result<Address, Error> {
    // A mistyped URL of another store may have a password before an @.
    let authority = url.split_once("//").and_then(|(_, rest)| rest.split('/').next());
    let shown = if authority.is_some_and(|text| text.contains('@')) { "file://..." } else { url };
    let unfit =
        |why: &str| Error::new(ErrorKind::Unfit, format!("{shown:?} names no local store: {why}"));
    let rest = url.strip_prefix("file:").ok_or_else(|| unfit("it does not begin with file:"))?;
    if rest.contains('#') {
        return Err(unfit("a # in a directory's name is written %23"));
    }
    let (place, query) =
        rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let allow_network = match query {
        None => false,
        Some("allow-network") => true,
        Some(_) => return Err(unfit("its only option is allow-network")),
    };
    let directory = match place.strip_prefix("//") {
        Some("") => None,
        Some(path) if path.starts_with('/') => {
            Some(directory(&decode(path).map_err(unfit)?).map_err(unfit)?)
        }
        Some(_) => {
            return Err(unfit(
                "it names a host; a directory of this machine has three slashes: file:///DIR",
            ));
        }
        None if place.is_empty() => None,
        None => return Err(unfit("a directory is written with three slashes: file:///DIR")),
    };
    Ok(Address { directory, allow_network })
}

/// The URL of this directory.
pub(crate) fn of(directory: &Path) -> String {
    let mut url = String::from("file://");
    for &byte in directory.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~+=@:,".contains(&byte) {
            url.push(char::from(byte));
        } else {
            write!(url, "%{byte:02X}").expect("a String takes all that is written to it");
        }
    }
    url
}

/// The directory at an absolute path, in its one canonical spelling.
pub(crate) fn directory(path: &Path) -> Result<PathBuf, &'static str> {
    if path.as_os_str().as_bytes().contains(&0) {
        return Err("a directory's name has no NUL");
    }
    if !path.is_absolute() {
        return Err("the directory is not absolute");
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err("the directory is named with .., which links can turn elsewhere");
    }
    if path.parent().is_none() {
        return Err("the directory / is not one to keep elections in");
    }
    Ok(path.components().collect())
}

fn decode(text: &str) -> Result<PathBuf, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let digits = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
            let digits = digits.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let code = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
            bytes.push(code.ok_or("a % is followed by two hexadecimal digits (% itself is %25)")?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    Ok(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory_of(url: &str) -> Option<PathBuf> {
        parse(url).unwrap().directory
    }

    #[test]
    fn the_forms_of_the_url() {
        assert_eq!(parse("file:").unwrap(), Address { directory: None, allow_network: false });
        assert_eq!(parse("file://").unwrap(), Address { directory: None, allow_network: false });
        assert_eq!(
            parse("file:?allow-network").unwrap(),
            Address { directory: None, allow_network: true }
        );
        assert_eq!(directory_of("file:///srv/elect"), Some("/srv/elect".into()));
        assert_eq!(directory_of("file:///srv//./a%20b/?allow-network"), Some("/srv/a b".into()));
    }

    #[test]
    fn a_url_that_is_unfit_is_refused_with_the_reason() {
        for (url, why) in [
            ("etcd://a", "does not begin"),
            ("file", "does not begin"),
            ("file://host/dir", "host"),
            ("file://me:hush@host/dir", "host"),
            ("file:dir", "three slashes"),
            ("file:/dir", "three slashes"),
            ("file:///dir?allow", "allow-network"),
            ("file:///dir?allow-network=1", "allow-network"),
            ("file:///dir?", "allow-network"),
            ("file:///a%2", "hexadecimal"),
            ("file:///a%+1", "hexadecimal"),
            ("file:///a%zz", "hexadecimal"),
            ("file:///a%é", "hexadecimal"),
            ("file:///a%00b", "NUL"),
            ("file:///a\0b", "NUL"),
            ("file:///a/../b", ".."),
            ("file:///a/%2E%2e/b", ".."),
            ("file:///", "/ is not"),
            ("file:///a#b", "%23"),
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{url}");
            assert!(error.to_string().contains(why), "{url}: {error}");
            assert!(!error.to_string().contains("hush"), "{url}: {error}");
        }
    }

    #[test]
    fn the_url_of_a_directory_reads_back() {
        for path in ["/var/lib/elect", "/tmp/a b%c?d#e", "/tmp/é"] {
            assert_eq!(directory_of(&of(Path::new(path))), Some(path.into()));
        }
        let odd = PathBuf::from(OsString::from_vec(vec![b'/', 0xff]));
        assert_eq!(directory_of(&of(&odd)), Some(odd));
    }
}
