//! The label of the pod that elect runs in, by which a Service finds the leader.
//!
//! ```text
//! elect/leader: "true"        only while it leads
//! elect/election: ELECTION    the election that it leads; the name as the Leases have it
//! ```
//!
//! **Writing** sends the whole pod as it was read, with its version. So a late write never undoes a later change. A
//! leader that removes the label of another pod cannot remove it from a pod that leads again by then.
//!
//! The label proves nothing. It follows the leadership as soon as elect can reach the API server.

use std::path::Path;
use std::time::Duration;

use elect_api::{ElectionName, Error, ErrorKind};
use hyper::Method;
use serde_json::Value;
use tokio::time::timeout;

use crate::address::Address;
use crate::client::{Access, Client, Failure};
use crate::error::{Said, strange};
use crate::lease::{ELECTION, within};
use crate::name;

/// The label's key.
const LEADER: &str = "elect/leader";
/// The value of a leader's label.
const TRUE: &str = "true";
/// The time limit for one change, with all its requests.
const LIMIT: Duration = Duration::from_secs(2);
/// The number of attempts for a pod that changes while it is written.
const ATTEMPTS: usize = 4;
/// The file in a pod that has the name of its namespace.
const NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The longest name of a pod.
const LONGEST: usize = 253;

/// The label `elect/leader` of the pod that elect runs in, for one election.
pub struct PodLabel {
    client: Client,
    server: String,
    place: PodName,
    /// The election, as labels spell it.
    election: String,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PodName {
    name: String,
    namespace: String,
}

/// The sources of a pod's name and namespace.
struct Sources<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    /// The name of this machine. In a pod it is the name of the pod.
    host: &'a str,
    /// The namespace of the pod's service account.
    namespace: Option<String>,
    /// The namespace of the store.
    store: String,
}

impl PodLabel {
    /// The longest that a change takes, with all its requests.
    pub const LIMIT: Duration = LIMIT;

    /// Returns the label of the pod that elect runs in, at the API server of the store at this URL. Sends nothing yet.
    ///
    /// The pod's name is `POD_NAME`, or else `host`. Its namespace is `POD_NAMESPACE`, or else the service account's,
    /// or else the store's.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] or [`ErrorKind::Denied`] as [`connect`](crate::connect); `Unfit` if no pod can have
    /// that name, or no label can name the election.
    pub fn of(url: &str, election: &ElectionName, host: &str) -> Result<Self, Error> {
        let env = |name: &str| std::env::var(name).ok();
        let address = Address::parse(url)?.at_home(env("HOME"))?;
        let (kubeconfig, context) = (address.kubeconfig.as_deref(), address.context.as_deref());
        let access = Access::find(kubeconfig, context, env)?;
        let store = address.namespace.or_else(|| access.namespace().map(str::to_owned));
        let namespace = elect_system::path::read(Path::new(NAMESPACE)).ok();
        let place = PodName::find(&Sources {
            env: &env,
            host,
            namespace: namespace.and_then(|bytes| String::from_utf8(bytes).ok()),
            store: store.unwrap_or_else(|| "default".to_owned()),
        })?;
        let election = name::whole_label(election)?;
        let server = access.server();
        Ok(Self { client: Client::new(access), server, place, election })
    }

    /// Returns the name of the pod, for people.
    pub fn pod(&self) -> String {
        let PodName { name, namespace } = &self.place;
        format!("{name} in the namespace {namespace}")
    }

    /// Sets the label.
    ///
    /// # Errors
    /// [`ErrorKind::Ambiguous`] if it may have been set. [`ErrorKind::Unfit`] if there is no such pod, or it has the
    /// label for another election, which stays. Otherwise by the API server's answer.
    ///
    /// # Cancellation
    /// It may be set all the same.
    pub async fn set(&self) -> Result<(), Error> {
        let change = async {
            let there = self.change(|pod| self.with_label(pod)).await?;
            if there { Ok(()) } else { Err(self.nowhere()) }
        };
        self.within(change).await
    }

    /// Removes the label, if the pod has it for this election. A deleted pod has none.
    ///
    /// # Errors
    /// By the API server's answer.
    ///
    /// # Cancellation
    /// It may be removed all the same.
    pub async fn remove(&self) -> Result<(), Error> {
        self.within(async { self.change(|pod| Ok(self.without_label(pod))).await.map(drop) }).await
    }

    /// Removes the label from all other pods of the namespace that have it for this election.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if the API server refuses to list or change the pods. Otherwise by its answer.
    ///
    /// # Cancellation
    /// Some may be changed.
    pub async fn remove_from_others(&self) -> Result<(), Error> {
        self.within(async {
            let query = format!(
                "?labelSelector={}%3D{TRUE}%2C{}%3D{}",
                LEADER.replace('/', "%2F"),
                ELECTION.replace('/', "%2F"),
                self.election
            );
            for _ in 0..ATTEMPTS {
                let list = self.ask("list", Method::GET, &query, None).await?.unwrap_or_default();
                let mut is_done = true;
                for pod in list["items"].as_array().into_iter().flatten() {
                    let other = pod["metadata"]["name"].as_str().unwrap_or_default();
                    if other != self.place.name
                        && let Some(changed) = self.without_label(pod)
                    {
                        is_done &= self.put(other, &changed).await?;
                    }
                }
                if is_done {
                    return Ok(());
                }
            }
            Err(busy("other pods"))
        })
        .await
    }

