use crate::{Error, Store};

/// A reader that a fuzzer calls: its name, and a function that panics if it breaks a promise.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// What elect knows of a kind of store before it opens one. Each crate of a store has one constant of it.
#[derive(Clone, Copy, Debug)]
pub struct StoreKind {
    /// The name for people, such as `ZooKeeper`.
    pub name: &'static str,
    /// The schemes of its URLs. The first is the usual one; one that ends with `+tls` is for TLS.
    pub schemes: &'static [&'static str],
    /// The beginning of a URL, such as `zk://HOST`.
    pub example: &'static str,
    /// Words that people write where a URL has to be, besides the schemes.
    pub nicknames: &'static [&'static str],
    /// The hint for a scheme or a nickname alone.
    pub lacks: &'static str,
    /// The name and the Markdown of its page in the manual.
    pub manual: (&'static str, &'static str),
    /// Where its credentials come from, if its URLs take no password, as in `credentials come from the kubeconfig`.
    pub credentials: Option<&'static str>,
    /// Whether its elections can label pods.
    pub knows_pods: bool,
    /// Gets ready to use the store at a URL. Nothing is sent yet.
    pub connect: fn(&str) -> Result<Box<dyn Store>, Error>,
    /// The readers to fuzz. Empty unless the crate is built with its feature `fuzzing`.
    pub fuzz_targets: &'static [FuzzTarget],
}

impl StoreKind {
    /// Returns the scheme for TLS, if there is one.
    pub fn tls_scheme(&self) -> Option<&'static str> {
        self.schemes.iter().copied().find(|scheme| scheme.ends_with("+tls"))
    }
}
