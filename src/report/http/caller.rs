//! Whom a request is for, by its own account.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Uri};

/// Whether a request to a loopback address may come from a page that a browser shows.
///
/// Such a page may have its own name mean this address by now (DNS rebinding), and would be shown what only
/// this machine is to see. Its requests have that name in them; those of this machine's users have a number, or
/// `localhost`.
pub(super) fn is_disguised(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let asked = match (uri.authority(), hosts.next()) {
        (Some(authority), _) => authority.clone(),
        (None, Some(host)) => match host.to_str().ok().and_then(|host| host.parse().ok()) {
            Some(authority) => authority,
            None => return true,
        },
        (None, None) => return false,
    };
    hosts.next().is_some() || !is_plain(&asked)
}

/// Whether a page of another origin asks, by what the browser says that shows it. Whoever follows a link here may read
/// what is here, as the page where the link was may not; that page would learn by the code alone who leads.
pub(super) fn is_of_another_origin(headers: &HeaderMap) -> bool {
    let says = |name, value| all_said(headers, name).any(|said| said.eq_ignore_ascii_case(value));
    let is_shown = says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
        && !headers.contains_key("sec-purpose");
    let is_from_elsewhere = all_said(headers, "sec-fetch-site")
        .any(|site| !["same-origin", "none"].iter().any(|ours| site.eq_ignore_ascii_case(ours)));
    (is_from_elsewhere && !is_shown) || has_another_origin(headers)
}

/// Some browsers say no more of a page than its origin, and say that only where it could read the answer.
fn has_another_origin(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    headers.get_all(ORIGIN).iter().any(|origin| {
        let named = origin.as_bytes().strip_prefix(b"http://");
        !named.zip(host).is_some_and(|(named, host)| named.eq_ignore_ascii_case(host))
    })
}

/// Each value of a header, however often it comes and however many it lists. What is no text says nothing that we know.
fn all_said<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    let said = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    said.flat_map(|value| value.split(',')).map(str::trim)
}

/// Browsers take the unspecified address for this machine, and let pages ask it that they keep from the others.
fn is_plain(authority: &Authority) -> bool {
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    number.parse::<IpAddr>().is_ok_and(|it| !it.to_canonical().is_unspecified())
        || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

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
        for host in [
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "",
            "a b",
            "::1",
            "0.0.0.0",
            "[::]:80",
            "[::ffff:0.0.0.0]",
            "evil.example@127.0.0.1",
        ] {
            assert!(is_disguised_by(host), "{host}");
        }
        let mut twice = HeaderMap::new();
        twice.append(HOST, HeaderValue::from_static("localhost"));
        twice.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(is_disguised(&Uri::from_static("/"), &twice));
        let whole = Uri::from_static("http://evil.example/leader");
        assert!(is_disguised(&whole, &HeaderMap::new()));
        assert!(!is_disguised(&Uri::from_static("/leader"), &HeaderMap::new()));
    }

    #[test]
    fn pages_of_other_origins_are_told_from_people_and_programs() {
        let is_refused = |said: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.append(HOST, HeaderValue::from_static("localhost:9090"));
            for (name, value) in said {
                let name = HeaderName::from_static(name);
                headers.append(name, HeaderValue::from_static(value));
            }
            is_of_another_origin(&headers)
        };
        let [cross, navigate] = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        let [same, document] = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "document")];
        assert!(!is_refused(&[]), "a program");
        assert!(!is_refused(&[cross, navigate, document]), "a link");
        assert!(!is_refused(&[same, ("sec-fetch-mode", "cors")]));
        assert!(!is_refused(&[("sec-fetch-site", "none"), navigate]), "typed");
        assert!(!is_refused(&[same, ("origin", "http://LOCALHOST:9090")]));

        assert!(is_refused(&[cross, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")]));
        assert!(is_refused(&[cross, navigate, ("sec-fetch-dest", "iframe")]));
        assert!(is_refused(&[cross, navigate, document, ("sec-purpose", "prefetch")]));
        assert!(is_refused(&[cross]));
        assert!(is_refused(&[("sec-fetch-site", "Cross-Site")]));
        assert!(is_refused(&[same, cross]) && is_refused(&[cross, same]), "said twice");
        assert!(is_refused(&[("sec-fetch-site", "same-origin, cross-site")]));
        assert!(is_refused(&[("sec-fetch-site", "same-site")]), "a page at another port");
        for origin in ["http://localhost:8080", "https://localhost:9090", "http://evil", "null"] {
            assert!(is_refused(&[("origin", origin)]), "{origin}");
        }
    }
}
