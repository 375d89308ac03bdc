//! Where the API server is and who we are there, as a kubeconfig or a pod says it.

use std::env::split_paths;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use elect_api::remote::is_open;
use elect_api::{Error, ErrorKind, Finding};
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::address::Address;
use super::base64;
use super::credentials::{Login, TokenFile};
use super::held::Held;
use super::kubeconfig::{Entry, Kubeconfig, unfit};
use super::proxy::Proxy;
use super::tls::Tls;

/// Where a pod has its service account.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Where the API server is and who we are there, as found.
pub(crate) struct Access {
    pub(super) server: Server,
    pub(super) login: Login,
    /// Whom we act for, if that is another: headers of each request.
    pub(super) acts_for: Vec<(HeaderName, HeaderValue)>,
    pub(super) namespace: Option<String>,
    pub(super) source: String,
    /// The files that have our secrets.
    pub(super) secrets: Vec<PathBuf>,
}

/// An API server, and the way to it.
pub(super) struct Server {
    pub(super) address: Address,
    /// `None` if it speaks HTTP in clear.
    pub(super) tls: Option<Tls>,
    pub(super) proxy: Option<Proxy>,
}

impl Access {
    /// Looks for it: in the file `kubeconfig`, or else in the files of `KUBECONFIG`, in `~/.kube/config`, and in what
    /// a pod has for its service account. `context` counts before the current one.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Denied`] if a file may not be read; `Unfit` if nothing is found, or what is found cannot be used.
    pub(crate) fn find(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        Self::find_with(kubeconfig, context, &env, Path::new(FOLDER))
    }

    /// The same, for a pod that has its service account in another folder.
    pub(super) fn find_with(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
        pod: &Path,
    ) -> Result<Self, Error> {
        let variable = |name: &str| env(name).filter(|value| !value.is_empty());
        let listed = variable("KUBECONFIG");
        let home = variable("HOME").map(|home| Path::new(&home).join(".kube/config"));
        let paths: Vec<PathBuf> = match (kubeconfig, &listed) {
            (Some(path), _) => vec![path.to_owned()],
            (None, Some(list)) => {
                split_paths(list).filter(|path| path.as_os_str() != OsStr::new("")).collect()
            }
            (None, None) => home.into_iter().collect(),
        };
        let found = Kubeconfig::read(&paths)?;
        let is_chosen = kubeconfig.is_some() || listed.is_some();
        if found.has_files() && (is_chosen || context.is_some() || !found.is_empty()) {
            return Self::of(&found, context, &variable);
        }
        let places: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        let places = places.join(", ");
        if is_chosen {
            let what = if kubeconfig.is_some() { "the option kubeconfig" } else { "KUBECONFIG" };
            return Err(unfit(match places.as_str() {
                "" => format!("{what} names no file: write its path, or unset it"),
                _ => format!("{what} names {places}, and no such file exists"),
            }));
        }
        let home = match (places.as_str(), found.has_files()) {
            ("", _) => "HOME is not set".to_owned(),
            (places, true) => format!("{places} is empty"),
            (places, false) => format!("{places} is not there"),
        };
        match (Self::of_pod(&variable, pod)?, context) {
            (Some(access), None) => Ok(access),
            (_, Some(context)) => Err(unfit(format!(
                "there is no context {context:?}: there is no kubeconfig, as KUBECONFIG is not set and {home}"
            ))),
            (None, None) => Err(unfit(format!(
                "there is no way to an API server: KUBECONFIG is not set, {home}, and this is no pod; \
                 add kubeconfig=PATH to the URL"
            ))),
        }
    }

    fn of(
        found: &Kubeconfig,
        context: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        found.expect_something()?;
        let context = found.context(context)?;
        let (cluster, user) = (found.cluster(context)?, found.user(context)?);
        let (server, told) = server_of(cluster, user, env)?;
        Ok(Self {
            login: user.map_or(Ok(Login::Nobody), |user| Login::of(user, told))?,
            acts_for: user.map_or_else(|| Ok(Vec::new()), acts_for)?,
            namespace: context.text("namespace")?,
            source: context.title(),
            secrets: user.map_or_else(|| Ok(Vec::new()), secrets)?,
            server,
        })
    }

    /// The access of this pod; `None` if this is no pod.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] or `Unfit` if it has no service account that we may use.
    fn of_pod(env: &dyn Fn(&str) -> Option<String>, folder: &Path) -> Result<Option<Self>, Error> {
        let variable = |name: &str| env(&format!("KUBERNETES_SERVICE_{name}"));
        let (Some(name), Some(port)) = (variable("HOST"), variable("PORT")) else {
            return Ok(None);
        };
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
        let namespace =
            namespace.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let tls = Tls::new(Some(authority), None, None, false);
        let proxy = Proxy::of_environment(env, &address)?;
        Ok(Some(Self {
            server: Server { address, tls: Some(tls), proxy },
            login: Login::File(login),
            acts_for: Vec::new(),
            namespace,
            source: source.to_owned(),
            secrets: vec![token],
        }))
    }

    /// The namespace of the context, or of the pod.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Where the server is: `https://HOST:PORT[/PATH]`.
    pub(crate) fn server(&self) -> String {
        self.server.address.to_string()
    }

