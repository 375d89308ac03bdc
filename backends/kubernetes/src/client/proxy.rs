//! Proxies on the way to the API server: that of the kubeconfig, or the environment's. All of them are asked for a
//! connection to the server, in which nobody but the server reads.

use std::net::IpAddr;

use elect_api::Error;
use elect_remote::{Host, Secret, Url};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::address::Address;
use super::base64;
use super::kubeconfig::unfit;

/// The longest answer of a proxy, in bytes.
const LONGEST: usize = 8192;

/// What SOCKS (RFC 1928) calls why it does not connect, from 1 on.
const REFUSALS: [&str; 8] = [
    "general failure",
    "its rules do not allow it",
    "the network is unreachable",
    "the machine is unreachable",
    "the connection is refused",
    "it took too long",
    "it knows no such command",
    "it knows no such kind of address",
];

/// A proxy.
pub(super) struct Proxy {
    pub(super) host: Host,
    pub(super) kind: Kind,
    login: Option<(String, Secret)>,
}

/// What a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    /// HTTP within TLS.
    Https,
    Socks,
}

impl Proxy {
    /// Reads the URL of a proxy, which `whose` says whose it is.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if it is none that we know. The URL is not quoted: it may have a password.
    pub(super) fn parse(url: &str, whose: &str) -> Result<Self, Error> {
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let (kind, port) = match url.split("://").next() {
            Some("http") => (Kind::Http, 80),
            Some("https") => (Kind::Https, 443),
            Some("socks5" | "socks5h") => (Kind::Socks, 1080),
            _ => {
                return Err(unfit(format!(
                    "{whose} is of an unknown kind: write http://, https:// or socks5://"
                )));
            }
        };
        let url =
            Url::parse(&url, port, &[]).map_err(|error| unfit(format!("{whose}: {error}")))?;
        let mut hosts = url.hosts.into_iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(unfit(format!("{whose} names several machines: write one")));
        };
        let password = url.password.unwrap_or_else(|| Secret::new(""));
        Ok(Self { host, kind, login: url.user.map(|user| (user, password)) })
    }

    /// The environment's proxy for a server; `None` if it has none for that.
    ///
    /// # Errors
    /// As [`Proxy::parse`].
    pub(super) fn of_environment(
        env: &dyn Fn(&str) -> Option<String>,
        server: &Address,
    ) -> Result<Option<Self>, Error> {
        let either = |upper: &'static str| {
            env(upper).map(|value| (upper.to_owned(), value)).or_else(|| {
                let lower = upper.to_ascii_lowercase();
                env(&lower).map(|value| (lower, value))
            })
        };
        let found = either(if server.is_tls { "HTTPS_PROXY" } else { "HTTP_PROXY" });
        let exempt = either("NO_PROXY").map_or_else(String::new, |(_, list)| list);
        match found {
            Some((name, url)) if !is_exempt(&server.host, &exempt) => {
                Self::parse(&url, &format!("the proxy in {name}")).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether its password goes over the network in clear.
    pub(super) fn shows_password(&self) -> bool {
        self.login.is_some() && self.kind != Kind::Https && !self.host.is_loopback()
    }

    /// Has it connect us to a server.
    ///
    /// # Errors
    /// What it answered.
    pub(super) async fn connect<S>(&self, stream: &mut S, server: &Host) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        match self.kind {
            Kind::Http | Kind::Https => self.tunnel(stream, server).await,
            Kind::Socks => self.socks(stream, server).await,
        }
    }

    async fn tunnel<S>(&self, stream: &mut S, server: &Host) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let both = self
            .login
            .as_ref()
            .map(|(user, password)| base64(format!("{user}:{}", password.reveal()).as_bytes()));
        let header = |both| format!("Proxy-Authorization: Basic {both}\r\n");
        let login = both.as_ref().map_or_else(String::new, header);
        let request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n{login}\r\n");
        stream.write_all(request.as_bytes()).await.map_err(|error| hung_up(&error))?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() == LONGEST {
                return Err("its answer has no end".into());
            }
            answer.push(stream.read_u8().await.map_err(|error| hung_up(&error))?);
        }
        let mut answer = String::from_utf8_lossy(&answer).into_owned();
        // It may echo what it was shown.
        if let Some(both) = both.filter(|both| !both.is_empty()) {
            answer = answer.replace(&both, "...");
        }
        let line = answer.lines().next().unwrap_or_default();
        match line.split(' ').nth(1) {
            Some(status) if status.starts_with('2') => Ok(()),
            Some("407") => Err(format!("it demands a login, or another one: it answered {line:?}")),
            _ => Err(format!("it answered {line:?}")),
        }
    }

    async fn socks<S>(&self, stream: &mut S, server: &Host) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        // By no login, or by one of RFC 1929.
        let method = if self.login.is_some() { 2 } else { 0 };
        stream.write_all(&[5, 1, method]).await.map_err(|error| hung_up(&error))?;
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).await.map_err(|error| hung_up(&error))?;
        if answer[0] != 5 {
            return Err("it does not speak SOCKS 5".into());
        }
        if answer[1] != method {
            let way_out = if method == 0 { "a login" } else { "no login, or another kind of it" };
            return Err(format!("it wants {way_out}"));
        }
        if let Some((user, password)) = &self.login {
            let login = [&[1][..], &counted(user)?, &counted(password.reveal())?].concat();
            stream.write_all(&login).await.map_err(|error| hung_up(&error))?;
            stream.read_exact(&mut answer).await.map_err(|error| hung_up(&error))?;
            if answer[1] != 0 {
                return Err("it does not take our login".into());
            }
        }
        let name = match server.name.parse() {
            Ok(IpAddr::V4(address)) => [&[1][..], &address.octets()].concat(),
            Ok(IpAddr::V6(address)) => [&[4][..], &address.octets()].concat(),
            Err(_) => [&[3][..], &counted(&server.name)?].concat(),
        };
        let request = [&[5, 1, 0][..], &name, &server.port.to_be_bytes()].concat();
        stream.write_all(&request).await.map_err(|error| hung_up(&error))?;
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.map_err(|error| hung_up(&error))?;
        if head[1] != 0 {
            let why = REFUSALS.get(usize::from(head[1]) - 1).unwrap_or(&"it does not say why");
            return Err(format!("it does not connect us to {server}: {why}"));
        }
        // An address that means nothing to us, and a port.
        let rest = match head[3] {
            1 => 3,
            4 => 15,
            _ => usize::from(head[4]),
        };
        stream.read_exact(&mut vec![0; rest + 2]).await.map_err(|error| hung_up(&error))?;
        Ok(())
    }
}

