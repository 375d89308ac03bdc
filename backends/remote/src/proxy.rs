//! The proxy on the way to a server, which a configuration or the environment names. It opens a tunnel, in which only
//! the server can read.
//!
//! hyper speaks CONNECT, and hyper-util SOCKS 5. hyper-util's `Tunnel` speaks CONNECT too, but hides the status of the
//! answer. Its `Matcher` reads `NO_PROXY` as curl does. Programs in Go, and so elect, have other rules: an entry may
//! have a port or be `*.a.b`, and `.a.b` does not mean `a.b`.

use std::future::ready;
use std::io::ErrorKind::NotConnected;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::Error;
use hyper::client::conn::http1;
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::http::uri::Authority;
use hyper::{Request, StatusCode, Uri, upgrade};
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use tokio::task::{JoinSet, spawn_blocking};
use tower::{ServiceExt as _, service_fn};

use crate::{
    Check, Hints, Host, Pem, Secret, Secured, Stream, Url, Witness, connect, system_authorities,
    unfit,
};

/// The longest answer of a proxy, in bytes.
const LONGEST: usize = 8192;
/// The bytes that user, password and server may have together for SOCKS 5. The library's buffer of 262 bytes holds the
/// greetings, too.
const MOST_OF_SOCKS: usize = 234;

/// A proxy.
pub struct Proxy {
    /// The address of the proxy.
    pub host: Host,
    kind: Kind,
    login: Option<(String, Secret)>,
    /// The setting that names it.
    whose: String,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Http,
    /// HTTP within TLS.
    Https,
    Socks,
}

impl Proxy {
    /// Reads the URL of a proxy. `whose` names it in messages.
    ///
    /// # Errors
    /// [`Unfit`](elect_api::ErrorKind::Unfit) if elect does not know its kind. The message does not quote the URL,
    /// which may have a password.
    pub fn parse(url: &str, whose: &str) -> Result<Self, Error> {
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
        let login = url.user.map(|user| (user, password));
        Ok(Self { host, kind, login, whose: whose.to_owned() })
    }

