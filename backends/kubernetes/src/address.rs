//! Parses the URLs of this store.

use std::fmt::Write as _;
use std::path::PathBuf;

use elect_api::{Error, ErrorKind, Order};
use elect_remote::Url;

/// The options that a URL may have.
const OPTIONS: &[&str] = &["context", "kubeconfig", "order"];

/// `kubernetes:///NAMESPACE?OPTION=VALUE&...`; parsing it reads no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `None` for the namespace of the context, or of the pod.
    pub(crate) namespace: Option<String>,
    /// `None` for the files that kubectl would read, or for the pod's account.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// `None` for the context that the files name.
    pub(crate) context: Option<String>,
    /// Whether each waiting candidate has a Lease.
    pub(crate) order: Order,
}

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] with a message that names the wrong part.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, rest) = rest.split_at(end);
        if !host.is_empty() {
            return Err(unfit(format!(
                "write three slashes, {scheme}:///NAMESPACE or {scheme}:///NAMESPACE?context=CONTEXT: the \
                 kubeconfig names the server"
            )));
        }
        // Options and escapes are as in any other URL; those have a host.
        let url = Url::parse(&format!("{scheme}://none{rest}"), 443, OPTIONS)?;
        let namespace = url.path.trim_matches('/');
        if !namespace.is_empty() {
            expect_namespace(namespace).map_err(|error| {
                error.and(format!("write {scheme}:///NAMESPACE, and the election with -e NAME"))
            })?;
        }
        let option = |name| url.option(name).filter(|value| !value.is_empty());
        Ok(Self {
            namespace: Some(namespace.to_owned()).filter(|name| !name.is_empty()),
            kubeconfig: option("kubeconfig").map(PathBuf::from),
            context: option("context").map(str::to_owned),
            order: match url.option("order") {
                None | Some("queue") => Order::Queue,
                Some("race") => Order::Race,
                Some(other) => {
                    return Err(unfit(format!("the option order is queue or race, not {other:?}")));
                }
            },
        })
    }

    /// Replaces the leading `~/` of the kubeconfig by the home folder, because no shell expands it in a URL.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the home folder is unknown.
    pub(crate) fn at_home(mut self, home: Option<String>) -> Result<Self, Error> {
        let below = self.kubeconfig.as_ref().and_then(|path| path.strip_prefix("~").ok());
        if let Some(below) = below {
            let home = home.filter(|home| !home.is_empty()).ok_or_else(|| {
                unfit(
                    "the option kubeconfig begins with ~/, and HOME is not set: write the whole path"
                        .to_owned(),
                )
            })?;
            self.kubeconfig = Some(PathBuf::from(home).join(below));
        }
        Ok(self)
    }

    /// Formats the address for people, with the namespace in use.
    pub(crate) fn location(&self, namespace: &str) -> String {
        let order = (self.order == Order::Race).then(|| "order=race".to_owned());
        let context = self.context.as_ref().map(|context| format!("context={}", escaped(context)));
        // The reader may have another working directory.
        let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let kubeconfig = self.kubeconfig.as_ref().map(whole);
        let kubeconfig =
            kubeconfig.map(|path| format!("kubeconfig={}", escaped(&path.display().to_string())));
        let options: Vec<String> = [context, kubeconfig, order].into_iter().flatten().collect();
        let mark = if options.is_empty() { "" } else { "?" };
        format!("{}:///{namespace}{mark}{}", crate::SCHEME, options.join("&"))
    }
}

/// Checks that a namespace can have this name, which becomes a part of paths.
///
/// # Errors
/// [`ErrorKind::Unfit`] if none can.
pub(crate) fn expect_namespace(name: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let has_ends = !name.starts_with('-') && !name.ends_with('-');
    if !name.is_empty() && name.chars().all(is_plain) && has_ends && name.len() <= 63 {
        return Ok(());
    }
    Err(unfit(format!(
        "{name:?} is no namespace: its name has up to 63 lower-case letters, digits and inner hyphens"
    )))
}

/// Escapes a text as the value of an option.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~/:@".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}

fn unfit(what: String) -> Error {
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, String> {
        Address::parse(text).map_err(|error| error.to_string())
    }

    #[test]
    fn missing_parts_of_a_url_come_from_the_context() {
        let bare =
            Address { namespace: None, kubeconfig: None, context: None, order: Order::Queue };
        for text in ["kubernetes:", "k8s://", "kubernetes:///", "kubernetes:///?order=queue"] {
            assert_eq!(parse(text), Ok(bare.clone()), "{text}");
        }
        let all = parse("k8s:///jobs?context=prod&kubeconfig=%2Fetc%2Fkube&order=race");
        let expected = Address {
            namespace: Some("jobs".into()),
            kubeconfig: Some("/etc/kube".into()),
            context: Some("prod".into()),
            order: Order::Race,
        };
        assert_eq!(all, Ok(expected));
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        let at = |text: &str, home: Option<&str>| {
            let address = parse(text).expect("a good URL").at_home(home.map(str::to_owned));
            address.map(|address| address.location("n")).map_err(|error| error.to_string())
        };
        let url = "kubernetes:///?kubeconfig=~/.kube/prod";
        let expected = "kubernetes:///n?kubeconfig=/home/me/.kube/prod";
        assert_eq!(at(url, Some("/home/me")), Ok(expected.to_owned()));
        let said = at(url, None).expect_err("there is no home");
        assert!(said.contains("HOME is not set"), "{said}");
        // A file may have such a name.
        let odd = "kubernetes:///n?kubeconfig=/a/~b";
        assert_eq!(at(odd, None), Ok(odd.to_owned()));
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_reason() {
        for (text, why) in [
            ("kubernetes://prod/jobs", "context=CONTEXT"),
            ("kubernetes://prod", "write three slashes"),
            ("kubernetes:prod", "kubernetes:///NAMESPACE"),
            ("kubernetes:///jobs/nightly", "the election with -e NAME"),
            ("kubernetes:///Jobs", "lower-case"),
            ("kubernetes:///-jobs", "inner hyphens"),
            ("kubernetes:///jobs?order=random", "queue or race"),
            ("kubernetes:///jobs?namespace=x", "it may have context, kubeconfig, order"),
        ] {
            let said = parse(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
