//! The URL of a database.

use elect_api::{Error, StoreId};
use elect_remote::{Address, Demand, Host, Parts, Settings, Variable, Wanted, Way, unfit};

use crate::{PRODUCT, libpq};

const DEFAULT_PORT: u16 = 5432;
const DEFAULT_SCHEMA: &str = "elect";
/// The folders of a server's socket, as Debian and as PostgreSQL itself has it.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// Stands for the authorities of the system.
const SYSTEM: &str = "system";
/// The longest identifier of PostgreSQL, in bytes.
const LONGEST_NAME: usize = 63;
/// The options that a URL may have.
pub(crate) const OPTIONS: &[&str] = &[
    "application_name",
    "channel_binding",
    "gssencmode",
    "host",
    "passfile",
    "password-file",
    "port",
    "schema",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    StoreId::OPTION,
    "target_session_attrs",
    "user",
];

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let settings = libpq::settings(text, OPTIONS, variable)?;
    let ways = if settings.names_hosts { network(&settings)? } else { ways(&settings)? };
    let user = settings.user("postgresql://USER@HOST/DATABASE")?;
    let database = match settings.url.path.trim_start_matches('/') {
        "" => settings.get("dbname").unwrap_or_else(|| user.clone()),
        path if path.contains('/') => {
            return Err(unfit("a database has no / in its name: write postgresql://HOST/DATABASE"));
        }
        path => path.to_owned(),
    };
    let key = (database.clone(), user.clone());
    let space = (schema(settings.url.option("schema"))?, "schema", DEFAULT_SCHEMA);
    let parts = Parts { ways, database, user, space, wanted: wanted(&settings)? };
    settings.address(&PRODUCT, parts, |way| {
        let (host, port) =
            way.host().map_or(("localhost", port_of_socket(way)), |host| (&host.name, host.port));
        libpq::password(&settings, [host, &port.to_string(), &key.0, &key.1])
    })
}

/// The port in the name of a socket.
fn port_of_socket(way: &Way) -> u16 {
    let Way::Socket(path) = way else { return DEFAULT_PORT };
    let port = path.extension().and_then(|port| port.to_str()?.parse().ok());
    port.unwrap_or(DEFAULT_PORT)
}

/// The way to a host as libpq has it: a name, or a folder with a socket.
fn way(name: &str, port: u16) -> Way {
    if name.starts_with('/') {
        Way::Socket(socket(name, port).into())
    } else {
        Way::Network(Host { name: name.to_owned(), port })
    }
}

/// The hosts of a URL. A host without a port gets the port of the service, or of `PGPORT`.
fn network(settings: &Settings<'_>) -> Result<Vec<Way>, Error> {
    if ["host", "port"].iter().any(|option| settings.url.option(option).is_some()) {
        return Err(unfit(
            "the URL names a host: write its port there, without the options host and port",
        ));
    }
    let usual = settings.get("port").map(|port| Settings::port(&port)).transpose();
    let usual = usual.map_err(|error| error.and("write ports in the URL"))?.unwrap_or(DEFAULT_PORT);
    let port = |port| if port == 0 { usual } else { port };
    let way = |host: &Host| Way::Network(Host { port: port(host.port), ..host.clone() });
    Ok(settings.url.hosts.iter().map(way).collect())
}

/// The ways that the settings name; without one, the socket of this machine.
fn ways(settings: &Settings<'_>) -> Result<Vec<Way>, Error> {
    let ports = settings.get("port").unwrap_or_else(|| DEFAULT_PORT.to_string());
    let ports = ports.split(',').map(Settings::port).collect::<Result<Vec<u16>, _>>()?;
    let port = |place: usize| *ports.get(place).unwrap_or(&ports[0]);
    let Some(names) = settings.get("host") else {
        let sockets = SOCKET_FOLDERS.map(|folder| socket(folder, port(0)));
        return Ok(vec![Way::usual(sockets.each_ref().map(String::as_str))]);
    };
    Ok(names.split(',').enumerate().map(|(place, name)| way(name, port(place))).collect())
}

