//! Finds the API server and our identity there, as a kubeconfig or a pod gives them.

use std::env::split_paths;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elect_api::{Error, ErrorKind, Finding};
use elect_remote::{Check, Pem, Proxy, is_open};
use hyper::header::{HeaderName, HeaderValue};

use super::credentials::{Login, acts_for, secrets};
use super::files::Files;
use super::kubeconfig::{Kubeconfig, unfit};
use super::server::{Address, Server, Tls, hints, server_of};

/// The folder of a pod's service account.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The API server, and our identity there.
pub(crate) struct Access {
    pub(super) server: Server,
    pub(super) login: Login,
    /// Headers of each request, if we act for another user.
    pub(super) acts_for: Vec<(HeaderName, HeaderValue)>,
    pub(super) namespace: Option<String>,
    pub(super) source: String,
    /// The files with our secrets.
    pub(super) secrets: Vec<PathBuf>,
    /// The place of all of that.
    place: AccessSource,
    origin: Arc<Origin>,
    /// All files that were read for it.
    files: Files,
}

/// The variables of this process.
type Environment = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The places to look in.
pub(super) struct Origin {
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    env: Environment,
    /// The folder of the pod's service account.
    pod: PathBuf,
}

/// The place of an access. It is read there again, even if the current context is another one by then.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AccessSource {
    Pod,
    Context(String),
}

