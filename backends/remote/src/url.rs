use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;

use elect_api::Error;

use crate::{Secret, unfit};

/// The URL of a store on other machines:
/// `SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/PATH][?KEY=VALUE[&KEY=VALUE]...]`.
///
/// All parts are percent-decoded. Messages and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The part before `://`.
    pub scheme: String,
    /// The user, if one is named.
    pub user: Option<String>,
    /// The password, if there is one.
    pub password: Option<Secret>,
    /// The hosts; never empty.
    pub hosts: Vec<Host>,
    /// The part after the hosts, with its leading slash; empty if there is none.
    pub path: String,
    options: Vec<(String, String)>,
}

/// A host and a port on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

impl Url {
    /// Reads a URL. Hosts without a port get `default_port`. `options` are the keys that are allowed after the `?`,
    /// each once.
    ///
    /// # Errors
    /// `Unfit`, with a message that names the wrong part.
    pub fn parse(text: &str, default_port: u16, options: &[&str]) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            // The rest of the text may hold a password, so the message does not quote it.
            let scheme = text.split(':').next().unwrap_or_default();
            unfit(format!("after {scheme:?} come a colon and two slashes: {scheme}://HOST"))
        })?;
        if rest.contains('#') {
            return Err(unfit("a # in a URL is written %23"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (userinfo, hosts) = match authority.rsplit_once('@') {
            Some((userinfo, hosts)) => (Some(userinfo), hosts),
            None => (None, authority),
        };
        check_order(authority, path)?;
        let (user, password) = match userinfo.map(|info| info.split_once(':').unwrap_or((info, "")))
        {
            Some((user, password)) => (non_empty(decode(user)?), non_empty(decode(password)?)),
            None => (None, None),
        };
        Ok(Self {
            scheme: scheme.to_owned(),
            user,
            password: password.map(Secret::new),
            hosts: hosts
                .split(',')
                .map(|host| Host::parse(host, default_port))
                .collect::<Result<_, _>>()
                .map_err(|error| {
                    let is_cut = userinfo.is_none() && (path.contains('@') || query.contains('@'));
                    if is_cut { unfit(format!("{error}; {CUT}")) } else { error }
                })?,
            path: decode(path)?,
            options: parse_options(query, options)?,
        })
    }

    /// The text of a URL with a host, and whether it named one: without one it is `localhost`. Some stores have a usual
    /// host.
    pub fn with_host(text: &str) -> (String, bool) {
        let Some(start) = text.find("://").map(|at| at + 3) else {
            return (text.to_owned(), true);
        };
        let end = text[start..].find(['/', '?']).map_or(text.len(), |at| start + at);
        let is_missing = end == start || text[..end].ends_with('@');
        if is_missing {
            (format!("{}localhost{}", &text[..end], &text[end..]), false)
        } else {
            (text.to_owned(), true)
        }
    }

    /// The value of an option, if it was given.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Returns whether a boolean option is on. It is on if it stands without a value or as `true`. It is off if it is
    /// missing or `false`.
    ///
    /// # Errors
    /// `Unfit` if it has another value.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        match self.option(key) {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(_) => Err(unfit(format!("the option {key} is true or false"))),
        }
    }

    /// The URL for display: without user, password and options.
    pub fn location(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        format!("{}://{}{}", self.scheme, hosts.join(","), self.path)
    }
}

impl Host {
    /// Returns whether the name stands for this machine, so that requests to it pass no network.
    pub fn is_loopback(&self) -> bool {
        let name = self.name.trim_end_matches('.').to_ascii_lowercase();
        match name.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    /// The name without the interface of a link-local address, which is part of no URL and of no certificate.
    pub fn without_zone(&self) -> &str {
        self.name.split('%').next().unwrap_or_default()
    }

    fn parse(text: &str, default_port: u16) -> Result<Self, Error> {
        // The text after a colon may be a password whose host was forgotten, so the message does not quote it.
        let shown = if text.starts_with('[') { text } else { text.split(':').next().unwrap_or("") };
        let wrong = |why: &str| unfit(format!("the host {shown:?} is not one: {why}"));
        let no_port =
            || unfit(format!("the port of the host {shown:?} is not a number from 1 to 65535"));
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = rest.split_once(']').ok_or_else(|| wrong("a ] is missing"))?;
                match (rest, rest.strip_prefix(':')) {
                    ("", _) => (name, None),
                    (_, Some(port)) => (name, Some(port)),
                    _ => return Err(wrong("after the ] comes a colon and a port")),
                }
            }
            None => match text.split_once(':') {
                Some((_, rest)) if rest.contains(':') => {
                    return Err(if is_like_ipv6(text) {
                        wrong("an IPv6 address is written in brackets, as in [::1]:2379")
                    } else {
                        no_port()
                    });
                }
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            },
        };
        if name.is_empty() {
            return Err(unfit("the URL lacks a host: write SCHEME://HOST or SCHEME://HOST,HOST"));
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-:%".contains(c)) {
            return Err(wrong("a name has letters, digits, dots and hyphens"));
        }
        let port = match port {
            None => default_port,
            Some(port) => port.parse().ok().filter(|&port: &u16| port != 0).ok_or_else(no_port)?,
        };
        Ok(Self { name: with_bare_zone(name), port })
    }
}