/// A text with its length before it.
fn counted(text: &str) -> Result<Vec<u8>, String> {
    let length =
        u8::try_from(text.len()).map_err(|_| "SOCKS knows no names of more than 255 bytes")?;
    Ok([&[length][..], text.as_bytes()].concat())
}

fn hung_up(error: &std::io::Error) -> String {
    format!("it hung up: {error}")
}

/// Whether the environment's proxy is not for this server: it is on this machine, or in the list of `NO_PROXY`.
fn is_exempt(server: &Host, list: &str) -> bool {
    let name = server.name.to_ascii_lowercase();
    let address = name.parse::<IpAddr>().ok();
    server.is_loopback()
        || list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
            if entry.is_empty() || entry == "*" {
                return entry == "*";
            }
            if let Some((net, bits)) = entry.split_once('/') {
                let net = net.parse().ok().zip(bits.parse().ok());
                return address.zip(net).is_some_and(|(address, net)| is_within(address, net));
            }
            let (entry, port) = split_port(&entry);
            if port.is_some_and(|port| port != server.port) {
                return false;
            }
            match (entry.parse::<IpAddr>(), address) {
                (Ok(entry), Some(address)) => entry == address,
                (Ok(_), None) | (Err(_), Some(_)) => false,
                (Err(_), None) => is_of(&name, entry),
            }
        })
}

/// Whether a name is of a domain: `a.b` means itself and what is below it, `.a.b` and `*.a.b` only what is below.
fn is_of(name: &str, domain: &str) -> bool {
    let below = domain.strip_prefix('*').unwrap_or(domain);
    let bare = below.trim_start_matches('.');
    let is_below = name.strip_suffix(bare).is_some_and(|rest| rest.ends_with('.'));
    is_below || (name == bare && !below.starts_with('.'))
}

