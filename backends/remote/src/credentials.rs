use std::fmt;
use std::io;
use std::path::Path;

use elect_api::{Error, ErrorKind, Finding};
use nix::unistd::{User, geteuid};

use crate::{Host, Url, exposure, unfit};

/// A text that no message and no `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a text a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text. Only the code that talks to the store may use it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The user and the password for a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The name of the user.
    pub user: String,
    /// The password of the user.
    pub password: Password,
}

/// A password, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Password {
    secret: Secret,
    source: Source,
}

/// The origin of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Url,
    Variable(&'static str),
    /// A file whose first line is the password.
    File(String),
}

impl Password {
    /// The options of a URL that [`Password::of`] reads.
    pub const OPTIONS: &[&str] = &["password-file"];

    /// Finds the password in the URL or the environment, in this order: `USER:PASSWORD@` in the URL; the option
    /// `password-file` or `token-file` of the URL; the variables `ELECT_PASSWORD` and `ELECT_PASSWORD_FILE`. The first
    /// line of a file is the password.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if the password file cannot be read, has no password in its first line, or may
    /// belong to a stranger.
    pub fn of(url: &Url, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        let option = url.option("password-file").or_else(|| url.option("token-file"));
        let path = match (&url.password, option) {
            (Some(secret), _) => {
                return Ok(Some(Self { secret: secret.clone(), source: Source::Url }));
            }
            (None, Some(path)) => Some(path.to_owned()),
            (None, None) => match Self::of_variable("ELECT_PASSWORD", &variable) {
                Some(password) => return Ok(Some(password)),
                None => variable("ELECT_PASSWORD_FILE").filter(|path| !path.is_empty()),
            },
        };
        path.map(|path| Self::in_file(&path)).transpose()
    }

    /// The password in the first line of a file, which is read anew for each connection.
    ///
    /// # Errors
    /// As [`Password::of`].
    pub fn in_file(path: &str) -> Result<Self, Error> {
        Ok(Self { secret: read(path)?, source: Source::File(path.to_owned()) })
    }

    /// The password in a variable, if it is there and not empty.
    pub fn of_variable(
        name: &'static str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let secret = variable(name).filter(|value| !value.is_empty())?;
        Some(Self { secret: Secret(secret), source: Source::Variable(name) })
    }

    /// A password that was found in a file by the rules of another program.
    pub fn of_file(path: &Path, secret: String) -> Self {
        Self { secret: Secret(secret), source: Source::File(path.display().to_string()) }
    }

    /// The same, reread from its file. A password from another source stays as it is.
    ///
    /// # Errors
    /// As [`Password::of`].
    pub fn again(&self) -> Result<Self, Error> {
        let secret = match &self.source {
            Source::File(path) => read(path)?,
            Source::Url | Source::Variable(_) => self.secret.clone(),
        };
        Ok(Self { secret, source: self.source.clone() })
    }

    /// The text. Only the code that talks to the store may use it.
    pub fn reveal(&self) -> &str {
        self.secret.reveal()
    }

    /// The origin of the password, for a message about a refused password.
    pub fn in_words(&self) -> String {
        match &self.source {
            Source::File(path) => format!("the password in {path}"),
            Source::Url => "the password of the URL: elect reads only files anew".to_owned(),
            Source::Variable(name) => {
                format!("the password of {name}: elect reads only files anew")
            }
        }
    }

    /// The finding that others can read the file of the password.
    pub fn exposure(&self) -> Option<Finding> {
        match &self.source {
            Source::File(path) if exposure::is_open(path.as_ref()) => Some(Finding::warning(
                format!("everybody can read the password in {path}"),
                "chmod o-r it",
            )),
            _ => None,
        }
    }
}

impl Credentials {
    /// The options of a URL that [`Credentials::of`] reads.
    pub const OPTIONS: &[&str] = &["user", "password-file"];

