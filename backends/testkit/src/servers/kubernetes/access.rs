//! Users, known by their tokens, and the rules of what they may do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Matches everything in a [`Rule`].
pub const ANY: &str = "*";
/// The user of a request without credentials.
pub(super) const ANONYMOUS: &str = "system:anonymous";

/// One rule of a Role that is bound to one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The API group: `coordination.k8s.io`, the empty one, or [`ANY`].
    pub group: String,
    /// The resource in the plural: `leases`, `pods`, or [`ANY`].
    pub resource: String,
    /// The object names that it allows. Empty means all.
    pub names: Vec<String>,
    /// The verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, or [`ANY`].
    pub verbs: Vec<String>,
    /// The namespace, or [`ANY`].
    pub namespace: String,
}

impl Rule {
    /// Creates a rule for these verbs on a resource of a namespace.
    pub fn new(group: &str, resource: &str, namespace: &str, verbs: &[&str]) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            names: Vec::new(),
            verbs: verbs.iter().map(ToString::to_string).collect(),
            namespace: namespace.to_owned(),
        }
    }

    /// Creates a rule for these verbs on Leases of a namespace.
    pub fn leases(namespace: &str, verbs: &[&str]) -> Self {
        Self::new("coordination.k8s.io", "leases", namespace, verbs)
    }

    /// Creates a rule that allows everything everywhere.
    pub fn everything() -> Self {
        Self::new(ANY, ANY, ANY, &[ANY])
    }

    /// Restricts the rule to objects with these names.
    #[must_use]
    pub fn named(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(ToString::to_string).collect();
        self
    }

    fn allows(&self, deed: &Deed<'_>) -> bool {
        let meets = |own: &str, other: &str| own == ANY || own == other;
        meets(&self.group, deed.group)
            && meets(&self.resource, deed.resource)
            && meets(&self.namespace, deed.namespace)
            && self.verbs.iter().any(|verb| meets(verb, deed.verb))
            && (self.names.is_empty() || self.names.iter().any(|name| name == deed.name))
    }
}

/// An operation that needs a right. An empty namespace means the whole cluster, and an empty name
/// means no name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deed<'a> {
    pub(super) verb: &'a str,
    pub(super) group: &'a str,
    pub(super) resource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// All users.
#[derive(Debug, Default)]
pub(super) struct Users {
    rules: BTreeMap<String, Vec<Rule>>,
    tokens: BTreeMap<String, String>,
}

impl Users {
    /// Adds a user, or one more token of an existing user, and sets the rules.
    pub(super) fn add(&mut self, name: &str, token: &str, rules: Vec<Rule>) {
        self.tokens.insert(token.to_owned(), name.to_owned());
        self.rules.insert(name.to_owned(), rules);
    }

    /// Makes a token invalid.
    pub(super) fn expire(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    /// Returns the user of an `Authorization` header, or `None` if its token is invalid.
    pub(super) fn named_by(&self, header: Option<&str>) -> Option<String> {
        let Some(header) = header else { return Some(ANONYMOUS.to_owned()) };
        self.tokens.get(header.strip_prefix("Bearer ")?.trim()).cloned()
    }

    pub(super) fn may(&self, user: &str, deed: &Deed<'_>) -> bool {
        let asks_for_itself = deed.group == "authorization.k8s.io" && deed.verb == "create";
        (asks_for_itself && user != ANONYMOUS)
            || self.rules.get(user).into_iter().flatten().any(|rule| rule.allows(deed))
    }
}
