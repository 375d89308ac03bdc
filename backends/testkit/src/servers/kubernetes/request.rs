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
    pub(super) content_type: String,
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
            content_type: String::new(),
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

    /// Returns whether it asks for exactly that version, if it asks for one.
    pub(super) fn is_exact(&self) -> bool {
        match self.parameter("resourceVersionMatch") {
            None => self.parameter("limit").is_some_and(|limit| limit != "0"),
            Some(rule) => rule == "Exact",
        }
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

/// One condition: a name, and the values that it may have. `None` means any value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    name: String,
    values: Option<Vec<String>>,
    differs: bool,
}

impl Term {
    /// Parses `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a` or `!a`.
    fn parse(text: &str) -> Result<Self, Reply> {
        let text = text.trim();
        let (name, values, differs) = if let Some((name, set)) = text.split_once(" in ") {
            (name, Some(set), false)
        } else if let Some((name, set)) = text.split_once(" notin ") {
            (name, Some(set), true)
        } else if let Some((name, value)) = text.split_once("!=") {
            (name, Some(value), true)
        } else if let Some((name, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            (name, Some(value), false)
        } else if let Some(name) = text.strip_prefix('!') {
            (name, None, true)
        } else {
            (text, None, false)
        };
        let name = name.trim();
        if name.is_empty() || name.contains([' ', '(', ')']) {
            return Err(bad_request(&format!("unable to parse requirement: found '{text}'")));
        }
        let values = values.map(|values| {
            let values = values.trim().trim_start_matches('(').trim_end_matches(')');
            values.split(',').map(|value| value.trim().to_owned()).collect()
        });
        Ok(Self { name: name.to_owned(), values, differs })
    }

    fn fits(&self, value: Option<&str>) -> bool {
        let same = match &self.values {
            None => value.is_some(),
            Some(values) => value.is_some_and(|value| values.iter().any(|own| own == value)),
        };
        same != self.differs
    }
}

/// Splits a text at the commas outside of sets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|char| {
        depth += i32::from(char == '(') - i32::from(char == ')');
        char == ',' && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

impl Selector {
    fn parse(labels: &str, fields: &str) -> Result<Self, Reply> {
        let terms = |text| -> Result<Vec<Term>, Reply> {
            split(text).into_iter().map(Term::parse).collect()
        };
        let selector = Self { labels: terms(labels)?, fields: terms(fields)? };
        let known = ["metadata.name", "metadata.namespace"];
        match selector.fields.iter().find(|term| !known.contains(&term.name.as_str())) {
            Some(Term { name, .. }) => {
                let known = known.map(|name| format!("\"{name}\"")).join(", ");
                Err(bad_request(&format!("\"{name}\" is not a known field selector: only {known}")))
            }
            None => Ok(selector),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns the one name that a selected object can have, if the selector has one.
    pub(super) fn name(&self) -> Option<&str> {
        let is_one = |term: &&Term| term.name == "metadata.name" && !term.differs;
        self.fields.iter().find(is_one)?.values.as_ref()?.first().map(String::as_str)
    }

    pub(super) fn fits(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let field = |term: &Term| metadata[&term.name["metadata.".len()..]].as_str();
        self.labels.iter().all(|term| term.fits(metadata["labels"][&term.name].as_str()))
            && self.fields.iter().all(|term| term.fits(field(term)))
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
            Some("watch=1&fieldSelector=metadata.name%3Da&labelSelector=elect%2Fof%3Dh1%2Cx"),
        );
        let deed = request.deed().expect("objects");
        assert_eq!((deed.verb, deed.namespace, deed.name), ("watch", "elections", "a"));
        let selector = request.selector().expect("a selector");
        let object = |labels| json!({"metadata": {"name": "a", "labels": labels}});
        assert!(selector.fits(&object(json!({"elect/of": "h1", "x": ""}))));
        assert!(!selector.fits(&object(json!({"elect/of": "h1"}))));
        assert!(!selector.fits(&object(json!({"elect/of": "h2", "x": ""}))));
        let one = Request::new("DELETE", "/api/v1/namespaces/elect/pods/p", None);
        assert_eq!(one.target.as_ref().and_then(Target::kind), Some(Kind::Pods));
        assert_eq!(one.verb(), "delete");
        let all = Request::new("GET", "/api/v1/namespaces", None);
        assert_eq!((all.verb(), Request::new("GET", "/version", None).target), ("list", None));
    }

    #[test]
    fn labels_may_be_unequal_or_missing() {
        let selector = Selector::parse("a!=b,!c", "").expect("a selector");
        let fits = |labels| selector.fits(&json!({"metadata": {"labels": labels}}));
        assert!(fits(json!({"a": "x"})) && fits(json!({})));
        assert!(!fits(json!({"a": "b"})) && !fits(json!({"c": ""})));
        let selector = Selector::parse("a in (b, c),d notin (e)", "").expect("a selector");
        let fits = |labels| selector.fits(&json!({"metadata": {"labels": labels}}));
        assert!(fits(json!({"a": "c"})) && fits(json!({"a": "b", "d": "f"})));
        assert!(!fits(json!({"a": "d"})) && !fits(json!({"a": "b", "d": "e"})));
    }
}
