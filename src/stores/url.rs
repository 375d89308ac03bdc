//! The URL of a store, and what others may see of it.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use elect_api::text::is_obeyed;
use elect_api::{Profile, StoreId};

/// Words in the name of a query parameter that mark its value as a secret.
const SECRET_WORDS: &[&str] = &["pass", "secret", "token", "key", "auth", "credential"];

/// The URL of a store. It may hold a password, so neither `Display` nor `Debug` shows all of it:
/// userinfo and the values of secret parameters are left out.
#[derive(Clone, PartialEq, Eq)]
pub struct BackendUrl(String);

impl BackendUrl {
    /// Returns the text before the colon; `None` if it is not a scheme.
    pub fn scheme(&self) -> Option<&str> {
        scheme(&self.0)
    }

    /// Returns the first invisible character and its place. No URL should contain one unescaped.
    pub fn blank(&self) -> Option<String> {
        let at = self.0.find(is_blank)?;
        let rest = &self.0[at..];
        let what = match rest.chars().next()? {
            ' ' => "a space",
            c if c.is_control() => "a control character",
            _ => "an invisible character",
        };
        let place = match (at, rest.trim_matches(is_blank)) {
            (0, _) => "at its beginning",
            (_, "") => "at its end",
            _ if self.to_string().contains(is_blank) => "inside",
            // The shown URL lacks this character, so it is in a hidden part.
            _ => "in its user name or password, which are not shown",
        };
        Some(format!("{what} {place}"))
    }

    /// Returns the URL with these addresses in place of its own machines; `None` if it names no machines.
    pub fn through(&self, ways: &[SocketAddr]) -> Option<Self> {
        let start = self.0.find("://")? + 3;
        let rest = &self.0[start..];
        let end = start + rest.find(['/', '?']).unwrap_or(rest.len());
        let hosts = self.0[start..end].rfind('@').map_or(start, |at| start + at + 1);
        let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
        let has_hosts = hosts < end && !ways.is_empty();
        has_hosts.then(|| Self(format!("{}{}{}", &self.0[..hosts], ways.join(","), &self.0[end..])))
    }

    /// Returns the URL of a store in a service with this address as its endpoint, without TLS.
    pub fn through_endpoint(&self, way: SocketAddr) -> Self {
        let (head, query) = self.0.split_once('?').unwrap_or((&self.0, ""));
        let others = query.split('&').filter(|pair| pair.split('=').next() != Some("endpoint"));
        let pairs: Vec<_> = others.filter(|pair| !pair.is_empty()).collect();
        Self(format!(
            "{head}?{}",
            [&pairs[..], &[&format!("endpoint=http://{way}")]].concat().join("&")
        ))
    }

    /// Returns the URL with this store id as an option. A URL that already names a store id stays unchanged.
    pub fn pinned(&self, id: &StoreId) -> Self {
        let (query, sign) = self.0.split_once('?').map_or(("", '?'), |(_, query)| (query, '&'));
        let names_one =
            query.split('&').any(|pair| pair.split('=').next() == Some(StoreId::OPTION));
        if names_one {
            self.clone()
        } else {
            Self(format!("{}{sign}{}={id}", self.0, StoreId::OPTION))
        }
    }

    /// Returns the URL without its password.
    pub fn without_password(&self) -> Self {
        let start = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0.find('?').unwrap_or(self.0.len());
        // In doubt this leaves out too much rather than too little, as the shown form does.
        let user = self.0[start..end].rfind('@').map_or("", |at| &self.0[start..start + at]);
        match user.find(':') {
            // A URL without an authority is all path.
            Some(at) if !user.starts_with('/') => {
                let rest = &self.0[start + user.len()..];
                Self(format!("{}{rest}", &self.0[..start + at]))
            }
            _ => self.clone(),
        }
    }

