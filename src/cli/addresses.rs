//! Addresses on the command line: what help says of a store's URL, and where `--http` listens.

use std::fmt;
use std::str::FromStr;

macro_rules! backend_help {
    ($($clouds:literal)?) => {
        concat!(
            "Store that keeps elections\n\nfile:///DIR is the disk of this machine. Stores for many machines are \
             consul://HOST, etcd://HOST,HOST, kubernetes:///NAMESPACE, mariadb://HOST/DATABASE, \
             postgresql://HOST/DATABASE, redis://HOST and zk://HOST,HOST",
            $($clouds,)?
            "; `elect help stores` compares them."
        )
    };
}

/// The help text about URLs of stores.
#[cfg(feature = "cloud")]
pub(crate) const BACKEND_HELP: &str =
    backend_help!(", and in clouds dynamodb://TABLE and s3://BUCKET");
/// The help text about URLs of stores.
#[cfg(not(feature = "cloud"))]
pub(crate) const BACKEND_HELP: &str = backend_help!();

/// Where `--http` listens: a port of the loopback interface, or of a host that is named.
///
/// Port 0 has the kernel choose one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// A name, or an address without brackets.
    host: String,
    port: u16,
}

/// The host where none is named. To be reached from other machines takes naming one.
const LOOPBACK: &str = "127.0.0.1";
const EXAMPLES: &str = "write 9090, 127.0.0.1:9090, [::1]:9090 or 0.0.0.0:9090";

impl ListenAddress {
    /// The name or address of the host, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; 0 for any that is free.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    /// Reads `PORT`, `:PORT` or `HOST:PORT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("{why}; {EXAMPLES}"));
        if text.contains('/') {
            return refuse("an address has no scheme and no path");
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let Some(port) = Some(port)
            .filter(|port| port.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|port| port.parse().ok())
        else {
            return refuse("there is no port from 0 to 65535 at the end");
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare.unwrap_or(host) {
            "" => LOOPBACK,
            host if bare.is_none() && host.contains(':') => {
                return refuse("write an IPv6 address in brackets");
            }
            host if host.contains(|c: char| c.is_whitespace() || "[]*".contains(c)) => {
                return refuse("not the name or address of a host");
            }
            host => host,
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::ListenAddress;

    #[test]
    fn addresses_as_people_write_them() {
        for (text, read) in [
            ("9090", "127.0.0.1:9090"),
            (":9090", "127.0.0.1:9090"),
            ("0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("localhost:65535", "localhost:65535"),
            ("[::1]:9090", "[::1]:9090"),
            ("[::]:9090", "[::]:9090"),
        ] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), read, "{text}");
        }
    }

    #[test]
    fn refused_addresses_show_a_valid_one() {
        for text in [
            "",
            ":",
            "localhost",
            "65536",
            "-1",
            "+1",
            "a:b",
            "::1",
            "::1:9090",
            "[::1]",
            "[::1:9090",
            "http://localhost:9090",
            "a b:1",
            "*:9090",
            "localhost:",
        ] {
            let refusal = text.parse::<ListenAddress>().unwrap_err();
            assert!(refusal.contains("127.0.0.1:9090"), "{text}: {refusal}");
        }
    }
}
