//! Tokens that the API server does not accept any more, and the tokens that replace them. No leader and no waiter ends
//! by that.

use elect_testkit::servers::kubernetes::{Fault, Rule, Scope};

use crate::prelude::*;
use crate::support::side_by_side;

/// The place of a candidate's token.
#[derive(Clone, Copy, Debug)]
enum Kept {
    InAFile,
    InTheKubeconfig,
}

/// The kind of a candidate.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Run,
    Sidecar,
}

/// The part that is replaced first.
#[derive(Clone, Copy, Debug)]
enum First {
    /// The server takes the old token on for a while.
    Token,
    /// The server refuses the old token, and there is no other yet.
    Server,
}

/// An API server, and one user with rights of its own.
struct OneUser {
    server: ApiServer,
    folder: TempDir,
    kept: Kept,
    /// The user's, as the server made it.
    config: PathBuf,
}

impl OneUser {
    fn new(kept: Kept) -> Self {
        let server = ApiServer::start();
        let verbs = ["get", "list", "watch", "create", "update", "delete"];
        let config = server.kubeconfig_of(&[Rule::leases("elect", &verbs)]);
        let stage = Self { server, folder: TempDir::new().expect("a folder"), kept, config };
        stage.write_token();
        let inline = format!("token: {}", stage.server.token(&stage.config));
        let filed = format!("tokenFile: {}", stage.folder.path().join("token").display());
        let text = fs::read_to_string(&stage.config).expect("a kubeconfig");
        let own = stage.folder.path().join("config");
        fs::write(own, text.replace(&inline, &filed)).expect("a file");
        stage
    }

    fn write_token(&self) {
        let token = self.server.token(&self.config);
        fs::write(self.folder.path().join("token"), token).expect("a file");
    }

    fn url(&self) -> String {
        let config = match self.kept {
            Kept::InAFile => self.folder.path().join("config"),
            Kept::InTheKubeconfig => self.config.clone(),
        };
        ApiServer::url_with("elect", &config)
    }

    /// A candidate of this label.
    fn candidate(&self, kind: Kind, label: &str, url: &str) -> Running {
        let elect = |word| {
            let elect = Elect::new(ELECT).args([word, "-b", url, "-e", "job", "--id", label]);
            elect.args(["--ttl", "15s"]).env("D", self.folder.path())
        };
        match kind {
            Kind::Run => elect("run").sh("until [ -e \"$D/end\" ]; do sleep 0.05; done").spawn(),
            Kind::Sidecar => {
                let lease = self.folder.path().join(format!("lease-{label}"));
                elect("sidecar").arg("--lease-file").arg(lease).spawn()
            }
        }
    }

    /// Returns the leader, and the waiters.
    fn status(&self) -> Option<(String, Vec<String>)> {
        let status = Elect::new(ELECT).args(["status", "-b", &self.server.url("elect")]);
        let report: Value =
            serde_json::from_str(&status.args(["-o", "json", "job"]).run().stdout).ok()?;
        let election = report.get("elections")?.get(0)?;
        let id = |entry: &Value| entry["id"].as_str().map(str::to_owned);
        let waiting = election["waiting"].as_array().into_iter().flatten().filter_map(id);
        Some((id(&election["leader"])?, waiting.collect()))
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&str, &[String]) -> bool) {
        eventually(what, || {
            self.status().is_some_and(|(leader, waiting)| is_so(&leader, &waiting)).then_some(())
        });
    }

    /// Returns the number of requests that were refused for unknown credentials.
    fn refusals(&self) -> u64 {
        self.server.counts().answers.get(&401).copied().unwrap_or_default()
    }

    fn wait_for_refusals(&self, count: u64) {
        let most = self.refusals() + count;
        eventually("refused credentials", || (self.refusals() >= most).then_some(()));
    }

    /// Replaces the user's token by another, which is used once the server knows it.
    fn rotate(&self, first: First) {
        let old = self.server.token(&self.config);
        match first {
            First::Token => {
                self.server.renew_token(&self.config);
                self.write_token();
                self.server.expire(&old);
                self.wait_for_refusals(1);
            }
            First::Server => {
                self.server.expire(&old);
                self.wait_for_refusals(3);
                self.server.renew_token(&self.config);
                self.write_token();
            }
        }
    }

    fn end(&self, kind: Kind, mut candidate: Running) {
        match kind {
            Kind::Run => fs::write(self.folder.path().join("end"), "").expect("a file"),
            Kind::Sidecar => candidate.signal(Signal::SIGTERM),
        }
        candidate.wait().exits(0);
    }
}

