//! Requests: the objects, verb, version and selector that a request means.

use hyper::body::Bytes;
use serde_json::Value;

use super::access::Deed;
use super::objects::Kind;
use super::status::{Reply, bad_request, no_version};

/// A complete request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) authorization: Option<String>,
    pub(super) body: Bytes,
    pub(super) target: Option<Target>,
}

/// The objects that a path names. A missing part is an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: String,
}

impl Target {
    fn parse(path: &str) -> Option<Self> {
        let words: Vec<String> = path.strip_prefix('/')?.split('/').map(decoded).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (group, version, rest) = match &words[..] {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            ["namespaces", name] => (*name, rest),
            rest => ("", rest),
        };
        let mut rest = rest.iter().map(ToString::to_string);
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: rest.next().filter(|resource| !resource.is_empty())?,
            namespace: namespace.to_owned(),
            name: rest.next().unwrap_or_default(),
            subresource: rest.next().unwrap_or_default(),
        })
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        let kind = Kind::of(&self.group, &self.version, &self.resource)?;
        self.subresource.is_empty().then_some(kind)
    }
}

impl Request {
    pub(super) fn new(method: &str, path: &str, query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.collect(),
            authorization: None,
            body: Bytes::new(),
            target: Target::parse(path),
        }
    }

    /// Returns a parameter of the query, or `None` if it is missing or empty.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(super) fn is(&self, parameter: &str) -> bool {
        matches!(self.parameter(parameter), Some("1" | "true"))
    }

    /// Returns its verb in RBAC's terms. For paths other than objects that is the method in lower
    /// case.
    pub(super) fn verb(&self) -> &'static str {
        let name = self.target.as_ref().map(|target| target.name.as_str());
        match (self.method.as_str(), name) {
            ("GET", Some(_)) if self.is("watch") => "watch",
            ("GET", Some("")) => "list",
            ("GET" | "HEAD", _) => "get",
            ("POST", None) => "post",
            ("POST", _) => "create",
            ("PUT", None) => "put",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some("")) => "deletecollection",
            ("DELETE", _) => "delete",
            _ => "",
        }
    }

    /// Returns the operation that its user needs the right to, or `None` if it is not about
    /// objects.
    pub(super) fn deed(&self) -> Option<Deed<'_>> {
        let target = self.target.as_ref()?;
        let verb = self.verb();
        // A name in the field selector counts like a name in the path.
        let selected = || {
            let selector = self.parameter("fieldSelector")?;
            selector.split(',').find_map(|term| term.strip_prefix("metadata.name="))
        };
        let name = match verb {
            "list" | "watch" | "deletecollection" if target.name.is_empty() => {
                selected().unwrap_or_default()
            }
            _ => &target.name,
        };
        let Target { group, resource, namespace, .. } = target;
        Some(Deed { verb, group, resource, namespace, name })
    }

    /// Returns the version that it asks for, or `None` if it asks for none.
    pub(super) fn version(&self) -> Result<Option<u64>, Reply> {
        let Some(text) = self.parameter("resourceVersion") else { return Ok(None) };
        text.parse().map(Some).map_err(|_| no_version(text))
    }

    pub(super) fn selector(&self) -> Result<Selector, Reply> {
        let labels = self.parameter("labelSelector").unwrap_or_default();
        let fields = self.parameter("fieldSelector").unwrap_or_default();
        Selector::parse(labels, fields)
    }
}

/// Decodes percent signs and pluses of a query.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let pair = others.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let (decoded, left) = match (first, byte) {
            (b'%', Some(byte)) => (byte, &others[2..]),
            (b'+', _) => (b' ', others),
            (first, _) => (first, others),
        };
        bytes.push(decoded);
        rest = left;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The selection of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector {
    labels: Vec<Term>,
    fields: Vec<Term>,
}

/// One condition: a name, and the value that it must have. `None` means that there must be none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    name: String,
    value: Option<String>,
}

impl Term {
    /// Parses `a=b` or `!a`. No client of the fake needs more.
    fn parse(text: &str) -> Result<Self, Reply> {
        let (name, value) = match (text.split_once('='), text.strip_prefix('!')) {
            (Some((name, value)), _) => (name, Some(value.to_owned())),
            (None, Some(name)) => (name, None),
            _ => return Err(bad_request(&format!("unable to parse requirement: found '{text}'"))),
        };
        Ok(Self { name: name.to_owned(), value })
    }
}

impl Selector {
    fn parse(labels: &str, fields: &str) -> Result<Self, Reply> {
        let terms = |text: &str| -> Result<Vec<Term>, Reply> {
            text.split(',').filter(|term| !term.is_empty()).map(Term::parse).collect()
        };
        let selector = Self { labels: terms(labels)?, fields: terms(fields)? };
        match selector.fields.iter().find(|term| term.name != "metadata.name") {
            Some(Term { name, .. }) => {
                Err(bad_request(&format!("\"{name}\" is not a known field selector")))
            }
            None => Ok(selector),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns the one name that a selected object can have, if the selector has one.
    pub(super) fn name(&self) -> Option<&str> {
        self.fields.first()?.value.as_deref()
    }

    pub(super) fn fits(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        self.labels
            .iter()
            .all(|term| metadata["labels"][&term.name].as_str() == term.value.as_deref())
            && self.fields.iter().all(|term| metadata["name"].as_str() == term.value.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_and_queries_are_taken_apart() {
        let request = Request::new(
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/elections/leases",
            Some("watch=1&fieldSelector=metadata.name%3Da&labelSelector=elect%2Fof%3Dh1%2C!x"),
        );
        let deed = request.deed().expect("objects");
        assert_eq!((deed.verb, deed.namespace, deed.name), ("watch", "elections", "a"));
        let selector = request.selector().expect("a selector");
        let object = |labels| json!({"metadata": {"name": "a", "labels": labels}});
        assert!(selector.fits(&object(json!({"elect/of": "h1"}))));
        assert!(!selector.fits(&object(json!({"elect/of": "h1", "x": ""}))));
        assert!(!selector.fits(&object(json!({"elect/of": "h2"}))));
        let one = Request::new("DELETE", "/api/v1/namespaces/elect/pods/p", None);
        assert_eq!(one.target.as_ref().and_then(Target::kind), Some(Kind::Pods));
        assert_eq!(one.verb(), "delete");
        let all = Request::new("GET", "/api/v1/namespaces", None);
        assert_eq!((all.verb(), Request::new("GET", "/version", None).target), ("list", None));
    }

    #[test]
    fn labels_may_be_missing() {
        let selector = Selector::parse("a=b,!c", "").expect("a selector");
        let fits = |labels| selector.fits(&json!({"metadata": {"labels": labels}}));
        assert!(fits(json!({"a": "b"})) && fits(json!({"a": "b", "d": "e"})));
        assert!(!fits(json!({"a": "x"})) && !fits(json!({})) && !fits(json!({"a": "b", "c": ""})));
        for unknown in ["a in (b,c)", "a", "metadata.uid"] {
            assert!(Selector::parse(unknown, "").is_err(), "{unknown}");
        }
    }
}