/// Two are equal if their files hold the same: all else is as it was when elect started.
impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Access {
    /// Looks in the file `kubeconfig`, or else in the files of `KUBECONFIG`, in `~/.kube/config`, and in the pod's
    /// service account. `context` counts before the current one.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Denied`] if a file cannot be read, or another user could have written the kubeconfig.
    /// `Unfit` if there is none, or it cannot be used.
    pub(crate) fn find(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::find_with(kubeconfig, context, env, Path::new(FOLDER))
    }

    /// Does the same for a pod with another folder.
    pub(super) fn find_with(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
        pod: &Path,
    ) -> Result<Self, Error> {
        Arc::new(Origin {
            kubeconfig: kubeconfig.map(Path::to_owned),
            context: context.map(str::to_owned),
            env: Box::new(env),
            pod: pod.to_owned(),
        })
        .find(None)
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// As [`Access::find`]; [`ErrorKind::Unfit`] if they lead to another cluster, or cannot be used yet.
    pub(super) fn again(&self) -> Result<Self, Error> {
        let again = self.origin.find(Some(&self.place))?;
        let (was, is) = (self.server(), again.server());
        if was != is {
            let source = &self.source;
            return Err(unfit(format!(
                "{source} leads to {is} by now, and not to {was}: start elect anew to use that cluster"
            )));
        }
        Ok(again)
    }

    /// Returns the namespace of the context, or of the pod.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the server: `https://HOST:PORT[/PATH]`.
    pub(crate) fn server(&self) -> String {
        self.server.address.to_string()
    }

    /// Returns the place where all of that was found.
    pub(crate) fn source(&self) -> String {
        self.source.clone()
    }

    /// Returns findings about settings that are unsafe.
    pub(crate) fn cautions(&self) -> Vec<Finding> {
        let (location, source) = (self.server(), &self.source);
        let blind = self.server.is_blind().then(|| {
            Finding::warning(
                format!("{location} may be anybody: insecure-skip-tls-verify is set in {source}"),
                "name its authority by certificate-authority, and remove insecure-skip-tls-verify",
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
        let proxy = self.server.proxy.as_ref().filter(|proxy| proxy.shows_password());
        let proxy = proxy.map(|proxy| {
            let host = &proxy.host;
            Finding::warning(
                format!("our password for the proxy at {host} goes over the network unencrypted"),
                "begin the URL of the proxy with https://, or take one that wants no password",
            )
        });
        let open = self.secrets.iter().filter(|path| is_open(path)).map(|path| {
            let path = path.display();
            let what = format!("everybody on this machine can read our credentials in {path}");
            Finding::warning(what, format!("chmod o-r {path}"))
        });
        blind.into_iter().chain(clear).chain(proxy).chain(open).collect()
    }
}

impl Origin {
    fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// Lists the kubeconfigs that count, even those that do not exist. Tells too whether the caller or `KUBECONFIG`
    /// named them.
    fn paths(&self) -> (Vec<PathBuf>, bool) {
        match (&self.kubeconfig, self.variable("KUBECONFIG")) {
            (Some(path), _) => (vec![path.clone()], true),
            (None, Some(list)) => {
                let all = split_paths(&list).filter(|path| path.as_os_str() != OsStr::new(""));
                (all.collect(), true)
            }
            (None, None) => {
                let home = self.variable("HOME");
                let home = home.map(|home| Path::new(&home).join(".kube/config"));
                (home.into_iter().collect(), false)
            }
        }
    }

    /// Reads all files, and finds the access: in the same place as before, if there was one.
    fn find(self: &Arc<Self>, before: Option<&AccessSource>) -> Result<Access, Error> {
        let context = match before {
            Some(AccessSource::Pod) => {
                return self.of_pod()?.ok_or_else(|| unfit("this is no pod any more".to_owned()));
            }
            Some(AccessSource::Context(name)) => Some(name.as_str()),
            None => self.context.as_deref(),
        };
        let (paths, is_chosen) = self.paths();
        let mut files = Files::default();
        let found = Kubeconfig::read(&paths, &mut files)?;
        if before.is_some()
            || (found.has_files() && (is_chosen || context.is_some() || !found.is_empty()))
        {
            return self.of(&found, context, files, before.is_none());
        }
        let places: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        let places = places.join(", ");
        if is_chosen {
            let is_option = self.kubeconfig.is_some();
            let what = if is_option { "the option kubeconfig" } else { "KUBECONFIG" };
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
        match (self.of_pod()?, context) {
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
        self: &Arc<Self>,
        found: &Kubeconfig,
        context: Option<&str>,
        mut files: Files,
        is_first: bool,
    ) -> Result<Access, Error> {
        found.expect_something()?;
        let context = found.context(context)?;
        let (cluster, user) = (found.cluster(context)?, found.user(context)?);
        let (server, told) = server_of(cluster, user, &|name| self.variable(name), &mut files)?;
        let login = match user {
            Some(user) => Login::of(user, told, &mut files, is_first)?,
            None => Login::Nobody,
        };
        Ok(Access {
            login,
            acts_for: user.map_or_else(|| Ok(Vec::new()), acts_for)?,
            namespace: context.text("namespace")?,
            source: context.title(),
            secrets: user.map_or_else(|| Ok(Vec::new()), secrets)?,
            server,
            place: AccessSource::Context(context.name().to_owned()),
            origin: Arc::clone(self),
            files,
        })
    }

    /// Returns the access of this pod, or `None` if this is no pod.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] or `Unfit` if its service account cannot be used.
    fn of_pod(self: &Arc<Self>) -> Result<Option<Access>, Error> {
        let (folder, mut files) = (&self.pod, Files::default());
        let variable = |name: &str| self.variable(&format!("KUBERNETES_SERVICE_{name}"));
        let (Some(name), Some(port)) = (variable("HOST"), variable("PORT")) else {
            return Ok(None);
        };
        let host = if name.contains(':') { format!("[{name}]") } else { name };
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
        let login = Login::by_file("the token of the pod", &token, &mut files);
        let authorities = files.pem("the authority of the pod", &folder.join("ca.crt"));
        let pem =
            Pem { authorities: authorities.map_err(mounted)?, identity: None, check: Check::Name };
        let hints = hints("the pod's service account", "a kubeconfig's user");
        let tls = Some(Tls::new(pem, &address.host.name, &hints)?);
        let proxy =
            Proxy::of_environment(&|name| self.variable(name), &address.host, address.is_tls)?;
        let namespace = elect_system::path::read(&folder.join("namespace")).ok();
        let namespace = namespace.and_then(|bytes| String::from_utf8(bytes).ok());
        let namespace = namespace.map(|text| text.trim().to_owned());
        Ok(Some(Access {
            server: Server { address, tls, proxy, hints },
            login: login.map_err(mounted)?,
            acts_for: Vec::new(),
            namespace: namespace.filter(|text| !text.is_empty()),
            source: "the pod's service account".to_owned(),
            secrets: vec![token],
            place: AccessSource::Pod,
            origin: Arc::clone(self),
            files,
        }))
    }
}
