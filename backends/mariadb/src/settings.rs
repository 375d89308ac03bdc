//! What the option file and the variables of MariaDB's client say where a URL says nothing.
//!
//! A setting is looked up in this order: the URL, the groups of the client in `~/.my.cnf`, the client's variable.

use std::collections::HashMap;
use std::path::PathBuf;

use elect_api::{Error, ErrorKind};
use elect_remote::{Password, Url};

/// The groups of an option file that all clients read.
const GROUPS: [&str; 3] = ["[client]", "[client-server]", "[client-mariadb]"];
/// Each setting with the client's variable for it.
const VARIABLES: [(&str, &str); 3] =
    [("host", "MYSQL_HOST"), ("port", "MYSQL_TCP_PORT"), ("socket", "MYSQL_UNIX_PORT")];

/// The settings of one connection.
pub(crate) struct Settings<'a, V> {
    url: &'a Url,
    variable: V,
    /// The option file that was read.
    path: PathBuf,
    file: HashMap<String, String>,
}

impl<'a, V: Fn(&str) -> Option<String>> Settings<'a, V> {
    /// The settings of a URL, with those of the option file.
    ///
    /// # Errors
    /// `Unfit` or `Denied` if the file cannot be read.
    pub(crate) fn of(url: &'a Url, variable: V) -> Result<Self, Error> {
        let home = variable("HOME").filter(|home| !home.is_empty());
        let usual = || Some(PathBuf::from(home?).join(".my.cnf")).filter(|path| path.exists());
        let path = url.option("defaults-file").map(PathBuf::from).or_else(usual);
        let mut settings =
            Self { url, variable, path: path.unwrap_or_default(), file: HashMap::new() };
        if !settings.path.as_os_str().is_empty() {
            let bytes = elect_remote::read("the option file", &settings.path)?;
            let text = String::from_utf8(bytes).map_err(|_| {
                let what = format!("the option file, {}, is no UTF-8", settings.path.display());
                Error::new(ErrorKind::Unfit, what)
            })?;
            settings.file = options(&text);
        }
        Ok(settings)
    }

    /// The value of a setting, if it has one.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let given = self.url.option(key).map(str::to_owned);
        given.or_else(|| self.file.get(key).cloned()).or_else(|| {
            let (_, name) = VARIABLES.iter().find(|(known, _)| *known == key)?;
            (self.variable)(name).filter(|value| !value.is_empty())
        })
    }

    /// The password, if there is one.
    ///
    /// # Errors
    /// As [`Password::of`].
    pub(crate) fn password(&self) -> Result<Option<Password>, Error> {
        if let Some(password) = Password::of(self.url, &self.variable)? {
            return Ok(Some(password));
        }
        if let Some(secret) = self.file.get("password").filter(|secret| !secret.is_empty()) {
            return Ok(Some(Password::of_file(&self.path, secret.clone())));
        }
        Ok(Password::of_variable("MYSQL_PWD", &self.variable))
    }
}

/// The options in the groups of the client. The last one of a name counts.
fn options(text: &str) -> HashMap<String, String> {
    let mut options = HashMap::new();
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_ours = GROUPS.contains(&line);
        } else if is_ours && !line.starts_with(['#', ';', '!']) {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let value = value.trim();
            let quoted = ['"', '\'']
                .iter()
                .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            // Outside quotes a # begins a comment.
            let bare = value.split(" #").next().unwrap_or_default().trim_end();
            let name = name.trim().replace('_', "-");
            options.insert(name, quoted.unwrap_or(bare).to_owned());
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_groups_of_the_client_count() {
        let text = "port=1\n[mysqld]\nport=2\n[client]\nport = 3\n# port=4\nssl_ca='/a b'\nskip\n\
                    [client-mariadb]\npassword=\"h#sh\"\nuser=me # not you\n[mysql]\nport=5\n";
        let found = options(text);
        let get = |name: &str| found.get(name).map(String::as_str);
        assert_eq!(get("port"), Some("3"));
        assert_eq!(get("ssl-ca"), Some("/a b"));
        assert_eq!(get("password"), Some("h#sh"));
        assert_eq!(get("user"), Some("me"));
        assert_eq!(get("skip"), Some(""));
    }
}
