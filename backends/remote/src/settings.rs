//! What a URL of a database says, and what the files and variables of the database's own client add.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use elect_api::{Error, Finding, StoreId};

use crate::destination::Wanted;
use crate::{Credentials, Destination, Encryption, Password, Product, Url, Way, unfit};

/// Reads a variable of the environment.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The settings of one connection. Each is looked up in the URL, then in a file of the client, then in its variable.
pub struct Settings<'a> {
    /// The URL. Hosts without a port have the port 0, which no URL may have.
    pub url: Url,
    /// Whether the URL names hosts. If not, it has `localhost`.
    pub names_hosts: bool,
    variable: Variable<'a>,
    /// Each setting that has a variable.
    variables: &'static [(&'static str, &'static str)],
    path: PathBuf,
    file: HashMap<String, String>,
}

/// What a URL means, with what files and variables add. Two are equal if the files hold the same.
#[derive(Clone, PartialEq)]
pub struct Address {
    /// The URL as people may see it.
    pub location: String,
    /// The URL itself.
    pub url: Url,
    /// The destinations of the database, to be tried in this order.
    pub destinations: Vec<Destination>,
    /// The name of the database.
    pub database: String,
    /// The place of the rows of elect in it: a schema or a table.
    pub space: String,
    /// The user who logs in.
    pub user: String,
    /// Whether connections over a network are encrypted.
    pub encryption: Encryption,
    /// The id of the store, if the URL states one.
    pub store: Option<StoreId>,
    /// The warnings about unsafe uses of the password.
    pub cautions: Vec<Finding>,
}

/// Reads a URL that a fuzzer made, unless one of these options names a file: no arbitrary file is opened.
///
/// # Panics
/// Panics if the address that is read leads nowhere.
#[doc(hidden)]
pub fn fuzz_url(
    bytes: &[u8],
    (options, files): (&[&str], &[&str]),
    parse: impl Fn(&str, Variable<'_>) -> Result<Address, Error>,
) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(url) = Url::parse(&Url::with_host(text).0, 0, options) else { return };
    if files.iter().all(|option| url.option(option).is_none())
        && let Ok(address) = parse(text, &|_| None)
    {
        assert!(!address.destinations.is_empty() && !address.database.is_empty());
    }
}

/// What each kind of database finds by its own rules.
pub struct Parts {
    /// The ways to the database.
    pub ways: Vec<Way>,
    /// The name of the database.
    pub database: String,
    /// The user who logs in.
    pub user: String,
    /// What holds the rows of elect, with the option that names it, and what it is without that option.
    pub space: (String, &'static str, &'static str),
    /// The encryption that is asked for.
    pub wanted: Wanted,
}

impl<'a> Settings<'a> {
    /// The settings of a URL that may have these `options`, without a file. `variables` has each setting that the
    /// client also takes from a variable.
    ///
    /// # Errors
    /// As [`Url::parse`].
    pub fn of(
        text: &str,
        options: &[&str],
        variables: &'static [(&'static str, &'static str)],
        variable: Variable<'a>,
    ) -> Result<Self, Error> {
        let (text, names_hosts) = Url::with_host(text);
        let (url, file) = (Url::parse(&text, 0, options)?, HashMap::new());
        Ok(Self { url, names_hosts, variable, variables, path: PathBuf::new(), file })
    }

    /// Adds the settings that `pick` finds in a file. `what` names the file in messages.
    ///
    /// # Errors
    /// As [`crate::read_text`], and those of `pick`.
    pub fn add_file(
        &mut self,
        what: &str,
        path: PathBuf,
        pick: impl FnOnce(&str) -> Result<HashMap<String, String>, Error>,
    ) -> Result<(), Error> {
        let found = pick(&crate::read_text(what, &path)?)?;
        self.add(path, found);
        Ok(())
    }

    /// Adds settings that the caller has found in a file.
    pub fn add(&mut self, path: PathBuf, found: HashMap<String, String>) {
        (self.path, self.file) = (path, found);
    }

    /// The value of a setting, if it has one.
    pub fn get(&self, key: &str) -> Option<String> {
        let given = self.url.option(key).or_else(|| self.in_file(key)).map(str::to_owned);
        given.or_else(|| {
            let (_, name) = self.variables.iter().find(|(known, _)| *known == key)?;
            self.variable(name)
        })
    }

    /// The value of a setting in the file.
    pub fn in_file(&self, key: &str) -> Option<&str> {
        self.file.get(key).map(String::as_str)
    }

    /// The value of a variable, if it is not empty.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// A file in the home directory, if it is there.
    pub fn at_home(&self, name: &str) -> Option<PathBuf> {
        Some(Path::new(&self.variable("HOME")?).join(name)).filter(|path| path.exists())
    }

    /// The user who logs in. `example` is a URL with a user, for messages.
    ///
    /// # Errors
    /// `Unfit` if none is named, and this process runs as a user without a name.
    pub fn user(&self, example: &str) -> Result<String, Error> {
        let user = Credentials::user_of(&self.url, self.variable).or_else(|| self.get("user"));
        user.map_or_else(|| Credentials::user_of_process(example), Ok)
    }

    /// The password, if there is one. `variable` is the client's variable for it.
    ///
    /// # Errors
    /// As [`Password::of`].
    pub fn password(&self, variable: &'static str) -> Result<Option<Password>, Error> {
        if let Some(password) = Password::of(&self.url, self.variable)? {
            return Ok(Some(password));
        }
        let secret = self.in_file("password").filter(|secret| !secret.is_empty());
        let of_file = secret.map(|secret| Password::of_file(&self.path, secret.to_owned()));
        Ok(of_file.or_else(|| Password::of_variable(variable, self.variable)))
    }

    /// The number of a port.
    ///
    /// # Errors
    /// `Unfit` if it is none.
    pub fn port(text: &str) -> Result<u16, Error> {
        let port = text.parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| unfit(format!("the port {text:?} is not a number from 1 to 65535")))
    }

    /// The address that these settings and `parts` make. `password` finds the password for a way.
    ///
    /// # Errors
    /// As [`Encryption::new`], and those of `password`.
    pub fn address(
        &self,
        product: &Product,
        parts: Parts,
        password: impl Fn(&Way) -> Result<Option<Password>, Error>,
    ) -> Result<Address, Error> {
        let Parts { ways, database, user, space: (space, option, usual), wanted } = parts;
        let hosts: Vec<_> = ways.iter().filter_map(Way::host).cloned().collect();
        let encryption = Encryption::new(&wanted, product.names, &hosts)?;
        let destination = |way| Ok(Destination { password: password(&way)?, way });
        let destinations = ways.into_iter().map(destination).collect::<Result<Vec<_>, Error>>()?;
        let shown: Vec<String> = destinations.iter().map(|place| place.way.to_string()).collect();
        let suffix = if space == usual { String::new() } else { format!("?{option}={space}") };
        Ok(Address {
            location: format!("{}://{}/{database}{suffix}", product.scheme, shown.join(",")),
            url: self.url.clone(),
            cautions: encryption.cautions(&destinations, &wanted),
            destinations,
            database,
            space,
            user,
            encryption,
            store: StoreId::of_option(self.url.option(StoreId::OPTION))?,
        })
    }
}