    /// Changes the pod as `edit` says, if it must change. Returns whether the pod exists.
    async fn change(
        &self,
        edit: impl Fn(&Value) -> Result<Option<Value>, Error>,
    ) -> Result<bool, Error> {
        let name = &self.place.name;
        for _ in 0..ATTEMPTS {
            let Some(pod) = self.ask("get", Method::GET, &format!("/{name}"), None).await? else {
                return Ok(false);
            };
            let Some(changed) = edit(&pod)? else { return Ok(true) };
            if self.put(name, &changed).await? {
                return Ok(true);
            }
        }
        Err(busy(name))
    }

    /// Writes a pod that was read, with a changed label. Returns `false` if the pod has changed meanwhile, or is gone.
    async fn put(&self, name: &str, pod: &Value) -> Result<bool, Error> {
        let written = self.ask("update", Method::PUT, &format!("/{name}"), Some(pod)).await?;
        Ok(written.is_some())
    }

    /// Asks for pods, or writes one. Returns `None` if the pod is missing, or has changed since it was read.
    async fn ask(
        &self,
        verb: &str,
        method: Method,
        rest: &str,
        body: Option<&Value>,
    ) -> Result<Option<Value>, Error> {
        let path = format!("/api/v1/namespaces/{}/pods{rest}", self.place.namespace);
        match self.client.call(method, &path, body, LIMIT).await {
            Ok(answer) => Ok(Some(answer)),
            Err(Failure::Refused { status: 404 | 409, kind, .. }) if kind == "pods" => Ok(None),
            Err(failure) => Err(self.error(verb, failure)),
        }
    }

    fn error(&self, verb: &str, failure: Failure) -> Error {
        let writes = verb == "update";
        let tried = format!("cannot {verb} pods in the namespace {}", self.place.namespace);
        let unknown = if writes { ErrorKind::Ambiguous } else { ErrorKind::Unreachable };
        match failure {
            // The API server knows every leader, so the credentials are only about to be renewed.
            Failure::Unreachable(why) | Failure::Denied(why) => {
                Error::new(ErrorKind::Unreachable, tried).because(why)
            }
            Failure::Unknown(why) => Error::new(unknown, tried).because(why),
            Failure::Strange { status, what } => {
                Error::new(unknown, tried).because(strange(status, what))
            }
            Failure::Refused { status, reason, message, .. } => {
                let said = Said { status, reason: &reason, message: &message };
                let kind = match status {
                    403 => ErrorKind::Denied,
                    401 | 429 => ErrorKind::Unreachable,
                    408 | 500..=599 => unknown,
                    _ => ErrorKind::Unfit,
                };
                let error = Error::new(kind, tried).because(said.to_string());
                if status == 403 {
                    return error.and(format!(
                        "the Role lacks the verb {verb} on pods: see elect help kubernetes-service"
                    ));
                }
                error
            }
        }
    }

    /// Limits the time of a change.
    async fn within<T>(&self, change: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        timeout(LIMIT, change).await.unwrap_or_else(|_| {
            let limit = humantime::format_duration(LIMIT);
            let what = format!("{} did not answer within {limit}", self.server);
            Err(Error::new(ErrorKind::Ambiguous, what))
        })
    }

    fn nowhere(&self) -> Error {
        let what = format!(
            "there is no pod {}: set POD_NAME and POD_NAMESPACE from metadata.name and metadata.namespace",
            self.pod()
        );
        Error::new(ErrorKind::Unfit, what)
    }

    fn with_label(&self, pod: &Value) -> Result<Option<Value>, Error> {
        let labels = &pod["metadata"]["labels"];
        let leads = labels[LEADER] == TRUE;
        match labels[ELECTION].as_str() {
            Some(other) if leads && other != self.election => {
                let what = format!(
                    "the pod {} has the label {LEADER} for the election {other}: give --pod-label to one election \
                     of a pod only",
                    self.pod()
                );
                Err(Error::new(ErrorKind::Unfit, what))
            }
            Some(_) if leads => Ok(None),
            _ => {
                let mut pod = pod.clone();
                *within(&mut pod, &["metadata", "labels", LEADER]) = TRUE.into();
                *within(&mut pod, &["metadata", "labels", ELECTION]) =
                    self.election.as_str().into();
                Ok(Some(pod))
            }
        }
    }

    fn without_label(&self, pod: &Value) -> Option<Value> {
        without_label(pod, &self.election)
    }
}

