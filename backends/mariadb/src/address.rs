//! The URL of a database.

use std::path::{Path, PathBuf};

use elect_api::{Error, ErrorKind, Finding, StoreId};
use elect_remote::{Check, Credentials, Demand, Encryption, Host, Place, TlsSettings, Url, Way};

use crate::settings::Settings;

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
const EXAMPLE: &str = "mariadb://HOST/DATABASE";

/// The parsed form of a URL, with what the client's variables and option file add.
#[derive(Clone, PartialEq)]
pub(crate) struct Address {
    /// The URL as people may see it.
    pub(crate) location: String,
    /// The places of the database, to be tried in this order.
    pub(crate) places: Vec<Place>,
    pub(crate) database: String,
    pub(crate) table: String,
    pub(crate) user: String,
    pub(crate) encryption: Encryption,
    /// The id of the store, if the URL states one.
    pub(crate) store: Option<StoreId>,
    /// The warnings about unsafe uses of the password.
    pub(crate) cautions: Vec<Finding>,
}

impl Address {
    /// Reads a URL, and the files that it names. `variable` reads the environment.
    ///
    /// # Errors
    /// `Unfit` or `Denied`, with a message that names the wrong part.
    pub(crate) fn parse(
        text: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let (text, names_hosts) = Url::with_host(text);
        // A port of 0 is none: no URL may have it.
        let url = Url::parse(&text, 0, OPTIONS)?;
        let settings = Settings::of(&url, &variable)?;
        let ways = ways(&url, names_hosts, &settings)?;
        let user = Credentials::user_of(&url, &variable).or_else(|| settings.get("user"));
        let of_process = || Credentials::user_of_process("mariadb://USER@HOST/DATABASE");
        let user = user.map_or_else(of_process, Ok)?;
        let database = url.path.trim_start_matches('/').to_owned();
        if database.is_empty() || database.contains('/') || database.chars().count() > LONGEST_NAME
        {
            return Err(unfit(format!("name one database after the host: write {EXAMPLE}")));
        }
        let hosts: Vec<Host> = ways.iter().filter_map(Way::host).cloned().collect();
        let (demand, mode) = demand(&settings)?;
        let tls = TlsSettings {
            ca: settings.get("ssl-ca"),
            cert: settings.get("ssl-cert"),
            key: settings.get("ssl-key"),
            check: Check::Name,
            server_name: None,
            names: ["ssl-ca", "ssl-cert", "ssl-key"],
        };
        let setting = format!("ssl-mode={mode}");
        let encryption = Encryption::new(demand, &setting, tls, &hosts)?;
        let password = settings.password()?;
        let place = |way| Place { way, password: password.clone() };
        let places: Vec<Place> = ways.into_iter().map(place).collect();
        let table = table(url.option("table"))?;
        let shown: Vec<String> = places.iter().map(|place| place.way.to_string()).collect();
        let suffix = if table == DEFAULT_TABLE { String::new() } else { format!("?table={table}") };
        Ok(Self {
            location: format!("{}://{}/{database}{suffix}", crate::SCHEME, shown.join(",")),
            cautions: encryption.cautions(&places, &setting, "ssl-mode=VERIFY_IDENTITY"),
            places,
            database,
            table,
            user,
            encryption,
            store: StoreId::of_option(url.option(StoreId::OPTION))?,
        })
    }
}

/// The ways that a URL and the settings name. As for MariaDB's client, `localhost` without a port is a socket.
fn ways<V: Fn(&str) -> Option<String>>(
    url: &Url,
    names_hosts: bool,
    settings: &Settings<'_, V>,
) -> Result<Vec<Way>, Error> {
    if url.option("socket").is_some() && names_hosts {
        return Err(unfit("a socket is on this machine: write mariadb:///DATABASE?socket=PATH"));
    }
    let given = settings.get("port").map(|port| match port.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(unfit(format!("the port {port:?} is not a number from 1 to 65535"))),
    });
    let port = given.transpose()?;
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
fn socket<V: Fn(&str) -> Option<String>>(settings: &Settings<'_, V>) -> Way {
    let usual = || SOCKETS.iter().find(|path| Path::new(path).exists()).unwrap_or(&SOCKETS[0]);
    Way::Socket(settings.get("socket").map_or_else(|| usual().into(), PathBuf::from))
}

/// How much encryption the settings ask for, and the word for it. The words are those of MySQL's client, and the
/// switches those of MariaDB's.
fn demand<V: Fn(&str) -> Option<String>>(
    settings: &Settings<'_, V>,
) -> Result<(Demand, &'static str), Error> {
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

fn unfit(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use elect_remote::Password;

    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        Address::parse(url, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
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
        let password =
            |it: &Address| it.places[0].password.as_ref().map(Password::reveal).map(str::to_owned);
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
}