    /// Returns the URL that another process may see, perhaps another user's: without the password. If the URL leaves
    /// the place open, as `file:` does, or the endpoint and the region of a service, the result names them as the
    /// location of `profile` does.
    pub fn for_other_users(&self, profile: &Profile) -> Self {
        let location = &profile.location;
        let (head, query) = self.0.split_at(self.0.find('?').unwrap_or(self.0.len()));
        if profile.is_in_service {
            let key = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
            let known: Vec<_> = location
                .split_once('?')
                .into_iter()
                .flat_map(|(_, it)| it.split('&').map(key))
                .collect();
            let others = query.trim_start_matches('?').split('&');
            let others = others.filter(|pair| !pair.is_empty() && !known.contains(&key(pair)));
            let pairs: Vec<_> = std::iter::once(location.as_str()).chain(others).collect();
            return Self(pairs.join("&"));
        }
        match head.split_once(':') {
            // A location with a query already says what the query of the URL says.
            Some((_, "" | "//")) if location.contains('?') => Self(location.to_owned()),
            Some((_, "" | "//")) => Self(format!("{location}{query}")),
            _ => self.without_password(),
        }
    }

    /// Returns a text that may be a URL; if it is one, without its secrets.
    pub fn shown(text: &str) -> String {
        if text.contains("://") { without_secrets(text) } else { text.to_owned() }
    }

    /// Returns the whole URL, for the code that opens the store.
    pub fn with_secrets(&self) -> &str {
        &self.0
    }
}

impl FromStr for BackendUrl {
    type Err = Infallible;

    fn from_str(url: &str) -> Result<Self, Infallible> {
        Ok(Self(url.to_owned()))
    }
}

impl fmt::Display for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(&self.0))
    }
}

impl fmt::Debug for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackendUrl({self})")
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_obeyed(c)
}

fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    fits.then_some(scheme)
}

/// Returns the URL without its secrets. In doubt it leaves out too much: a password with an unescaped `/` or `?` must
/// not show either.
fn without_secrets(url: &str) -> String {
    let Some((head, query)) = url.split_once('?') else { return without_userinfo(url) };
    let head = without_userinfo(head);
    let shorter = without_userinfo(url);
    if is_within_a_password(&head, query) && shorter.len() < url.len() {
        return without_secrets(&shorter);
    }
    format!("{head}?{}", without_values(query))
}

/// Returns whether the question mark between these two parts looks like part of a password. It does if the text before
/// it is not a host with a port, or if the text after it is not an option.
fn is_within_a_password(head: &str, query: &str) -> bool {
    let (Some(at), Some((_, tail))) = (query.find('@'), head.rsplit_once(':')) else {
        return false;
    };
    let is_port = !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit());
    let is_option = is_port && query[..at].contains('=');
    !(tail.starts_with("//") || is_option)
}

fn without_userinfo(head: &str) -> String {
    let authority = head.find("://").filter(|&at| scheme(head).is_some_and(|s| s.len() == at));
    let start = match (authority, scheme(head)) {
        (Some(at), _) => at + 3,
        (None, Some(scheme)) => scheme.len() + 1,
        (None, None) => 0,
    };
    let (front, rest) = head.split_at(start);
    // A URL without an authority is all path, as file:///dir/a@b is. There the @ belongs to the path.
    let is_path = rest.starts_with('/') && matches!(scheme(head), None | Some("file"));
    match rest.rfind('@') {
        Some(at) if !is_path => format!("{front}{}", &rest[at + 1..]),
        _ => head.to_owned(),
    }
}

/// Returns the query without the values of secret options, and without the user names and passwords in other URLs.
fn without_values(query: &str) -> String {
    // The next pair may be the rest of a password with an unescaped `&`.
    let mut is_cut = false;
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((key, value)) => {
            let is_secret = SECRET_WORDS.iter().any(|word| key.to_ascii_lowercase().contains(word));
            is_cut = may_have_userinfo(value);
            if is_secret || is_cut { format!("{key}=***") } else { pair.to_owned() }
        }
        None if is_cut => pair.rfind('@').map_or(pair, |at| &pair[at + 1..]).to_owned(),
        None => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

/// Returns whether this value is a URL with a user name or a password in it. A part after a colon that is no port
/// counts as a password that was cut off.
fn may_have_userinfo(value: &str) -> bool {
    let escapes = [("%3A", ":"), ("%3a", ":"), ("%2F", "/"), ("%2f", "/"), ("%40", "@")];
    let decoded =
        escapes.iter().fold(value.to_owned(), |text, (escape, sign)| text.replace(escape, sign));
    let Some((_, rest)) = decoded.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let is_port =
        |port: &str| port.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit());
    rest.contains('@') || authority.rsplit_once(':').is_some_and(|(_, port)| !is_port(port))
}