const ALL: [(Kept, First); 4] = [
    (Kept::InAFile, First::Token),
    (Kept::InAFile, First::Server),
    (Kept::InTheKubeconfig, First::Token),
    (Kept::InTheKubeconfig, First::Server),
];

fn a_waiter_waits_on(kind: Kind) {
    side_by_side(ALL, |(kept, first)| {
        let stage = OneUser::new(kept);
        let leader = stage.candidate(Kind::Sidecar, "a", &stage.server.url("elect"));
        stage.wait_until("a leader", |leader, _| leader.starts_with("a-"));
        let mut waiter = stage.candidate(kind, "b", &stage.url());
        stage.wait_until("a waiter", |_, waiting| waiting.iter().any(|id| id.starts_with("b-")));
        stage.rotate(first);
        assert!(waiter.is_running(), "{}", waiter.wait().stderr);
        leader.ended_by(Signal::SIGTERM).exits(0);
        stage.wait_until("the next leader", |leader, _| leader.starts_with("b-"));
        stage.end(kind, waiter);
    });
}

fn a_leader_leads_on(kind: Kind) {
    side_by_side(ALL, |(kept, first)| {
        let stage = OneUser::new(kept);
        let mut leader = stage.candidate(kind, "a", &stage.url());
        stage.wait_until("a leader", |leader, _| leader.starts_with("a-"));
        let before = stage.status().expect("a leader").0;
        stage.rotate(first);
        // A refused request changes nothing.
        let renewals = stage.server.counts().changes;
        eventually("renewals", || (stage.server.counts().changes >= renewals + 3).then_some(()));
        assert!(leader.is_running(), "{}", leader.wait().stderr);
        assert_eq!(stage.status().expect("a leader").0, before);
        stage.end(kind, leader);
    });
}

#[test]
fn a_waiting_run_outlasts_refused_credentials() {
    a_waiter_waits_on(Kind::Run);
}

#[test]
fn a_waiting_sidecar_outlasts_refused_credentials() {
    a_waiter_waits_on(Kind::Sidecar);
}

#[test]
fn a_leading_run_outlasts_refused_credentials() {
    a_leader_leads_on(Kind::Run);
}

#[test]
fn a_leading_sidecar_outlasts_refused_credentials() {
    a_leader_leads_on(Kind::Sidecar);
}

/// Of the requests of a waiter some come late: it is known by then all the same.
#[test]
fn one_refusal_of_a_new_request_ends_no_waiter() {
    side_by_side([Kind::Run, Kind::Sidecar], |kind| {
        let stage = OneUser::new(Kept::InAFile);
        let leader = stage.candidate(Kind::Sidecar, "a", &stage.server.url("elect"));
        stage.wait_until("a leader", |leader, _| leader.starts_with("a-"));
        let scope = Scope::verbs(&["get"]).of("leases").times(1);
        stage.server.fault(Fault::Fail { scope, status: 401, done: false });
        let waiter = stage.candidate(kind, "b", &stage.url());
        stage.wait_for_refusals(1);
        leader.ended_by(Signal::SIGTERM).exits(0);
        stage.wait_until("the next leader", |leader, _| leader.starts_with("b-"));
        stage.end(kind, waiter);
    });
}

/// No candidate has been accepted before, so a refusal cannot be a passing one: a slip is told at once.
#[test]
fn refused_credentials_are_final_at_the_start() {
    let stage = OneUser::new(Kept::InAFile);
    stage.server.expire_token(&stage.config);
    for kind in [Kind::Run, Kind::Sidecar] {
        let said = stage.candidate(kind, "a", &stage.url()).wait().exits(125);
        said.says("401 Unauthorized").says("it does not take the credentials of the context");
    }
}
