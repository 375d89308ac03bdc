//! What libpq's variables and files say where a URL says nothing.
//!
//! A setting is looked up in this order: the URL, the service that the URL or `PGSERVICE` names, the variable of libpq.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use elect_api::{Error, ErrorKind};
use elect_remote::{Password, Settings, Variable, unfit};

/// Each setting with libpq's variable for it.
const VARIABLES: &[(&str, &str)] = &[
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

/// Settings of libpq that elect does not heed, each with its variable. They mean another server, or more safety than
/// elect would give. The last is the value, or its beginning, that elect heeds all the same.
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

/// The settings of a URL with these `options`, with those of the service that it names.
///
/// # Errors
/// `Unfit` or `Denied` if there is no such service, its file cannot be read, or a setting cannot be heeded.
pub(crate) fn settings<'a>(
    text: &str,
    options: &[&str],
    variable: Variable<'a>,
) -> Result<Settings<'a>, Error> {
    let mut settings = Settings::of(text, options, VARIABLES, variable)?;
    if let Some(name) = settings.get("service") {
        let named = settings.variable("PGSERVICEFILE").map(PathBuf::from);
        let path = named.or_else(|| settings.at_home(".pg_service.conf")).ok_or_else(|| {
            let no_file = "set PGSERVICEFILE to a file that has it, or write ~/.pg_service.conf";
            no_service(&name, no_file)
        })?;
        let pick = |text: &str| {
            let unknown = || no_service(&name, &format!("{} has no [{name}]", path.display()));
            service(text, &name).ok_or_else(unknown)
        };
        settings.add_file("the service file", path.clone(), pick)?;
    }
    for (key, name, heeded) in UNHEEDED {
        let known = settings.url.option(key).or_else(|| settings.in_file(key));
        let known = known.map(|value| (key, value.to_owned()));
        let given = known.or_else(|| Some((name, settings.variable(name)?)));
        let Some((named, value)) = given else { continue };
        if value != heeded && !HARMLESS.contains(&value.as_str()) {
            return Err(unfit(format!(
                "elect cannot honour {named}={value}: remove it from where it is set"
            )));
        }
    }
    Ok(settings)
}

/// The password for a user of a database at a host, which is `localhost` for a socket.
///
/// # Errors
/// As [`Settings::password`]; `Denied` if others may read the password file of libpq.
pub(crate) fn password(settings: &Settings<'_>, key: [&str; 4]) -> Result<Option<Password>, Error> {
    if let Some(password) = settings.password("PGPASSWORD")? {
        return Ok(Some(password));
    }
    let path = settings.get("passfile").map(PathBuf::from);
    let Some(path) = path.or_else(|| settings.at_home(".pgpass")) else { return Ok(None) };
    // libpq ignores a file that is not there.
    let Ok(found) = fs::metadata(&path) else { return Ok(None) };
    if found.is_file() && found.mode() & 0o077 != 0 {
        let path = path.display();
        let what = format!("other users may read the passwords in {path}: chmod 600 it");
        return Err(Error::new(ErrorKind::Denied, what));
    }
    let text = elect_remote::read_text("the password file", &path)?;
    let secret = text.lines().find_map(|line| matching(line, key));
    Ok(secret.map(|secret| Password::of_file(&path, secret)))
}

fn no_service(name: &str, why: &str) -> Error {
    unfit(format!("there is no service {name:?}: {why}"))
}

/// The settings of a service; `None` if the file does not have it.
fn service(text: &str, name: &str) -> Option<HashMap<String, String>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut lines = lines.skip_while(|line| *line != format!("[{name}]"));
    lines.next()?;
    let settings = lines.take_while(|line| !line.starts_with('['));
    let pair = |line: &str| {
        let (key, value) = line.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    Some(settings.filter_map(pair).collect())
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