#[cfg(test)]
mod tests {
    use elect_api::{Lease, Order, Profile};

    use super::{BackendUrl, StoreId, scheme, without_secrets};

    #[test]
    fn display_and_debug_show_no_password() {
        let Ok(url) = "etcd://me:pw@host".parse::<BackendUrl>();
        assert_eq!(url.to_string(), "etcd://host");
        assert_eq!(format!("{url:?}"), "BackendUrl(etcd://host)");
        assert_eq!((url.scheme(), url.with_secrets()), (Some("etcd"), "etcd://me:pw@host"));
    }

    #[test]
    fn invisible_characters_in_a_url_are_found() {
        for (url, found) in [
            ("etcd://a/x ", Some("a space at its end")),
            ("etcd://a/x\r\n", Some("a control character at its end")),
            (" file:", Some("a space at its beginning")),
            ("zk://a/b c", Some("a space inside")),
            ("zk://a/b\tc", Some("a control character inside")),
            ("zk://a/b\u{a0}", Some("an invisible character at its end")),
            ("zk://a/b\u{200b}c", Some("an invisible character inside")),
            ("etcd://u:p w@a", Some("a space in its user name or password, which are not shown")),
            (
                "etcd://a?password=p w",
                Some("a space in its user name or password, which are not shown"),
            ),
            ("etcd://u:p%20w@a/x%20y?ca=/z%09", None),
            ("file:///s\u{e9}jour", None),
        ] {
            let Ok(parsed) = url.parse::<BackendUrl>();
            assert_eq!(parsed.blank().as_deref(), found, "{url:?}");
        }
    }

    #[test]
    fn a_url_that_names_no_store_can_be_made_to() {
        let id = StoreId::read(b"00000000000000a1").expect("an id");
        for (url, pinned) in [
            ("etcd://a", "etcd://a?store-id=00000000000000a1"),
            ("zk://a/x?acl=open", "zk://a/x?acl=open&store-id=00000000000000a1"),
            ("etcd://a?store-id=00000000000000b2", "etcd://a?store-id=00000000000000b2"),
        ] {
            let Ok(url) = url.parse::<BackendUrl>();
            assert_eq!(url.pinned(&id).with_secrets(), pinned);
        }
    }

    #[test]
    fn schemes() {
        assert_eq!(scheme("file:"), Some("file"));
        assert_eq!(scheme("etcd+tls://a"), Some("etcd+tls"));
        for none in ["", ":", "file", "/var/lib", "./a:b", "1a:b", "a b:c"] {
            assert_eq!(scheme(none), None, "{none}");
        }
    }

    #[test]
    fn other_ways_to_the_same_store() {
        let ways: Vec<_> = ["127.0.0.1:1", "[::1]:2"].map(|way| way.parse().unwrap()).into();
        for (url, through) in [
            ("etcd://a,b:7", "etcd://127.0.0.1:1,[::1]:2"),
            ("zk://me:p@w@[::1]/x?acl=open", "zk://me:p@w@127.0.0.1:1,[::1]:2/x?acl=open"),
            ("etcd://a?user=b", "etcd://127.0.0.1:1,[::1]:2?user=b"),
        ] {
            let Ok(parsed) = url.parse::<BackendUrl>();
            assert_eq!(parsed.through(&ways).unwrap().with_secrets(), through, "{url}");
        }
        for none in ["file:", "file:///var/lib", "etcd:a"] {
            let Ok(parsed) = none.parse::<BackendUrl>();
            assert_eq!(parsed.through(&ways), None, "{none}");
        }
    }

