//! A real API server with RBAC needs an etcd, certificates, and a webhook that knows its users. They are here.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::super::{Authority, Etcd, Place};
use super::access::{ANY, Rule};
use super::client::{Ask, parse};
use super::doorkeeper::Doorkeeper;
use super::faults::Counts;
use super::programs::program;
use crate::program::eventually;

/// The token of a user with all rights.
const TOKEN: &str = "real-admin-token";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The servers and files beside a real API server.
#[derive(Debug)]
pub(super) struct Real {
    pub(super) etcd: Etcd,
    place: Place,
    address: SocketAddr,
    doorkeeper: Doorkeeper,
    authority: Authority,
    files: Files,
}

impl Real {
    /// Prepares an API server that will listen at this address, with its files in this folder.
    pub(super) fn start(place: &Place, address: SocketAddr, folder: &Path) -> Self {
        let etcd = Etcd::start_at(1, place);
        let (doorkeeper, authority) = (Doorkeeper::start(place), Authority::new());
        let files = Files::write(folder, &authority, &doorkeeper, address);
        Self { etcd, place: place.clone(), address, doorkeeper, authority, files }
    }

    /// Returns the program and its arguments.
    pub(super) fn command(&self) -> Vec<String> {
        let mut words = vec![program("kube-apiserver").display().to_string()];
        words.extend(self.files.flags(self.etcd.endpoints()[0], self.address));
        words
    }

    /// Returns whether the server is ready.
    pub(super) fn serves(&self) -> bool {
        let ready = self.ask(&Ask { path: "/readyz", token: Some(TOKEN), ..Ask::default() });
        ready.is_ok_and(|(status, _)| status == 200)
    }

