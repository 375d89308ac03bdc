//! The service account of a pod that we are in.

use std::path::Path;

use elect_api::{Error, ErrorKind};

use super::access::{Access, Address, Server};
use super::credentials::{Login, TokenFile};
use super::held::Held;
use super::proxy::Proxy;
use super::tls::Tls;

/// Where a pod has it.
pub(super) const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The access of this pod; `None` if this is no pod.
///
/// # Errors
/// [`ErrorKind::Denied`] or `Unfit` if it has no service account that we may use.
pub(super) fn access(
    env: &dyn Fn(&str) -> Option<String>,
    folder: &Path,
) -> Result<Option<Access>, Error> {
    let variable = |name: &str| env(&format!("KUBERNETES_SERVICE_{name}"));
    let (Some(name), Some(port)) = (variable("HOST"), variable("PORT")) else { return Ok(None) };
    let host = if name.contains(':') { format!("[{name}]") } else { name };
    let source = "the pod's service account";
    let url = format!("https://{host}:{port}");
    let address = Address::parse(&url, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT")?;
    let mounted = |error: Error| {
        if error.kind() == ErrorKind::Denied {
            return error;
        }
        error.and(
            "set automountServiceAccountToken: true in the pod, or add kubeconfig=PATH to the URL",
        )
    };
    let token = folder.join("token");
    let login = TokenFile::new("the token of the pod", token.clone(), None).map_err(mounted)?;
    let authority =
        Held::file("the authority of the pod", folder.join("ca.crt")).map_err(mounted)?;
    let namespace = elect_api::path::read(&folder.join("namespace")).ok();
    let namespace = namespace.and_then(|bytes| String::from_utf8(bytes).ok());
    let namespace = namespace.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let tls = Tls::new(Some(authority), None, None, false);
    let proxy = Proxy::of_environment(env, &address)?;
    Ok(Some(Access {
        server: Server { address, tls: Some(tls), proxy },
        login: Login::File(login),
        acts_for: Vec::new(),
        namespace,
        source: source.to_owned(),
        secrets: vec![token],
    }))
}