fn socket(folder: &str, port: u16) -> String {
    format!("{folder}/.s.PGSQL.{port}")
}

/// The encryption that a word of libpq means. `allow` is the same as `prefer`.
fn wanted(settings: &Settings<'_>) -> Result<Wanted, Error> {
    let usual =
        [".postgresql/root.crt", ".postgresql/postgresql.crt", ".postgresql/postgresql.key"];
    let [mut ca, cert, key] = [0, 1, 2].map(|file| {
        let at_home = || settings.at_home(usual[file]).map(|path| path.display().to_string());
        settings.get(PRODUCT.names[file]).or_else(at_home)
    });
    let is_of_system = ca.as_deref() == Some(SYSTEM);
    let usual = if is_of_system { "verify-full" } else { "prefer" };
    let mode = settings.get("sslmode").unwrap_or_else(|| usual.to_owned());
    if is_of_system && mode != "verify-full" {
        return Err(unfit(format!(
            "with sslrootcert=system, sslmode is verify-full, and not {mode}: any authority could pass"
        )));
    }
    let demand = match mode.as_str() {
        "disable" => Demand::Off,
        "allow" | "prefer" => Demand::IfPossible,
        "require" => Demand::Required,
        "verify-ca" => Demand::Authority,
        "verify-full" => Demand::Name,
        other => {
            return Err(unfit(format!(
                "the option sslmode is disable, allow, prefer, require, verify-ca or verify-full, and not {other:?}"
            )));
        }
    };
    ca = ca.filter(|_| !is_of_system);
    let setting = format!("sslmode={mode}");
    let files = [ca, cert, key];
    Ok(Wanted { demand, setting, better: "sslmode=verify-full", files, server_name: None })
}

fn schema(given: Option<&str>) -> Result<String, Error> {
    let schema = given.unwrap_or(DEFAULT_SCHEMA);
    if schema.is_empty() || schema.len() > LONGEST_NAME || schema.contains(['"', '\\', '\'']) {
        let what = format!("the option schema has 1 to {LONGEST_NAME} letters and no quotes");
        return Err(unfit(what));
    }
    Ok(schema.to_owned())
}