    /// Returns the counts from the server's own metrics.
    pub(super) fn counts(&self) -> Counts {
        let ask = Ask { path: "/metrics", token: Some(TOKEN), ..Ask::default() };
        let (_, page) = self.ask(&ask).expect("metrics");
        let mut counts = Counts::default();
        for line in page.as_str().expect("a text").lines() {
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else { continue };
            let Some((labels, count)) = rest.split_once("} ") else { continue };
            let label = |name: &str| {
                labels.split(',').find_map(|label| {
                    label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"')
                })
            };
            let (Some(verb), Some(resource), Some(code)) =
                (label("verb"), label("resource"), label("code"))
            else {
                continue;
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let count = count.trim().parse::<f64>().unwrap_or_default() as u64;
            *counts.requests.entry(format!("{} {resource}", own_verb(verb))).or_default() += count;
            *counts.answers.entry(code.parse().unwrap_or_default()).or_default() += count;
        }
        counts
    }

    /// Returns the path of the certificate that its clients trust.
    pub(super) fn ca(&self) -> PathBuf {
        self.authority.ca()
    }

    /// Sends a request with curl, which speaks TLS.
    pub(super) fn ask(&self, what: &Ask<'_>) -> io::Result<(u16, Value)> {
        let mut words = self.place.enter();
        words.push("curl".to_owned());
        let mut curl = Command::new(&words[0]);
        curl.args(&words[1..]).args(["-sS", "-i", "--raw", "--http1.1", "-X", what.method]);
        curl.arg("--cacert").arg(self.ca());
        curl.args(["--max-time", &what.patience.as_secs().max(1).to_string()]);
        if !what.body.is_empty() {
            curl.args(["--data-binary", "@-"]);
        }
        // The server would indent its answers for curl's own user agent.
        curl.args(["-H", "User-Agent: test", "-H", "Expect:"]);
        for header in what.headers() {
            curl.args(["-H", &header]);
        }
        curl.arg(format!("https://{}{}", self.address, what.path));
        curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut curl = curl.spawn()?;
        let sent = curl.stdin.take().expect("a pipe").write_all(what.body);
        let output = curl.wait_with_output()?;
        if output.stdout.is_empty() {
            sent?;
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        parse(&output.stdout)
    }

    /// Sends a request as a user with all rights, and asserts that the status is one of `good`.
    #[track_caller]
    fn demand(&self, method: &str, path: &str, body: &Value, good: &[u16]) -> (u16, Value) {
        let body = body.to_string().into_bytes();
        let ask = Ask { method, path, token: Some(TOKEN), body: &body, ..Ask::default() };
        let answer = self.ask(&ask).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert!(good.contains(&answer.0), "{method} {path}: {answer:?}");
        answer
    }

    /// Creates an object, or replaces the one with this name.
    fn put(&self, folder: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().expect("a name");
        if self.demand("POST", folder, object, &[201, 409]).0 == 409 {
            self.demand("PUT", &format!("{folder}/{name}"), object, &[200]);
        }
    }

    pub(super) fn add_namespace(&self, name: &str) {
        let namespace = json!({"metadata": {"name": name}});
        self.demand("POST", "/api/v1/namespaces", &namespace, &[201, 409]);
    }

    /// Adds a user with this token, and a Role in each namespace of its rules.
    pub(super) fn add_user(&self, name: &str, token: &str, rules: &[Rule]) {
        self.doorkeeper.admit(name, token);
        let mut by_namespace: BTreeMap<&str, Vec<&Rule>> = BTreeMap::new();
        for rule in rules {
            by_namespace.entry(&rule.namespace).or_default().push(rule);
        }
        for (namespace, rules) in by_namespace {
            let (kind, folder) = if namespace == ANY {
                ("ClusterRole", RBAC.to_owned())
            } else {
                self.add_namespace(namespace);
                ("Role", format!("{RBAC}/namespaces/{namespace}"))
            };
            let resource = kind.to_ascii_lowercase();
            let own: Vec<Value> = rules.iter().map(|rule| role_rule(rule)).collect();
            let metadata = json!({"name": name});
            self.put(
                &format!("{folder}/{resource}s"),
                &json!({"metadata": metadata, "rules": own}),
            );
            let group = "rbac.authorization.k8s.io";
            let binding = json!({
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": kind, "name": name},
                "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
            });
            self.put(&format!("{folder}/{resource}bindings"), &binding);
            for rule in rules {
                self.wait_for_right(name, rule);
            }
        }
    }

    /// Waits until the server applies this rule: it learns of new Roles with a delay.
    fn wait_for_right(&self, user: &str, rule: &Rule) {
        let name = rule.names.first().map_or("", String::as_str);
        let wish = json!({
            "group": rule.group, "resource": rule.resource, "verb": rule.verbs.last(), "name": name,
            "namespace": if rule.namespace == ANY { "default" } else { &rule.namespace },
        });
        let review = json!({"spec": {"user": user, "resourceAttributes": wish}});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        eventually("a Role to hold", || {
            let (_, review) = self.demand("POST", path, &review, &[201]);
            (review["status"]["allowed"] == true).then_some(())
        });
    }

    /// Makes a token invalid, and returns once the server refuses it. The server remembers valid tokens for ten
    /// seconds.
    pub(super) fn expire_token(&self, token: &str) {
        self.doorkeeper.dismiss(token);
        eventually("a token to expire", || {
            let answer = self.ask(&Ask { path: "/api", token: Some(token), ..Ask::default() });
            (answer.ok()?.0 == 401).then_some(())
        });
    }
}

/// Returns the verb in rules for a verb in metrics.
const fn own_verb(verb: &str) -> &str {
    match verb.as_bytes() {
        b"GET" => "get",
        b"LIST" => "list",
        b"WATCH" => "watch",
        b"POST" => "create",
        b"PUT" => "update",
        b"PATCH" => "patch",
        b"DELETE" => "delete",
        _ => verb,
    }
}

fn role_rule(rule: &Rule) -> Value {
    let mut own = json!({
        "apiGroups": [rule.group], "resources": [rule.resource], "verbs": rule.verbs,
    });
    if !rule.names.is_empty() {
        own["resourceNames"] = json!(rule.names);
    }
    own
}

/// The files that the API server reads.
#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    ca: PathBuf,
    tokens: PathBuf,
    webhook: PathBuf,
}

impl Files {
    fn write(
        folder: &Path,
        authority: &Authority,
        keeper: &Doorkeeper,
        address: SocketAddr,
    ) -> Self {
        let pem = authority.server(&[&address.ip().to_string()]);
        let (tokens, webhook) = (folder.join("tokens.csv"), folder.join("webhook.json"));
        fs::write(&tokens, format!("{TOKEN},real-admin,real-admin,system:masters\n"))
            .expect("a file");
        fs::write(&webhook, keeper.kubeconfig().to_string()).expect("a file");
        Self { certificate: pem.cert, key: pem.key, ca: authority.ca(), tokens, webhook }
    }

    fn flags(&self, etcd: SocketAddr, address: SocketAddr) -> Vec<String> {
        let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
        [
            format!("--etcd-servers=http://{etcd}"),
            format!("--bind-address={}", address.ip()),
            format!("--advertise-address={}", address.ip()),
            format!("--secure-port={}", address.port()),
            file("tls-cert-file", &self.certificate),
            file("tls-private-key-file", &self.key),
            file("client-ca-file", &self.ca),
            file("token-auth-file", &self.tokens),
            file("authentication-token-webhook-config-file", &self.webhook),
            "--authentication-token-webhook-version=v1".to_owned(),
            "--authentication-token-webhook-cache-ttl=0s".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            // The key of a certificate also serves for tokens.
            file("service-account-key-file", &self.certificate),
            file("service-account-signing-key-file", &self.key),
            "--service-account-issuer=https://elect.test".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            // No controller creates service accounts for pods, or endpoints.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
        ]
        .into()
    }
}