/// An entry of `NO_PROXY` and its port, if it has one.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some((address, rest)) = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (address, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') => (name, port.parse().ok()),
        _ => (entry, None),
    }
}

fn is_within(address: IpAddr, (net, bits): (IpAddr, u32)) -> bool {
    let (one, other, width) = match (address, net) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits().into(), other.to_bits().into(), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let differing: u128 = one ^ other;
    bits <= width && differing.checked_shr(width - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, port: u16) -> Host {
        Host { name: name.into(), port }
    }

    #[test]
    fn some_servers_are_reached_without_the_proxy_of_the_environment() {
        for (list, exempt, others) in [
            ("", &["localhost", "127.0.0.1", "::1"][..], &["a", "10.0.0.1"][..]),
            ("*", &["a", "10.0.0.1", "fd00::1"], &[]),
            ("x, A.b ,", &["a.b", "c.a.b", "x"], &["a", "b", "ca.b", "10.0.0.1"]),
            (".a.b", &["c.a.b"], &["a.b"]),
            ("*.a.b", &["c.a.b"], &["a.b"]),
            ("a:6443,b:1", &["a", "c.a"], &["b"]),
            ("10.0.0.1,fd00::1", &["10.0.0.1", "fd00::1"], &["10.0.0.10", "fd00::11"]),
            ("10.0.0.1:6443,[fd00::1]:1", &["10.0.0.1"], &["fd00::1"]),
            ("10.0.0.0/8,fd00::/16", &["10.9.9.9", "fd00:1::"], &["11.0.0.1", "fd01::", "a"]),
            ("0.0.0.0/0", &["1.2.3.4"], &["fd00::1"]),
            ("10.0.0.0/33,10.0.0.0/x,x/8", &[], &["10.0.0.1", "x"]),
        ] {
            for (names, expected) in [(exempt, true), (others, false)] {
                for name in names {
                    assert_eq!(is_exempt(&host(name, 6443), list), expected, "{name} of {list:?}");
                }
            }
        }
    }

    #[test]
    fn proxies_have_kinds_ports_and_logins() {
        let parse = |url| Proxy::parse(url, "the proxy");
        for (url, kind, expected) in [
            ("p", Kind::Http, host("p", 80)),
            ("http://p:3128/", Kind::Http, host("p", 3128)),
            ("https://p", Kind::Https, host("p", 443)),
            ("socks5://[::1]", Kind::Socks, host("::1", 1080)),
            ("socks5h://p", Kind::Socks, host("p", 1080)),
        ] {
            let proxy = parse(url).unwrap();
            assert_eq!((proxy.kind, proxy.host, proxy.login), (kind, expected, None), "{url}");
        }
        let (user, password) = parse("http://me:h%75sh@p").unwrap().login.unwrap();
        assert_eq!((user.as_str(), password.reveal()), ("me", "hush"));
        for url in
            ["ftp://me:hush@p", "http://me:hush@", "http://me:hush@p,q", "http://me:hush@p:x"]
        {
            let error = parse(url).err().expect(url).to_string();
            assert!(error.starts_with("the proxy") && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn the_environment_has_proxies_by_the_kind_of_server() {
        let found = |variables: &'static [(&str, &str)], is_tls| {
            let env = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let url = if is_tls { "https://a.b" } else { "http://a.b" };
            let server = Address::parse(url, "a cluster").unwrap();
            let proxy = Proxy::of_environment(&env, &server).unwrap();
            proxy.map(|proxy| proxy.host.name)
        };
        let both = &[("HTTPS_PROXY", "s"), ("https_proxy", "t"), ("http_proxy", "c")];
        assert_eq!(found(both, true).as_deref(), Some("s"));
        assert_eq!(found(both, false).as_deref(), Some("c"));
        assert_eq!(found(&[("https_proxy", "t"), ("no_proxy", "b")], true), None);
        assert_eq!(found(&[("HTTP_PROXY", "c")], true), None);
    }
}