#[cfg(test)]
mod tests {
    use elect_remote::Password;

    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::parse(url, &elect_testkit::environment(variables))
    }

    fn location(url: &str, variables: &[(&str, &str)]) -> String {
        parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}")).location
    }

    #[test]
    fn what_a_url_leaves_out_is_looked_up_as_libpq_does() {
        let me = ("PGUSER", "me");
        for (url, variables, expected) in [
            ("postgres://u@a/d", &[][..], "postgresql://a:5432/d"),
            ("postgres://a", &[me], "postgresql://a:5432/me"),
            ("postgres://a,b:1/d", &[me, ("PGPORT", "6432")], "postgresql://a:6432,b:1/d"),
            (
                "postgres:///d",
                &[me, ("PGHOST", "a,b"), ("PGPORT", "1,2")],
                "postgresql://a:1,b:2/d",
            ),
            ("postgres:///d?host=/run/x&port=7", &[me], "postgresql:///run/x/.s.PGSQL.7/d"),
            ("postgres://me@/d?host=b&schema=s", &[], "postgresql://b:5432/d?schema=s"),
        ] {
            assert_eq!(location(url, variables), expected, "{url} {variables:?}");
        }
        let user =
            |variables: &[(&str, &str)]| parse("postgres://a/d", variables).ok().map(|it| it.user);
        assert_eq!(user(&[me, ("ELECT_USER", "e")]).as_deref(), Some("e"));
        assert_eq!(user(&[me, ("ELECT_USER", "")]).as_deref(), Some("me"));
    }

    #[test]
    fn only_verify_full_checks_the_name_of_the_server() {
        for (mode, is_checked) in [("disable", false), ("require", false), ("verify-full", true)] {
            let url = format!("postgres://me@a/d?sslmode={mode}");
            let address = parse(&url, &[]).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.encryption.checks_names(), is_checked, "{url}");
        }
    }

    #[test]
    fn a_setting_that_would_mean_another_server_or_less_safety_is_refused() {
        for (url, why) in [
            ("postgres://me@a/d?port=7", "write its port there"),
            ("postgres://me@a/d?host=b", "write its port there"),
            ("postgres://me@a/d/e", "no / in its name"),
            ("postgres://me@a/d?sslmode=full", "verify-full"),
            ("postgres://me@a/d?sslmode=require&sslrootcert=system", "any authority could pass"),
            ("postgres://me@a/d?sslmode=verify-ca", "sslrootcert"),
            ("postgres://me@a/d?service=none", "no service"),
            (
                "postgres://me@a/d?target_session_attrs=standby",
                "cannot honour target_session_attrs=standby",
            ),
            ("postgres://me@a/d?channel_binding=require", "cannot honour channel_binding=require"),
        ] {
            let error = parse(url, &[]).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
    }

    #[test]
    fn a_setting_of_libpq_that_elect_does_not_heed_is_refused() {
        let me = ("PGUSER", "me");
        for (name, value) in [
            ("PGHOSTADDR", "127.0.0.1"),
            ("PGREQUIREAUTH", "scram-sha-256"),
            ("PGCHANNELBINDING", "require"),
            ("PGTARGETSESSIONATTRS", "standby"),
        ] {
            let error = parse("postgres://a/d", &[me, (name, value)]).err().expect(name);
            let expected = format!("elect cannot honour {name}={value}");
            assert!(error.to_string().starts_with(&expected), "{name}: {error}");
        }
        for (name, value) in [("PGTARGETSESSIONATTRS", "read-write"), ("PGGSSENCMODE", "disable")] {
            assert!(parse("postgres://a/d", &[me, (name, value)]).is_ok(), "{name}");
        }
        // What the URL says comes first.
        let url = "postgres://a/d?target_session_attrs=primary&channel_binding=prefer";
        assert!(parse(url, &[me, ("PGTARGETSESSIONATTRS", "standby")]).is_ok());
    }

    #[test]
    fn a_service_gives_what_the_url_leaves_out() {
        let file = std::env::temp_dir().join(format!("elect-service-{}", std::process::id()));
        let text = "[other]\nhost=b\n[jobs]\nhost=a\nport=7\ndbname=d\nuser=me\npassword=hush\n";
        std::fs::write(&file, text).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, mode).expect("our own");
        let path = file.display().to_string();
        let named = [("PGSERVICE", "jobs"), ("PGSERVICEFILE", &*path), ("PGPORT", "8")];
        let password = |address: &Address| {
            address.destinations[0].password.as_ref().map(|it| it.reveal().to_owned())
        };
        let found = parse("postgres://", &named).expect("a good URL");
        assert_eq!((found.location.as_str(), found.user.as_str()), ("postgresql://a:7/d", "me"));
        assert_eq!(password(&found).as_deref(), Some("hush"));
        let found = parse("postgres:///e?service=jobs", &named[1..]).expect("a good URL");
        assert_eq!(found.location, "postgresql://a:7/e");
        let found = parse("postgres://me@a/d", &[("PGPASSWORD", "word")]).expect("a good URL");
        assert_eq!(password(&found).as_deref(), Some("word"));
        std::fs::remove_file(file).expect("our own");
    }

    #[test]
    fn the_password_of_a_socket_is_found_by_its_port() {
        let folder = std::env::temp_dir().join(format!("elect-pgpass-{}", std::process::id()));
        std::fs::write(&folder, "localhost:5432:*:me:one\nlocalhost:7:*:me:two\n").expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&folder, mode).expect("our own");
        let url = format!("postgres://me@/d?host=/run/x&port=7&passfile={}", folder.display());
        let address = parse(&url, &[]).expect("a good URL");
        let password = address.destinations[0].password.as_ref().map(Password::reveal);
        assert_eq!(password, Some("two"));
        std::fs::remove_file(folder).expect("our own");
    }
}