/// An IPv6 address as the system's resolver reads it. RFC 6874 encodes the % before a zone, but many people write it
/// bare.
fn with_bare_zone(name: &str) -> String {
    match name.split_once("%25") {
        Some((address, zone)) if !zone.is_empty() => format!("{address}%{zone}"),
        _ => name.to_owned(),
    }
}

/// Refuses a URL with what looks like hosts after the first slash. They would become part of the path, which names the
/// place in the store. Candidates would then take part in two different elections.
///
/// The message quotes nothing, as it may be a password.
fn check_order(authority: &str, path: &str) -> Result<(), Error> {
    if path.contains('@') {
        return Ok(());
    }
    if authority.contains(char::is_whitespace) {
        return Err(unfit("the URL has a space among its hosts: write HOST,HOST"));
    }
    if authority.ends_with(':') && path.starts_with("//") || path.contains("://") {
        return Err(unfit("the URL has a second scheme: write SCHEME://HOST,HOST"));
    }
    let separators = [(',', "comma", "%2C"), (';', "semicolon", "%3B")];
    match separators.into_iter().find(|(separator, ..)| path.contains(*separator)) {
        None => Ok(()),
        Some((_, name, code)) => Err(unfit(format!(
            "the URL has a {name} after a /: write all hosts before the first /, as in \
             SCHEME://HOST,HOST/PATH (a {name} in the path is {code})"
        ))),
    }
}

/// Returns whether the user probably meant an IPv6 address. The text has two colons in a row, or more colons than a
/// host, a port and a slip.
fn is_like_ipv6(text: &str) -> bool {
    let may_be = text.chars().all(|c| c.is_ascii_hexdigit() || ":.%".contains(c));
    may_be && (text.contains("::") || text.matches(':').count() > 2)
}

fn parse_options(query: &str, known: &[&str]) -> Result<Vec<(String, String)>, Error> {
    let mut options: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decode(key)?;
        if !known.contains(&key.as_str()) {
            let known = known.join(", ");
            return Err(unfit(format!(
                "the URL has an unknown option {key:?}; it may have {known}"
            )));
        }
        if options.iter().any(|(other, _)| *other == key) {
            return Err(unfit(format!("the URL has the option {key} twice")));
        }
        options.push((key, decode(value)?));
    }
    Ok(options)
}

fn decode(text: &str) -> Result<String, Error> {
    // The crate leaves a % without digits as it is, so a slip in a password would go unnoticed.
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let digits = rest.get(at + 1..at + 3);
        if !digits.is_some_and(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            return Err(unfit("a % is followed by two hexadecimal digits (% itself is %25)"));
        }
        rest = &rest[at + 3..];
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| unfit("the URL is no UTF-8"))?;
    if decoded.contains(char::is_control) {
        return Err(unfit("a URL has no control characters"));
    }
    Ok(decoded.into_owned())
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// A hint for a URL that has an @ after its hosts.
const CUT: &str = "a / in a user name or a password is written %2F, and a ? is written %3F";

#[cfg(test)]
mod tests {
    use elect_api::ErrorKind;

    use super::*;

    fn parse(text: &str) -> Result<Url, Error> {
        Url::parse(text, 2379, &["ca", "flag"])
    }

    fn host(name: &str, port: u16) -> Host {
        Host { name: name.into(), port }
    }