    /// Where all of that was found.
    pub(crate) fn source(&self) -> String {
        self.source.clone()
    }

    /// What is unsafe about it.
    pub(crate) fn cautions(&self) -> Vec<Finding> {
        let (location, source) = (self.server(), &self.source);
        let blind = self.server.tls.as_ref().is_some_and(Tls::is_blind).then(|| {
            Finding::warning(
                format!("{location} may be anybody: insecure-skip-tls-verify is set in {source}"),
                "name who vouches for it by certificate-authority, and remove insecure-skip-tls-verify",
            )
        });
        let Address { host, is_tls, .. } = &self.server.address;
        let is_clear = !is_tls && !host.is_loopback();
        let clear = is_clear.then(|| {
            Finding::warning(
                format!("all that is sent to {location} goes over the network unencrypted"),
                format!("have the server of {source} begin with https://"),
            )
        });
        let open = self.secrets.iter().filter(|path| is_open(path)).map(|path| {
            let path = path.display();
            let what = format!("everybody on this machine can read our credentials in {path}");
            Finding::warning(what, format!("chmod o-r {path}"))
        });
        blind.into_iter().chain(clear).chain(open).collect()
    }
}

/// The server of a cluster, and what a plugin is told of it.
fn server_of(
    cluster: &Entry,
    user: Option<&Entry>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(Server, Value), Error> {
    let url = cluster.text("server")?.ok_or_else(|| cluster.wrong("has no server"))?;
    let address = Address::parse(&url, &cluster.title())?;
    let is_blind = cluster.flag("insecure-skip-tls-verify")?;
    let name = cluster.text("tls-server-name")?;
    let proxy_url = cluster.text("proxy-url")?;
    let authority = cluster.held("certificate-authority")?;
    if is_blind && authority.is_some() {
        let why = "has a certificate-authority and insecure-skip-tls-verify: remove one of them";
        return Err(cluster.wrong(why));
    }
    let written = authority.as_ref().map(|held| Value::String(base64(&held.last())));
    let mut told = Map::from_iter([("server".to_owned(), Value::String(url))]);
    let mut tell = |key: &str, value: Option<Value>| {
        told.extend(value.map(|value| (key.to_owned(), value)));
    };
    tell("tls-server-name", name.clone().map(Value::String));
    tell("insecure-skip-tls-verify", is_blind.then_some(Value::Bool(true)));
    tell("proxy-url", proxy_url.clone().map(Value::String));
    tell("certificate-authority-data", written);
    tell("config", extension(cluster));
    let proxy = match proxy_url {
        Some(url) => Some(Proxy::parse(&url, &format!("the proxy-url of {}", cluster.title()))?),
        None => Proxy::of_environment(env, &address)?,
    };
    let identity = match user {
        Some(user) => match (user.held("client-certificate")?, user.held("client-key")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(user.wrong("needs both client-certificate and client-key")),
        },
        None => None,
    };
    let tls = address.is_tls.then(|| Tls::new(authority, identity, name, is_blind));
    Ok((Server { address, tls, proxy }, Value::Object(told)))
}

/// What the cluster has for plugins.
fn extension(cluster: &Entry) -> Option<Value> {
    let extensions = cluster.value("extensions").as_array()?;
    let ours = json!("client.authentication.k8s.io/exec");
    let found = extensions.iter().find(|extension| extension.get("name") == Some(&ours))?;
    found.get("extension").cloned()
}

/// The headers by which a user acts for another.
fn acts_for(user: &Entry) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str, key: &str| {
        let odd = || user.wrong(&format!("has a {key} that no header may have"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| odd())?;
        headers.push((name, HeaderValue::from_str(value).map_err(|_| odd())?));
        Ok::<(), Error>(())
    };
    let name = user.text("as")?;
    if let Some(name) = &name {
        add("impersonate-user", name, "as")?;
    }
    if let Some(uid) = user.text("as-uid")? {
        add("impersonate-uid", &uid, "as-uid")?;
    }
    for group in user.texts("as-groups")? {
        add("impersonate-group", &group, "as-groups")?;
    }
    if let Some(extra) = user.part("as-user-extra") {
        for key in extra.keys() {
            for value in extra.texts(&key)? {
                add(&format!("impersonate-extra-{}", escape(&key)), &value, "as-user-extra")?;
            }
        }
    }
    if name.is_none() && !headers.is_empty() {
        return Err(user.wrong("has as-uid, as-groups or as-user-extra, which require as"));
    }
    Ok(headers)
}

/// A name as a part of a header's name, as client-go writes it.
fn escape(key: &str) -> String {
    let mut escaped = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            escaped.push(byte.into());
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// The files that have secrets of a user.
fn secrets(user: &Entry) -> Result<Vec<PathBuf>, Error> {
    let written_out = ["token", "password", "client-key-data"];
    let is_here = written_out.iter().any(|key| !user.value(key).is_null());
    let files = [user.path("tokenFile")?, user.path("client-key")?];
    Ok(is_here
        .then(|| user.file().to_owned())
        .into_iter()
        .chain(files.into_iter().flatten())
        .collect())
}
