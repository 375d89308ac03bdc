//! Who may do what: users by their tokens, and their rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Stands for everything in a [`Rule`].
pub const ANY: &str = "*";
/// Who comes without credentials.
pub(super) const ANONYMOUS: &str = "system:anonymous";

/// One rule of a Role, bound to one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The API group: `coordination.k8s.io`, the empty one, or [`ANY`].
    pub group: String,
    /// The resource in the plural: `leases`, `pods`, or [`ANY`].
    pub resource: String,
    /// The names that it is about; all, if there are none.
    pub names: Vec<String>,
    /// The verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, or [`ANY`].
    pub verbs: Vec<String>,
    /// The namespace, or [`ANY`].
    pub namespace: String,
}

impl Rule {
    /// These verbs on a resource of a namespace.
    pub fn new(group: &str, resource: &str, namespace: &str, verbs: &[&str]) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            names: Vec::new(),
            verbs: verbs.iter().map(ToString::to_string).collect(),
            namespace: namespace.to_owned(),
        }
    }

    /// These verbs on Leases of a namespace.
    pub fn leases(namespace: &str, verbs: &[&str]) -> Self {
        Self::new("coordination.k8s.io", "leases", namespace, verbs)
    }

    /// Everything, everywhere.
    pub fn everything() -> Self {
        Self::new(ANY, ANY, ANY, &[ANY])
    }

    /// With these names only.
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

/// What somebody wants to do. An empty namespace is the whole cluster, an empty name is no name.
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
    /// Makes a user, or gives one more token to a user that there is.
    pub(super) fn add(&mut self, name: &str, token: &str, rules: Vec<Rule>) {
        self.tokens.insert(token.to_owned(), name.to_owned());
        self.rules.insert(name.to_owned(), rules);
    }

    /// From now on nobody knows this token.
    pub(super) fn expire(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    /// The user with the credentials of an `Authorization` header; `None` if they are worth nothing.
    pub(super) fn named_by(&self, header: Option<&str>) -> Option<String> {
        let Some(header) = header else { return Some(ANONYMOUS.to_owned()) };
        self.tokens.get(header.strip_prefix("Bearer ")?.trim()).cloned()
    }

    pub(super) fn rules_of(&self, user: &str) -> &[Rule] {
        self.rules.get(user).map_or(&[], Vec::as_slice)
    }

    pub(super) fn may(&self, user: &str, deed: &Deed<'_>) -> bool {
        let asks_for_itself = deed.group == "authorization.k8s.io" && deed.verb == "create";
        (asks_for_itself && user != ANONYMOUS)
            || self.rules_of(user).iter().any(|rule| rule.allows(deed))
    }
}
