//! The URL of a database, and what the option file and the variables of MariaDB's client say where it says nothing.

use std::collections::HashMap;
use std::path::PathBuf;

use elect_api::{Error, StoreId};
use elect_remote::{Address, Demand, Host, Parts, Settings, Variable, Wanted, Way, unfit};

use crate::PRODUCT;

const DEFAULT_PORT: u16 = 3306;
const DEFAULT_TABLE: &str = "elect";
/// The sockets of a server of this machine, as Debian, Red Hat and MariaDB itself have them.
const SOCKETS: [&str; 3] =
    ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];
/// The longest name of a table or a database, in letters.
const LONGEST_NAME: usize = 64;
/// The options that a URL may have.
pub(crate) const OPTIONS: &[&str] = &[
    "defaults-file",
    "password-file",
    "socket",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    StoreId::OPTION,
    "table",
    "user",
];
/// Each setting with the client's variable for it.
const VARIABLES: &[(&str, &str)] =
    &[("host", "MYSQL_HOST"), ("port", "MYSQL_TCP_PORT"), ("socket", "MYSQL_UNIX_PORT")];
/// The groups of an option file that all clients read.
const GROUPS: [&str; 3] = ["[client]", "[client-server]", "[client-mariadb]"];

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let mut settings = Settings::of(text, OPTIONS, VARIABLES, variable)?;
    let given = settings.url.option("defaults-file").map(PathBuf::from);
    if let Some(path) = given.or_else(|| settings.at_home(".my.cnf")) {
        settings.add_file("the option file", path, |text| Ok(options(text)))?;
    }
    let database = settings.url.path.trim_start_matches('/').to_owned();
    if database.is_empty() || database.contains('/') || database.chars().count() > LONGEST_NAME {
        return Err(unfit("name one database after the host: write mariadb://HOST/DATABASE"));
    }
    let (demand, mode) = demand(&settings)?;
    let parts = Parts {
        ways: ways(&settings)?,
        database,
        user: settings.user("mariadb://USER@HOST/DATABASE")?,
        space: (table(settings.url.option("table"))?, "table", DEFAULT_TABLE),
        wanted: Wanted {
            demand,
            setting: format!("ssl-mode={mode}"),
            better: "ssl-mode=VERIFY_IDENTITY",
            files: PRODUCT.names.map(|name| settings.get(name)),
            server_name: None,
        },
    };
    settings.address(&PRODUCT, parts, |_| settings.password(PRODUCT.password))
}

/// The ways that a URL and the settings name. As for MariaDB's client, `localhost` without a port is a socket.
fn ways(settings: &Settings<'_>) -> Result<Vec<Way>, Error> {
    let (url, names_hosts) = (&settings.url, settings.names_hosts);
    if url.option("socket").is_some() && names_hosts {
        return Err(unfit("a socket is on this machine: write mariadb:///DATABASE?socket=PATH"));
    }
    let port = settings.get("port").map(|port| Settings::port(&port)).transpose()?;
    let hosts =
        match settings.get("host").filter(|_| !names_hosts && url.option("socket").is_none()) {
            Some(name) => vec![Host { name, port: port.unwrap_or(0) }],
            None if names_hosts => url.hosts.clone(),
            None => return Ok(vec![socket(settings)]),
        };
    let way = |host: Host| match host.port {
        0 if host.name == "localhost" => socket(settings),
        0 => Way::Network(Host { port: port.unwrap_or(DEFAULT_PORT), ..host }),
        _ => Way::Network(host),
    };
    Ok(hosts.into_iter().map(way).collect())
}

/// The socket of the server of this machine.
fn socket(settings: &Settings<'_>) -> Way {
    let usual = || Way::usual(SOCKETS);
    settings.get("socket").map_or_else(usual, |path| Way::Socket(path.into()))
}