impl PodName {
    /// Finds the pod that elect runs in.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if no pod can have that name.
    fn find(sources: &Sources<'_>) -> Result<Self, Error> {
        let variable = |name: &str| (sources.env)(name).filter(|value| !value.is_empty());
        let (name, source) = match variable("POD_NAME") {
            Some(name) => (name, "POD_NAME"),
            None => (sources.host.to_owned(), "the host name"),
        };
        let account = sources.namespace.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let namespace = variable("POD_NAMESPACE").or_else(|| account.map(str::to_owned));
        let namespace = namespace.unwrap_or_else(|| sources.store.clone());
        for (text, what) in [(&name, source), (&namespace, "POD_NAMESPACE")] {
            if !is_name(text) {
                let why = format!(
                    "--pod-label: {what} is {text:?}, and no pod can have that name: set POD_NAME and POD_NAMESPACE \
                     from metadata.name and metadata.namespace"
                );
                return Err(Error::new(ErrorKind::Unfit, why));
            }
        }
        Ok(Self { name, namespace })
    }
}

/// Returns a pod without the label, if it has the label for this election.
fn without_label(pod: &Value, election: &str) -> Option<Value> {
    let mut pod = pod.clone();
    let labels = pod.pointer_mut("/metadata/labels")?.as_object_mut()?;
    if labels.get(ELECTION)? != election {
        return None;
    }
    labels.remove(LEADER);
    labels.remove(ELECTION);
    Some(pod)
}

fn busy(what: &str) -> Error {
    let what = format!("others changed {what} each time that we had read it");
    Error::new(ErrorKind::Unreachable, what)
}

/// Returns whether an object of Kubernetes can have this name.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter().all(|end| end.is_some_and(|&byte| is_plain(byte)))
            && bytes.iter().all(|&byte| is_plain(byte) || byte == b'-')
    };
    text.len() <= LONGEST && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(env: &[(&str, &str)], host: &str, namespace: Option<&str>) -> Result<PodName, String> {
        let env = |name: &str| {
            env.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let namespace = namespace.map(str::to_owned);
        let store = "elect".to_owned();
        PodName::find(&Sources { env: &env, host, namespace, store }).map_err(|why| why.to_string())
    }

    fn pod(name: &str, namespace: &str) -> PodName {
        PodName { name: name.to_owned(), namespace: namespace.to_owned() }
    }

    #[test]
    fn a_pod_is_called_as_its_variables_say_or_else_as_its_host() {
        assert_eq!(place(&[], "worker-1", None), Ok(pod("worker-1", "elect")));
        assert_eq!(place(&[], "worker-1", Some("jobs\n")), Ok(pod("worker-1", "jobs")));
        let env = [("POD_NAME", "worker-2.x"), ("POD_NAMESPACE", "web")];
        assert_eq!(place(&env, "HOST", Some("jobs")), Ok(pod("worker-2.x", "web")));
        let empty = [("POD_NAME", ""), ("POD_NAMESPACE", "")];
        assert_eq!(place(&empty, "worker-1", Some("")), Ok(pod("worker-1", "elect")));
    }

    #[test]
    fn a_name_that_no_pod_can_have_is_refused() {
        for (env, host, why) in [
            (&[][..], "My_Host", "the host name is \"My_Host\""),
            (&[("POD_NAME", "a/b")], "worker-1", "POD_NAME is \"a/b\""),
            (&[("POD_NAME", "..")], "worker-1", "POD_NAME is"),
            (&[("POD_NAMESPACE", "a?b")], "worker-1", "POD_NAMESPACE is"),
        ] {
            let said = place(env, host, None).expect_err(host);
            assert!(said.contains(why) && said.contains("metadata.name"), "{said}");
        }
        assert!(place(&[], &"a".repeat(254), None).is_err());
    }

    #[test]
    fn json_that_is_no_pod_has_no_label() {
        for odd in ["7", "null", "[]", r#"{"metadata":"x"}"#, r#"{"metadata":{"labels":[7]}}"#] {
            assert_eq!(
                without_label(&serde_json::from_str(odd).expect("JSON"), "a"),
                None,
                "{odd}"
            );
        }
        let labels = serde_json::json!({LEADER: TRUE, ELECTION: "a", "x": "y"});
        let pod = serde_json::json!({"metadata": {"labels": labels}});
        let expected = serde_json::json!({"metadata": {"labels": {"x": "y"}}});
        assert_eq!(without_label(&pod, "a"), Some(expected));
        assert_eq!(without_label(&pod, "b"), None);
    }

    #[test]
    fn an_election_is_labelled_by_its_whole_name() {
        let label = |name: &str| name::whole_label(&name.parse().expect("a name"));
        assert_eq!(label("DB").expect("a short name"), "x--44x--42");
        assert_eq!(label(&"a".repeat(63)).expect("a short name"), "a".repeat(63));
        let said = label(&"a".repeat(64)).expect_err("a long name").to_string();
        assert!(said.contains("63"), "{said}");
    }
}