    #[test]
    fn a_url_for_other_users_has_a_place_and_no_password() {
        let here = Profile::new("file", "file:///here".to_owned(), Lease::Unlimited, Order::Queue);
        for (url, told) in [
            ("file:", "file:///here"),
            ("file://?allow-network", "file:///here?allow-network"),
            ("file:///var/a:b@c", "file:///var/a:b@c"),
            ("etcd://a:2379,b:7/x?cert=c&key=k", "etcd://a:2379,b:7/x?cert=c&key=k"),
            ("etcd://me@a:1", "etcd://me@a:1"),
            ("etcd://me:pw@a:1?password-file=/p", "etcd://me@a:1?password-file=/p"),
            ("zk://me:p@/w:x@a/e", "zk://me@a/e"),
        ] {
            let Ok(parsed) = url.parse::<BackendUrl>();
            assert_eq!(parsed.for_other_users(&here).with_secrets(), told, "{url}");
        }
        let location = "s3://jobs/a?region=eu-west-1&endpoint=http://127.0.0.1:9000".to_owned();
        let bucket = Profile::new("s3", location.clone(), Lease::Unlimited, Order::Race);
        let bucket = Profile { is_in_service: true, ..bucket };
        for (url, told) in [
            ("s3://jobs/a", ""),
            ("s3://jobs/a/?region=eu-west-1&path-style&profile=x", "&path-style&profile=x"),
        ] {
            let Ok(parsed) = url.parse::<BackendUrl>();
            let told = format!("{location}{told}");
            assert_eq!(parsed.for_other_users(&bucket).with_secrets(), told, "{url}");
        }
    }

    #[test]
    fn another_way_to_a_service_is_an_endpoint() {
        for (url, through) in [
            ("s3://jobs", "s3://jobs?endpoint=http://127.0.0.1:1"),
            (
                "s3://jobs?endpoint=https://a&order=queue",
                "s3://jobs?order=queue&endpoint=http://127.0.0.1:1",
            ),
        ] {
            let Ok(parsed) = url.parse::<BackendUrl>();
            let way = "127.0.0.1:1".parse().expect("an address");
            assert_eq!(parsed.through_endpoint(way).with_secrets(), through, "{url}");
        }
    }

    #[test]
    fn secrets_do_not_show() {
        for (url, shown) in [
            ("file:", "file:"),
            ("file:///var/a@b", "file:///var/a@b"),
            ("etcd://a:2379,b:2379/x", "etcd://a:2379,b:2379/x"),
            ("etcd://user:pw@a:2379,b", "etcd://a:2379,b"),
            ("etcd://user:p@w@a", "etcd://a"),
            ("etcd://user:p/w@a", "etcd://a"),
            ("user:pw@a", "user:a"),
            ("user:pw@etcd://a", "user:etcd://a"),
            ("pw@a", "a"),
            ("zk://a?x=1&Password=pw&authToken=t", "zk://a?x=1&Password=***&authToken=***"),
            ("zk://u:p@a?b@c", "zk://a?b@c"),
            ("etcd:/u:pw@a", "etcd:a"),
            ("etcd:///u:pw@a", "etcd://a"),
            ("etcd://u:?pw@a", "etcd://a"),
            ("etcd://u:p?w@a", "etcd://a"),
            ("etcd://u:1?2@a", "etcd://a"),
            ("zk:x@f?a@=b", "zk:=b"),
            ("zk:f?a@b?key=pw", "zk:b?key=***"),
            ("file:///a:b?c@d", "file:///a:b?c@d"),
            ("etcd://a:1?cert=/x@y", "etcd://a:1?cert=/x@y"),
            ("etcd://a?cert=/x@y", "etcd://a?cert=/x@y"),
            ("/var/a@b", "/var/a@b"),
            ("s3://a?endpoint=http://key:pw@b:1&order=queue", "s3://a?endpoint=***&order=queue"),
            ("s3://a?endpoint=http%3A%2F%2Fkey%3Apw%40b", "s3://a?endpoint=***"),
            ("s3://a?endpoint=http://key:p&w@b", "s3://a?endpoint=***&b"),
            ("s3://a?endpoint=http://key:p/w@b", "s3://a?endpoint=***"),
            ("s3://a?endpoint=https://[::1]&x", "s3://a?endpoint=https://[::1]&x"),
            ("s3://a?endpoint=http://b:9000/", "s3://a?endpoint=http://b:9000/"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
