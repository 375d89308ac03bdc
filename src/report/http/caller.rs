//! Whom a request is for, by its own account.

use std::net::IpAddr;

use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Uri};

/// Whether a request to a loopback address may come from a page that a browser shows.
///
/// Such a page may have its own name mean this address by now (DNS rebinding), and would be shown what only
/// this machine is to see. Its requests have that name in them; those of this machine's users have a number, or
/// `localhost`.
pub(super) fn is_disguised(uri: &Uri, headers: &HeaderMap) -> bool {
    let asked = match (uri.authority(), headers.get(HOST)) {
        (Some(authority), _) => authority.clone(),
        (None, Some(host)) => match host.to_str().ok().and_then(|host| host.parse().ok()) {
            Some(authority) => authority,
            None => return true,
        },
        (None, None) => return false,
    };
    !is_plain(&asked)
}

/// Whether a page of another site asks, by what the browser says that shows it. Whoever follows a link here may read
/// what is here, as the page where the link was may not; that page would learn by the code alone who leads.
pub(super) fn is_of_another_site(headers: &HeaderMap) -> bool {
    let says = |name, value: &str| headers.get(name).is_some_and(|said| said == value);
    let is_shown = says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document");
    says("sec-fetch-site", "cross-site") && !is_shown
}

fn is_plain(authority: &Authority) -> bool {
    let host = authority.host();
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    number.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_numbers_and_localhost_are_plain() {
        let is_disguised_by = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).expect("a value"));
            is_disguised(&Uri::from_static("/"), &headers)
        };
        for host in ["127.0.0.1", "127.0.0.1:80", "[::1]:80", "localhost", "LocalHost:8080"] {
            assert!(!is_disguised_by(host), "{host}");
        }
        for host in ["evil.example", "evil.example:80", "localhost.evil.example", "", "a b", "::1"]
        {
            assert!(is_disguised_by(host), "{host}");
        }
        let whole = Uri::from_static("http://evil.example/leader");
        assert!(is_disguised(&whole, &HeaderMap::new()));
        assert!(!is_disguised(&Uri::from_static("/leader"), &HeaderMap::new()));
    }

    #[test]
    fn pages_of_other_sites_are_told_from_people_and_programs() {
        let is_refused = |said: &[(&'static str, &'static str)]| {
            let said = said.iter().map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            });
            is_of_another_site(&said.collect())
        };
        let [cross, navigate] = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert!(!is_refused(&[]), "a program");
        assert!(!is_refused(&[cross, navigate, ("sec-fetch-dest", "document")]), "a link");
        assert!(!is_refused(&[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")]));
        assert!(!is_refused(&[("sec-fetch-site", "none"), navigate]), "typed");
        assert!(is_refused(&[cross, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")]));
        assert!(is_refused(&[cross, navigate, ("sec-fetch-dest", "iframe")]));
        assert!(is_refused(&[cross]));
    }
}