    /// Returns the environment's proxy for a server, to which we speak TLS or not. `None` if it has none.
    ///
    /// # Errors
    /// As [`Proxy::parse`].
    pub fn of_environment(
        env: &dyn Fn(&str) -> Option<String>,
        server: &Host,
        is_tls: bool,
    ) -> Result<Option<Self>, Error> {
        let either = |upper: &'static str| {
            env(upper).map(|value| (upper.to_owned(), value)).or_else(|| {
                let lower = upper.to_ascii_lowercase();
                env(&lower).map(|value| (lower, value))
            })
        };
        let found = either(if is_tls { "HTTPS_PROXY" } else { "HTTP_PROXY" });
        let exempt = either("NO_PROXY").map_or_else(String::new, |(_, list)| list);
        match found {
            Some((name, url)) if !is_exempt(server, &exempt) => {
                Self::parse(&url, &format!("the proxy in {name}")).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether its password goes over the network unencrypted.
    pub fn shows_password(&self) -> bool {
        self.login.is_some() && self.kind != Kind::Https && !self.host.is_loopback()
    }

    /// Connects to a server through the proxy. The `witness` sees what comes from either of them.
    ///
    /// # Errors
    /// The trouble, for people. It does not quote the proxy's words, which may echo our login.
    ///
    /// # Cancellation
    /// Leaves no connection behind.
    pub async fn connect(&self, server: &Host, witness: &Witness) -> Result<Stream, String> {
        let in_full = |trouble: crate::Trouble| trouble.in_full(&self.hints());
        let mut stream = connect(&self.host, witness).await.map_err(in_full)?;
        if self.kind == Kind::Https {
            let host = self.host.clone();
            // The system's authorities are files, and a file system may hang.
            let secured = spawn_blocking(move || secured(&host)).await;
            let secured = secured.map_err(|error| crate::in_full(&error))?;
            let secured = secured.map_err(|error| crate::in_full(&error))?;
            stream = secured.over(stream, witness).await.map_err(in_full)?;
        }
        let uri = Uri::builder().authority(server.to_string()).build();
        let uri = uri.map_err(|error| format!("it cannot be asked for {server}: {error}"))?;
        match self.kind {
            Kind::Http | Kind::Https => self.tunnel(stream, uri, witness).await,
            Kind::Socks => self.socks(stream, uri).await,
        }
    }

    fn hints(&self) -> Hints {
        let whose = &self.whose;
        Hints {
            place: whose.clone().into(),
            other_name: format!("write that name in {whose}").into(),
            authority: AUTHORITY.into(),
            identity: "the rules of the proxy, as elect has none for it".into(),
            ..Hints::of_url("http", "https", "")
        }
    }

    async fn tunnel(
        &self,
        stream: Stream,
        server: Uri,
        witness: &Witness,
    ) -> Result<Stream, String> {
        let odd = |error| format!("it does not tunnel: {}", crate::in_full(&error));
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(LONGEST)
            .title_case_headers(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(odd)?;
        let mut task = JoinSet::new();
        task.spawn(connection.with_upgrades());
        let mut request = Request::connect(&server).header(HOST, server.to_string());
        if let Some((user, password)) = &self.login {
            let both = BASE64.encode(format!("{user}:{}", password.reveal()));
            request = request.header(PROXY_AUTHORIZATION, format!("Basic {both}"));
        }
        let request = request.body(String::new());
        let request =
            request.map_err(|error| format!("it cannot be asked for {server}: {error}"))?;
        let answer = sender.send_request(request).await.map_err(odd)?;
        match answer.status() {
            status if status.is_success() => {}
            status @ StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                return Err(format!(
                    "it requires a login, or rejects the one given: it answered {status}"
                ));
            }
            status => {
                return Err(format!("it does not connect us to {server}: it answered {status}"));
            }
        }
        let tunnel = TokioIo::new(upgrade::on(answer).await.map_err(odd)?);
        Ok(Stream::new(tunnel, witness.clone()))
    }

    async fn socks(&self, stream: Stream, server: Uri) -> Result<Stream, String> {
        let mut stream = Some(TokioIo::new(stream));
        let dial = service_fn(move |_: Uri| ready(stream.take().ok_or(NotConnected)));
        let mut socks = SocksV5::new(Uri::default(), dial);
        let mut hint = "its rules may not allow it, or it may demand a login";
        if let Some((user, password)) = &self.login {
            // The library keeps the whole handshake in one short buffer.
            let length = user.len() + password.reveal().len() + server.host().map_or(0, str::len);
            if length > MOST_OF_SOCKS {
                return Err(format!(
                    "its user, password and the server's name have {length} bytes, and SOCKS 5 takes {MOST_OF_SOCKS} of them"
                ));
            }
            socks = socks.with_auth(user.clone(), password.reveal().to_owned());
            hint = "its rules may not allow it, or it may take no login, or another one";
        }
        let socks = socks.map_err(|error| error.to_string()).boxed();
        let tunnel = socks.oneshot(server.clone()).await.map_err(|words| {
            let words = words.trim_start_matches("SOCKS error: ");
            format!("it does not connect us to {server} by SOCKS 5 ({words}): {hint}")
        })?;
        Ok(tunnel.into_inner())
    }
}

/// TLS with the proxy at this host, whose certificate the system's authorities have signed.
fn secured(host: &Host) -> Result<Secured, Error> {
    let authorities = system_authorities(AUTHORITY)?;
    let config = Pem { authorities, identity: None, check: Check::Name };
    Secured::new(config.config(&[], AUTHORITY, "")?, host.without_zone())
}

/// Returns whether a server is reached without the environment's proxy: it is on this machine, or `NO_PROXY` names it.
fn is_exempt(server: &Host, list: &str) -> bool {
    let name = server.name.to_ascii_lowercase();
    let address = name.parse::<IpAddr>().ok();
    let is_named = |entry: &str| {
        if let Ok(net) = entry.parse::<IpNet>() {
            return address.is_some_and(|address| net.contains(&address));
        }
        // An IPv6 address without brackets is none.
        let authority = entry.parse::<Authority>().ok();
        let entry = authority.as_ref().map_or(entry, |parts| parts.host().trim_matches(['[', ']']));
        let port = authority.as_ref().and_then(Authority::port_u16);
        let is_here = match address {
            Some(address) => entry.parse() == Ok(address),
            None => !entry.is_empty() && is_of(&name, entry),
        };
        (is_here || entry == "*") && port.is_none_or(|port| port == server.port)
    };
    let mut entries = list.split(',').map(|entry| entry.trim().to_ascii_lowercase());
    server.is_loopback() || entries.any(|entry| is_named(&entry))
}

/// Returns whether a name is of a domain: `a.b` means itself and all below it, `.a.b` and `*.a.b` only what is below.
fn is_of(name: &str, domain: &str) -> bool {
    let below = domain.strip_prefix('*').unwrap_or(domain);
    let bare = below.trim_start_matches('.');
    let is_below = name.strip_suffix(bare).is_some_and(|rest| rest.ends_with('.'));
    is_below || (name == bare && !below.starts_with('.'))
}

/// What names the authorities that may sign a proxy's certificate.
const AUTHORITY: &str = "the certificates of this system (update-ca-certificates)";

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
            let env = elect_testkit::environment(variables);
            let proxy = Proxy::of_environment(&env, &host("a.b", 443), is_tls).unwrap();
            proxy.map(|proxy| proxy.host.name)
        };
        let both = &[("HTTPS_PROXY", "s"), ("https_proxy", "t"), ("http_proxy", "c")];
        assert_eq!(found(both, true).as_deref(), Some("s"));
        assert_eq!(found(both, false).as_deref(), Some("c"));
        assert_eq!(found(&[("https_proxy", "t"), ("no_proxy", "b")], true), None);
        assert_eq!(found(&[("HTTP_PROXY", "c")], true), None);
    }
}