    #[test]
    fn the_parts_of_a_url() {
        let url =
            parse("etcd+tls://me:p%40w@a,b.c:1,[::1]:2,[fe80::1]/x/y%20z?ca=/etc/ca&flag").unwrap();
        assert_eq!(url.scheme, "etcd+tls");
        assert_eq!(url.user.as_deref(), Some("me"));
        assert_eq!(url.password.as_ref().map(Secret::reveal), Some("p@w"));
        let hosts = [host("a", 2379), host("b.c", 1), host("::1", 2), host("fe80::1", 2379)];
        assert_eq!(url.hosts, hosts);
        assert_eq!(url.path, "/x/y z");
        assert_eq!(url.option("ca"), Some("/etc/ca"));
        assert!(url.flag("flag").unwrap());
        assert_eq!(url.location(), "etcd+tls://a:2379,b.c:1,[::1]:2,[fe80::1]:2379/x/y z");
        assert!(!format!("{url:?}").contains("p@w"));
    }

    #[test]
    fn the_zone_of_an_address_is_encoded_or_bare() {
        for (text, name) in [
            ("zk://[fe80::1%25eth0]:1", "fe80::1%eth0"),
            ("zk://[fe80::1%eth0]:1", "fe80::1%eth0"),
            ("zk://[fe80::1%2525]:1", "fe80::1%25"),
            // A zone whose number is 25.
            ("zk://[fe80::1%25]:1", "fe80::1%25"),
        ] {
            assert_eq!(parse(text).unwrap().hosts, [host(name, 1)], "{text}");
        }
    }

    #[test]
    fn missing_parts_of_a_url_are_none() {
        let url = parse("etcd://a").unwrap();
        assert_eq!((url.user.as_ref(), url.password.as_ref(), url.path.as_str()), (None, None, ""));
        assert!(!url.flag("flag").unwrap());
        assert_eq!(parse("etcd://@a").unwrap().user, None);
        assert_eq!(parse("etcd://:pw@a").unwrap().user, None);
    }

    #[test]
    fn a_wrong_url_is_refused_without_showing_its_password() {
        for (url, why) in [
            ("etcd:a", "etcd://HOST"),
            ("etcd:me:hush", "after \"etcd\" come a colon and two slashes: etcd://HOST"),
            ("etcd://a/,b", "a comma after a /"),
            ("etcd://a/,b:1/path", "a comma after a /"),
            ("etcd://a:2379/path,b", "%2C"),
            ("etcd://a/;b", "a semicolon after a /"),
            ("etcd://a/x;b", "%3B"),
            ("etcd://a:1 , b", "a space among its hosts"),
            ("etcd://a,etcd://b", "a second scheme"),
            ("etcd://a:1/,http://b", "a second scheme"),
            ("etcd://", "lacks a host"),
            ("etcd://a,", "lacks a host"),
            ("etcd://u:hush@:1", "lacks a host"),
            ("etcd://u:hush@a:0", "65535"),
            ("etcd://a:x", "65535"),
            ("etcd://me:hush", "65535"),
            ("etcd://a:70000", "the port of the host \"a\""),
            ("etcd://localhost:2379:2380", "65535"),
            ("etcd://a:b:2379", "65535"),
            ("etcd://fe80:1:2:3", "brackets"),
            ("etcd://u:hu/sh@a", "%2F"),
            ("etcd://u:hu?sh@a:1", "%3F"),
            ("etcd://::1", "brackets"),
            ("etcd://[::1", "] is missing"),
            ("etcd://[::1]2", "a colon and a port"),
            ("etcd://a b", "a space among its hosts"),
            ("etcd://a*b", "letters"),
            ("etcd://a#b", "%23"),
            ("etcd://a/%zz", "hexadecimal"),
            ("etcd://u:hush%@a", "hexadecimal"),
            ("etcd://a/%ff", "UTF-8"),
            ("etcd://a/%00", "control"),
            ("etcd://a?cb=1", "\"cb\"; it may have ca, flag"),
            ("etcd://a?ca=1&ca=2", "twice"),
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{url}");
            let text = error.to_string();
            assert!(text.contains(why) && !text.contains("hush"), "{url}: {text}");
        }
        assert_eq!(parse("etcd://a,b/x%2Cy").unwrap().path, "/x,y");
        assert!(parse("etcd://a?flag=maybe").unwrap().flag("flag").is_err());
    }
}
