//! Who we are to ZooKeeper, as the file of the password has it.

use std::fmt;
use std::sync::Mutex;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::Error;
use elect_remote::{Credentials, Url};

use crate::task::lock;

/// How a variable of the environment is read.
pub(crate) type Variable = fn(&str) -> Option<String>;

/// The user and its passwords, which come from where a URL or the environment says.
///
/// ZooKeeper takes any password: another one is another user. So where a password is renewed we come with the one
/// before it, too, as what was made before belongs to that one: it does not matter which of both is known first. Whom
/// new nodes belong to then the rights above them say ([`Settings::options`](crate::settings::Settings::options)).
#[derive(Debug)]
pub(crate) struct Login {
    url: Url,
    variable: Variable,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    newest: Credentials,
    before: Option<Credentials>,
    /// How many there were before the newest.
    renewals: u64,
}

/// How rights name a user with the newest password, and with the one before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owners {
    pub(crate) newest: String,
    pub(crate) before: String,
}

impl Login {
    /// How a login is told in `ZooKeeper`.
    pub(crate) const SCHEME: &str = "digest";

    /// The login in a URL, or in the environment; `None` if neither names a user.
    pub(crate) fn of(url: &Url, variable: Variable) -> Result<Option<Self>, Error> {
        let newest = Credentials::of(url, variable)?;
        Ok(newest.map(|newest| Self {
            url: url.clone(),
            variable,
            known: Mutex::new(Known { newest, before: None, renewals: 0 }),
        }))
    }

    /// What is unsafe about it, and the user.
    pub(crate) fn newest(&self) -> Credentials {
        lock(&self.known).newest.clone()
    }

    /// Whether the password is in a file: it may change while we run.
    fn is_filed(&self) -> bool {
        let has = |name| (self.variable)(name).is_some_and(|value| !value.is_empty());
        self.url.password.is_none()
            && (self.url.option("password-file").is_some() || !has("ELECT_PASSWORD"))
    }

    /// Reads the file anew. One that cannot be read, or is being written, changes nothing.
    pub(crate) fn renew(&self) {
        let found = self.is_filed().then(|| Credentials::of(&self.url, self.variable));
        let Some(Ok(Some(found))) = found else { return };
        let mut known = lock(&self.known);
        if found.password != known.newest.password && !found.password.reveal().is_empty() {
            known.before = Some(std::mem::replace(&mut known.newest, found));
            known.renewals += 1;
        }
    }

    /// All that a new session is to be known by, and for [`Login::since`].
    pub(crate) fn all(&self) -> (u64, Vec<String>) {
        let known = lock(&self.known);
        (known.renewals, known.before.iter().chain([&known.newest]).map(spelled).collect())
    }

    /// Whom nodes may belong to, if there was a password before the newest.
    pub(crate) fn owners(&self) -> Option<Owners> {
        let known = lock(&self.known);
        let before = known.before.as_ref()?;
        Some(Owners { newest: owner(&known.newest), before: owner(before) })
    }

    /// What a session does not know that began when there had been so many renewals.
    pub(crate) fn since(&self, renewals: u64) -> Option<(u64, String)> {
        let known = lock(&self.known);
        (known.renewals > renewals).then(|| (known.renewals, spelled(&known.newest)))
    }
}

/// As `ZooKeeper` keeps it.
fn owner(credentials: &Credentials) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, spelled(credentials).as_bytes());
    format!("{}:{}", credentials.user, BASE64.encode(hash.as_ref()))
}

/// Who we are, and what does not change while we run.
impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "we came as {:?}", self.newest().user)?;
        if !self.is_filed() {
            f.write_str(
                ", with a password that is read once: a file of it is read for each session",
            )?;
        }
        Ok(())
    }
}

fn spelled(credentials: &Credentials) -> String {
    format!("{}:{}", credentials.user, credentials.password.reveal())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn login(url: &str) -> Login {
        let url = Url::parse(url, 1, Credentials::OPTIONS).expect("a good URL");
        Login::of(&url, |_| None).expect("credentials").expect("a user")
    }

    #[test]
    fn a_password_file_is_read_anew_and_old_passwords_stay_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        let write = |text: &str| fs::write(&file, text).expect("a file");
        write("one\n");
        let login = login(&format!("zk://me@a?password-file={}", file.display()));
        let all = || {
            login.renew();
            login.all().1
        };
        assert_eq!(all(), ["me:one"]);
        assert_eq!(login.owners(), None);
        write("");
        assert_eq!(all(), ["me:one"]);
        assert_eq!(login.since(0), None);
        write("two");
        assert_eq!(all(), ["me:one", "me:two"]);
        assert_eq!(login.since(0), Some((1, "me:two".to_owned())));
        let Owners { newest, before } = login.owners().expect("two");
        assert_eq!(newest, "me:aHNtON+NCRZpXDf9xXrUVtfVZes=");
        assert_ne!(newest, before);
        fs::remove_file(&file).expect("a file");
        assert_eq!(all(), ["me:one", "me:two"]);
        write("three");
        assert_eq!(all(), ["me:two", "me:three"]);
        assert_eq!(login.since(2), None);
        assert_eq!(login.to_string(), "we came as \"me\"");
        assert!(!format!("{login:?}").contains("three"));
    }

    #[test]
    fn a_login_that_is_read_once_says_so() {
        let login = login("zk://me:one@a");
        assert!(login.to_string().contains("is read once"), "{login}");
    }
}