/// How much encryption the settings ask for, and the word for it. The words are those of MySQL's client, and the
/// switches those of MariaDB's.
fn demand(settings: &Settings<'_>) -> Result<(Demand, &'static str), Error> {
    let is = |name: &str, words: &[&str]| {
        settings.get(name).is_some_and(|it| words.contains(&it.to_ascii_lowercase().as_str()))
    };
    let on = ["", "1", "on", "true"];
    let Some(mode) = settings.get("ssl-mode") else {
        return Ok(if is("ssl-verify-server-cert", &on) {
            (Demand::Name, "VERIFY_IDENTITY")
        } else if is("skip-ssl", &on) || is("ssl", &["0", "off", "false"]) {
            (Demand::Off, "DISABLED")
        } else if settings.get("ssl-ca").is_some() {
            (Demand::Authority, "VERIFY_CA")
        } else if is("ssl", &on) {
            (Demand::Required, "REQUIRED")
        } else {
            (Demand::IfPossible, "PREFERRED")
        });
    };
    match mode.to_ascii_uppercase().replace('-', "_").as_str() {
        "DISABLED" => Ok((Demand::Off, "DISABLED")),
        "PREFERRED" => Ok((Demand::IfPossible, "PREFERRED")),
        "REQUIRED" => Ok((Demand::Required, "REQUIRED")),
        "VERIFY_CA" => Ok((Demand::Authority, "VERIFY_CA")),
        "VERIFY_IDENTITY" => Ok((Demand::Name, "VERIFY_IDENTITY")),
        _ => Err(unfit(format!(
            "the option ssl-mode is DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY, and not {mode:?}"
        ))),
    }
}

fn table(given: Option<&str>) -> Result<String, Error> {
    let table = given.unwrap_or(DEFAULT_TABLE);
    let is_plain = table.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if table.is_empty() || table.len() > LONGEST_NAME || !is_plain {
        let what =
            format!("the option table has 1 to {LONGEST_NAME} letters, digits and underscores");
        return Err(unfit(what));
    }
    Ok(table.to_owned())
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
    use elect_remote::{Encryption, Password};

    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::parse(url, &elect_testkit::environment(variables))
    }

    #[test]
    fn what_a_url_leaves_out_is_looked_up_as_the_client_does() {
        let location = |url: &str, variables: &[(&str, &str)]| {
            parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}")).location
        };
        let host = ("MYSQL_HOST", "h");
        for (url, variables, expected) in [
            ("mysql://u@a/d", &[][..], "mariadb://a:3306/d"),
            ("mariadb://u@a,b:1/d?table=t", &[host], "mariadb://a:3306,b:1/d?table=t"),
            ("mariadb://u@a/d", &[("MYSQL_TCP_PORT", "7")], "mariadb://a:7/d"),
            ("mariadb://u@/d", &[host], "mariadb://h:3306/d"),
            ("mariadb://u@/d?socket=/s", &[host], "mariadb:///s/d"),
            ("mariadb://u@localhost/d", &[("MYSQL_UNIX_PORT", "/s")], "mariadb:///s/d"),
            ("mariadb://u@localhost:5/d", &[("MYSQL_UNIX_PORT", "/s")], "mariadb://localhost:5/d"),
        ] {
            assert_eq!(location(url, variables), expected, "{url} {variables:?}");
        }
    }

    #[test]
    fn the_option_file_comes_before_variables_and_after_the_url() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(".my.cnf");
        std::fs::write(&file, "[client]\nuser=filed\npassword=hush\nport=9\nssl\n")
            .expect("a file");
        let home = ("HOME", folder.path().to_str().expect("plain"));
        let variables = [home, ("MYSQL_PWD", "other"), ("MYSQL_TCP_PORT", "8")];
        let address = parse("mariadb://a/d", &variables).expect("a good URL");
        assert_eq!(
            (address.user.as_str(), address.location.as_str()),
            ("filed", "mariadb://a:9/d")
        );
        let password = |it: &Address| {
            it.destinations[0].password.as_ref().map(Password::reveal).map(str::to_owned)
        };
        assert_eq!(password(&address).as_deref(), Some("hush"));
        assert!(matches!(address.encryption, Encryption::Required(_)));
        let address =
            parse("mariadb://me:mine@a:1/d?ssl-mode=disabled", &variables).expect("a good URL");
        assert_eq!(password(&address).as_deref(), Some("mine"));
        assert!(address.encryption == Encryption::Off);
    }

    #[test]
    fn a_setting_that_would_mean_another_server_or_less_safety_is_refused() {
        for (url, why) in [
            ("mariadb://me@a", "name one database"),
            ("mariadb://me@a/d/e", "name one database"),
            ("mariadb://me@a/d?socket=/s", "mariadb:///DATABASE"),
            ("mariadb://me@a/d?ssl-mode=full", "VERIFY_IDENTITY"),
            ("mariadb://me@a/d?ssl-mode=VERIFY_CA", "ssl-ca"),
            ("mariadb://me@a/d?table=a-b", "the option table"),
            ("mariadb://me@a/d?defaults-file=/nowhere", "/nowhere"),
            ("mariadb://me@a:0/d", "from 1 to 65535"),
        ] {
            let error = parse(url, &[]).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
    }

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
