//! What libpq's variables and files say where a URL says nothing.
//!
//! A setting is looked up in this order: the URL, the service that the URL or `PGSERVICE` names, the variable of libpq.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use elect_api::{Error, ErrorKind};
use elect_remote::{Password, Url};

/// The settings of one connection.
pub(crate) struct Settings<'a, V> {
    url: &'a Url,
    variable: V,
    service: HashMap<String, String>,
}

/// Each setting with libpq's variable for it.
const VARIABLES: [(&str, &str); 10] = [
    ("dbname", "PGDATABASE"),
    ("host", "PGHOST"),
    ("passfile", "PGPASSFILE"),
    ("port", "PGPORT"),
    ("service", "PGSERVICE"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("user", "PGUSER"),
];

/// Settings of libpq that elect does not heed, each with its variable. They mean another server, or more safety than elect
/// would give. The last is the value, or its beginning, that elect heeds all the same.
const UNHEEDED: [(&str, &str, &str); 10] = [
    ("channel_binding", "PGCHANNELBINDING", "prefer"),
    ("gssencmode", "PGGSSENCMODE", "prefer"),
    ("hostaddr", "PGHOSTADDR", ""),
    ("options", "PGOPTIONS", ""),
    ("require_auth", "PGREQUIREAUTH", ""),
    ("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", "TLSv1.2"),
    ("sslcrl", "PGSSLCRL", ""),
    ("sslcrldir", "PGSSLCRLDIR", ""),
    ("sslnegotiation", "PGSSLNEGOTIATION", "postgres"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS", "read-write"),
];
/// Values that ask for nothing.
const HARMLESS: [&str; 5] = ["", "any", "allow", "disable", "primary"];

impl<'a, V: Fn(&str) -> Option<String>> Settings<'a, V> {
    /// The settings of a URL, with those of the service that it names.
    ///
    /// # Errors
    /// `Unfit` or `Denied` if there is no such service, its file cannot be read, or a setting cannot be heeded.
    pub(crate) fn of(url: &'a Url, variable: V) -> Result<Self, Error> {
        let mut settings = Self { url, variable, service: HashMap::new() };
        if let Some(name) = settings.get("service") {
            settings.service = settings.read_service(&name)?;
        }
        settings.check_unheeded()?;
        Ok(settings)
    }

    fn check_unheeded(&self) -> Result<(), Error> {
        for (key, name, heeded) in UNHEEDED {
            let of_service = self.service.get(key).map(|value| (key, value.clone()));
            let given = of_service.or_else(|| Some((name, (self.variable)(name)?)));
            let Some((named, value)) = given else { continue };
            if value != heeded && !HARMLESS.contains(&value.as_str()) {
                let what =
                    format!("elect cannot honour {named}={value}: remove it from where it is set");
                return Err(Error::new(ErrorKind::Unfit, what));
            }
        }
        Ok(())
    }

    /// The value of a setting, if it has one.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let given = self.url.option(key).map(str::to_owned);
        let given = given.or_else(|| self.service.get(key).cloned());
        given.or_else(|| {
            let (_, name) = VARIABLES.iter().find(|(known, _)| *known == key)?;
            (self.variable)(name).filter(|value| !value.is_empty())
        })
    }

    /// Whether the URL itself has this option.
    pub(crate) fn is_in_url(&self, key: &str) -> bool {
        self.url.option(key).is_some()
    }

    /// A file in the home directory, if it is there.
    pub(crate) fn at_home(&self, name: &str) -> Option<PathBuf> {
        let home = (self.variable)("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(name)).filter(|path| path.exists())
    }

    /// The password for a user of a database at a host, which is `localhost` for a socket.
    ///
    /// # Errors
    /// As [`Password::of`]; `Denied` if others may read the password file of libpq.
    pub(crate) fn password(&self, key: [&str; 4]) -> Result<Option<Password>, Error> {
        if let Some(password) = Password::of(self.url, &self.variable)? {
            return Ok(Some(password));
        }
        if let Some(secret) = self.service.get("password") {
            let path = self.service_file().unwrap_or_default();
            return Ok(Some(Password::of_file(&path, secret.clone())));
        }
        if let Some(password) = Password::of_variable("PGPASSWORD", &self.variable) {
            return Ok(Some(password));
        }
        let path = self.get("passfile").map(PathBuf::from);
        let Some(path) = path.or_else(|| self.at_home(".pgpass")) else { return Ok(None) };
        // libpq ignores a file that is not there.
        let Ok(found) = fs::metadata(&path) else { return Ok(None) };
        if found.is_file() && found.mode() & 0o077 != 0 {
            let path = path.display();
            let what = format!("other users may read the passwords in {path}: chmod 600 it");
            return Err(Error::new(ErrorKind::Denied, what));
        }
        let text = read("the password file", &path)?;
        let secret = text.lines().find_map(|line| matching(line, key));
        Ok(secret.map(|secret| Password::of_file(&path, secret)))
    }

    fn service_file(&self) -> Option<PathBuf> {
        let named = (self.variable)("PGSERVICEFILE").filter(|path| !path.is_empty());
        named.map(PathBuf::from).or_else(|| self.at_home(".pg_service.conf"))
    }

    fn read_service(&self, name: &str) -> Result<HashMap<String, String>, Error> {
        let unknown = |why: &str| {
            Error::new(ErrorKind::Unfit, format!("there is no service {name:?}: {why}"))
        };
        let no_file = "set PGSERVICEFILE to a file that has it, or write ~/.pg_service.conf";
        let path = self.service_file().ok_or_else(|| unknown(no_file))?;
        let text = read("the service file", &path)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let mut lines = lines.skip_while(|line| *line != format!("[{name}]"));
        lines.next().ok_or_else(|| unknown(&format!("{} has no [{name}]", path.display())))?;
        let settings = lines.take_while(|line| !line.starts_with('['));
        let pair = |line: &str| {
            let (key, value) = line.split_once('=')?;
            Some((key.trim().to_owned(), value.trim().to_owned()))
        };
        Ok(settings.filter_map(pair).collect())
    }
}

fn read(what: &str, path: &Path) -> Result<String, Error> {
    let bytes = elect_remote::read(what, path)?;
    String::from_utf8(bytes).map_err(|_| {
        Error::new(ErrorKind::Unfit, format!("{what}, {}, is no UTF-8", path.display()))
    })
}

/// The password in a line `HOST:PORT:DATABASE:USER:PASSWORD`, if the line is for this key. A `*` stands for anything.
fn matching(line: &str, key: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![(String::new(), false)];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let (text, is_escaped) = fields.last_mut()?;
        match letter {
            '\\' => {
                text.extend(letters.next());
                *is_escaped = true;
            }
            ':' => fields.push((String::new(), false)),
            letter => text.push(letter),
        }
    }
    let (password, pattern) = fields.split_last()?;
    let fits = |((field, is_escaped), wanted): (&(String, bool), &str)| {
        field == wanted || (field == "*" && !is_escaped)
    };
    let is_ours = pattern.len() == key.len() && pattern.iter().zip(key).all(fits);
    is_ours.then(|| password.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_password_file_are_matched_field_by_field() {
        let key = ["db.example", "5432", "jobs", "me"];
        for (line, password) in [
            ("db.example:5432:jobs:me:hush", Some("hush")),
            ("*:*:*:*:hush", Some("hush")),
            ("*:*:*:me:a\\:b\\\\c", Some("a:b\\c")),
            ("\\*:*:*:*:hush", None),
            ("db.example:5433:jobs:me:hush", None),
            ("db.example:5432:jobs:hush", None),
            ("# *:*:*:*:hush", None),
            ("", None),
        ] {
            assert_eq!(matching(line, key).as_deref(), password, "{line}");
        }
    }
}
