use std::fmt;
use std::io;
use std::path::Path;

use crate::{Error, ErrorKind, Finding};

use super::{Host, Url, exposure};

/// A text that shows in no message and no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the store only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Who we are to a store that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// What goes with it.
    pub password: Secret,
    /// The file of the password, if everybody on this machine can read it.
    open_file: Option<String>,
}

impl Credentials {
    /// The options of a URL that [`Credentials::of`] reads.
    pub const OPTIONS: &[&str] = &["user", "password-file"];

    /// The credentials that a URL names, or the environment. Each half on its own comes from the first
    /// of these that has it: `USER:PASSWORD@` in the URL; its options `user` and `password-file`; the
    /// variables `ELECT_USER`, and `ELECT_PASSWORD` or `ELECT_PASSWORD_FILE`. `None` if no user is named.
    /// Of a file the first line counts.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if the file of the password cannot be read, or may be a stranger's; `Unfit` if only one half is there.
    pub fn of(url: &Url, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let user = url
            .user
            .clone()
            .or_else(|| url.option("user").map(str::to_owned))
            .or_else(|| variable("ELECT_USER"));
        let password = match (&url.password, url.option("password-file")) {
            (Some(password), _) => Some((password.clone(), None)),
            (None, Some(path)) => Some(read(path)?),
            (None, None) => match (variable("ELECT_PASSWORD"), variable("ELECT_PASSWORD_FILE")) {
                (Some(password), _) => Some((Secret(password), None)),
                (None, Some(path)) => Some(read(&path)?),
                (None, None) => None,
            },
        };
        match (user, password) {
            (Some(user), Some((password, open_file))) => {
                Ok(Some(Self { user, password, open_file }))
            }
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

    /// Who else may come to know the password: where it is kept, and on the way to the hosts of `url`.
    pub fn cautions(&self, url: &Url, is_encrypted: bool) -> Vec<Finding> {
        let far = url.hosts.iter().find(|host| !is_encrypted && !host.is_loopback());
        let sent = far.map(|host: &Host| {
            let (scheme, user) = (&url.scheme, &self.user);
            Finding::warning(
                format!("the password of {user:?} goes over the network unencrypted, to {host}"),
                format!("have the servers speak TLS, and begin the URL with {scheme}+tls://"),
            )
        });
        let kept = self.open_file.as_ref().map(|path| {
            Finding::warning(format!("everybody can read the password in {path}"), "chmod o-r it")
        });
        sent.into_iter().chain(kept).collect()
    }
}

/// The password in a file, and that file if it is open to everybody.
fn read(path: &str) -> Result<(Secret, Option<String>), Error> {
    let text = crate::path::read(Path::new(path))
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = text.map_err(|error| {
        Error::new(ErrorKind::Denied, format!("cannot read the password in {path}")).because(error)
    })?;
    let password = Secret(text.lines().next().unwrap_or_default().to_owned());
    Ok((password, exposure::is_open(path.as_ref()).then(|| path.to_owned())))
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