    /// Finds the credentials in the URL or the environment: the user in `USER@` of the URL, in its option `user`, or in
    /// `ELECT_USER`; the password as [`Password::of`]. `None` if neither is given.
    ///
    /// # Errors
    /// As [`Password::of`]. `Unfit` if only the user or only the password is given.
    pub fn of(url: &Url, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        match (Self::user_of(url, &variable), Password::of(url, variable)?) {
            (Some(user), Some(password)) => Ok(Some(Self { user, password })),
            (None, None) => Ok(None),
            (Some(user), None) => Err(Error::new(
                ErrorKind::Unfit,
                format!(
                    "there is no password for the user {user:?}: \
                     set ELECT_PASSWORD or ELECT_PASSWORD_FILE"
                ),
            )),
            (None, Some(_)) => Err(Error::new(
                ErrorKind::Unfit,
                "there is a password, but no user that goes with it: set ELECT_USER",
            )),
        }
    }

    /// The user in `USER@` of the URL, in its option `user`, or in `ELECT_USER`.
    pub fn user_of(url: &Url, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
        let user = url.user.clone().or_else(|| url.option("user").map(str::to_owned));
        user.or_else(|| variable("ELECT_USER").filter(|user| !user.is_empty()))
    }

    /// The name of the user that this process runs as. `example` is a URL with a user, for the message.
    ///
    /// # Errors
    /// `Unfit` if it has none.
    pub fn user_of_process(example: &str) -> Result<String, Error> {
        let user = User::from_uid(geteuid()).ok().flatten().map(|user| user.name);
        user.ok_or_else(|| unfit(format!("this process has no user name: write {example}")))
    }

    /// The same credentials, with the password reread from its file. A password from another source stays as it
    /// is.
    ///
    /// # Errors
    /// As [`Credentials::of`].
    pub fn again(&self) -> Result<Self, Error> {
        Ok(Self { user: self.user.clone(), password: self.password.again()? })
    }

    /// The user and the origin of the password, for a message about a refused password.
    pub fn in_words(&self) -> String {
        format!("user {}, {}", self.user, self.password.in_words())
    }

    /// The places where others can learn the password: the file that holds it, and the network on the way to the
    /// hosts of `url`.
    pub fn cautions(&self, url: &Url, is_encrypted: bool) -> Vec<Finding> {
        let far = url.hosts.iter().find(|host| !is_encrypted && !host.is_loopback());
        let sent = far.map(|host: &Host| {
            let (scheme, user) = (&url.scheme, &self.user);
            Finding::warning(
                format!("the password of {user:?} goes over the network unencrypted, to {host}"),
                format!("have the servers speak TLS, and begin the URL with {scheme}+tls://"),
            )
        });
        sent.into_iter().chain(self.password.exposure()).collect()
    }
}

/// Reads the password in a file.
fn read(path: &str) -> Result<Secret, Error> {
    let text = elect_system::path::read(Path::new(path))
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = text.map_err(|error| {
        Error::new(ErrorKind::Denied, format!("cannot read the password in {path}")).because(error)
    })?;
    match text.lines().next() {
        Some("") => Err(in_vain(path, "its first line is empty")),
        None => Err(in_vain(path, "it is empty")),
        Some(password) => Ok(Secret(password.to_owned())),
    }
}

/// The error for a file without a password. The file may be in the middle of being written.
fn in_vain(path: &str, why: &str) -> Error {
    let what = format!("there is no password in {path}: {why}, and the first line is the password");
    Error::new(ErrorKind::Denied, what)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(url: &str, variables: &[(&str, &str)]) -> Result<Option<(String, String)>, Error> {
        let url = Url::parse(url, 1, Credentials::OPTIONS).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let found = Credentials::of(&url, variable)?;
        Ok(found.map(|found| (found.user, found.password.reveal().to_owned())))
    }

    fn pair(user: &str, password: &str) -> (String, String) {
        (user.to_owned(), password.to_owned())
    }

    #[test]
    fn the_nearest_source_of_each_half_wins() {
        let file = std::env::temp_dir().join(format!("elect-password-{}", std::process::id()));
        fs::write(&file, "filed\n").unwrap();
        let path = file.to_str().unwrap();
        let variables = [("ELECT_USER", "v"), ("ELECT_PASSWORD", "vp")];
        assert_eq!(of("x://a", &[]).unwrap(), None);
        assert_eq!(of("x://a", &variables).unwrap().unwrap(), pair("v", "vp"));
        assert_eq!(of("x://u@a", &variables).unwrap().unwrap(), pair("u", "vp"));
        assert_eq!(of("x://u:p@a", &variables).unwrap().unwrap(), pair("u", "p"));
        assert_eq!(
            of(&format!("x://a?user=q&password-file={path}"), &variables).unwrap().unwrap(),
            pair("q", "filed")
        );
        let named = [("ELECT_USER", "v"), ("ELECT_PASSWORD_FILE", path)];
        assert_eq!(of("x://a", &named).unwrap().unwrap(), pair("v", "filed"));
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn a_password_file_is_read_anew_and_a_fixed_password_says_so() {
        let file = std::env::temp_dir().join(format!("elect-renewed-{}", std::process::id()));
        let url = Url::parse(
            &format!("x://me@a?password-file={}", file.display()),
            1,
            Credentials::OPTIONS,
        );
        let found = || Credentials::of(url.as_ref().unwrap(), |_| None);
        fs::write(&file, "old\n").unwrap();
        let old = found().unwrap().unwrap();
        fs::write(&file, "new\r\nmore\n").unwrap();
        assert_eq!(old.again().unwrap().password.reveal(), "new");
        assert!(old.in_words().ends_with(file.to_str().unwrap()), "{}", old.in_words());
        for (text, why) in
            [("", "it is empty"), ("\nlate\n", "first line is empty"), ("\r\n", "first line")]
        {
            fs::write(&file, text).unwrap();
            for error in [old.again().unwrap_err(), found().unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Denied);
                assert!(error.to_string().contains(why), "{text:?}: {error}");
            }
        }
        fs::remove_file(&file).unwrap();
        assert!(old.again().is_err());
        for (url, variables) in [("x://u:p@a", &[][..]), ("x://u@a", &[("ELECT_PASSWORD", "p")])] {
            let url = Url::parse(url, 1, Credentials::OPTIONS).unwrap();
            let given =
                Credentials::of(&url, elect_testkit::environment(variables)).unwrap().unwrap();
            assert_eq!(given.again().unwrap(), given);
            assert!(given.in_words().contains("only files"), "{}", given.in_words());
        }
    }

    #[test]
    fn a_password_that_leaves_the_machine_in_the_clear_is_told() {
        let told = |hosts: &str, is_encrypted| {
            let url = Url::parse(&format!("x://me:hush@{hosts}"), 1, &[]).unwrap();
            let found = Credentials::of(&url, |_| None).unwrap().unwrap();
            let told = found.cautions(&url, is_encrypted);
            told.into_iter().map(|told| told.what + ": " + &told.way_out).collect::<Vec<_>>()
        };
        for host in ["localhost", "LOCALHOST:7", "127.0.0.1", "127.9.9.9", "[::1]", "db.localhost."]
        {
            assert_eq!(told(host, false), [""; 0], "{host}");
        }
        for host in ["a", "10.0.0.1", "[fe80::1]", "localhost.example.com", "0.0.0.0"] {
            assert_eq!(told(host, true), [""; 0], "{host}");
            let [word] = &told(&format!("localhost,{host}"), false)[..] else { panic!("{host}") };
            assert!(word.contains("\"me\"") && word.contains("x+tls://"), "{word}");
            assert!(word.contains(&format!("to {host}:1")) && !word.contains("hush"), "{word}");
        }
    }

    #[test]
    fn half_of_it_is_refused_with_a_hint_and_no_secret() {
        let error = of("x://u@a", &[("ELECT_PASSWORD", "")]).unwrap_err();
        assert!(error.to_string().contains("ELECT_PASSWORD_FILE"), "{error}");
        let error = of("x://a", &[("ELECT_PASSWORD", "hush")]).unwrap_err();
        assert!(error.to_string().contains("ELECT_USER") && !error.to_string().contains("hush"));
        let error = of("x://u@a?password-file=/nowhere", &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("/nowhere"));
        assert_eq!(format!("{:?}", Secret::new("hush")), "***");
    }
}
