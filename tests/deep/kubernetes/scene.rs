//! A real API server, and one election in which elect and Go programs take part.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use elect_api::Boottime;
use elect_testkit::oracle::{Oracle, Run, Stamper};
use elect_testkit::program::{Elect, Running, eventually};
use elect_testkit::servers::kubernetes::{ApiServer, ClientGo, GoElector, GoSetup, Rule, program};
use nix::sys::signal::Signal;
use serde_json::Value;

const NAMESPACE: &str = "elect";
const JOB: &str = "job";
/// The least that elect takes.
pub(super) const TTL: Duration = Duration::from_secs(6);
/// Of Go programs: as short as elect's lease, with the ratios that client-go has by default.
pub(super) const DEADLINE: Duration = Duration::from_secs(4);
pub(super) const RETRY: Duration = Duration::from_secs(1);

pub(super) struct Scene {
    pub(super) server: ApiServer,
    pub(super) oracle: Oracle,
    seats: PathBuf,
    go: PathBuf,
}

impl Scene {
    pub(super) fn new() -> Self {
        let server = ApiServer::real();
        let all = ["get", "list", "watch", "create", "update", "delete"];
        let seats = server.kubeconfig_of(&[Rule::leases(NAMESPACE, &all)]);
        let go = server.kubeconfig_of(&[Rule::leases(NAMESPACE, &["get", "create", "update"])]);
        Self { server, oracle: Oracle::new(), seats, go }
    }

    /// A subcommand of elect's.
    pub(super) fn elect(&self, subcommand: &str) -> Elect {
        let url = ApiServer::url_with(NAMESPACE, &self.seats);
        Elect::new(env!("CARGO_BIN_EXE_elect")).args([subcommand, "-b", &url])
    }

    /// elect as a candidate of this name, which is its command's, too.
    pub(super) fn elect_candidate(&self, tag: &str, ttl: Duration, command: &Stamper) -> Candidate {
        let ttl = format!("{}ms", ttl.as_millis());
        let run = self.elect("run").args(["-e", JOB, "--id", tag, "--ttl", &ttl, "--"]);
        let running = run.args(command.command()).spawn();
        Candidate { tag: tag.to_owned(), program: Program::Elect(running) }
    }

    /// A Go program as a candidate of this name, which is its command's, too.
    pub(super) fn go_candidate(&self, tag: &str, client: ClientGo, command: &Stamper) -> Candidate {
        let setup = GoSetup {
            client,
            duration: TTL,
            deadline: DEADLINE,
            retry: RETRY,
            ..GoSetup::new(&self.go, NAMESPACE, JOB)
        };
        let program = Program::Go(GoElector::start(&setup, tag, command.command()));
        Candidate { tag: tag.to_owned(), program }
    }

    /// The Lease, if it is there.
    pub(super) fn lease(&self) -> Option<Value> {
        let (status, lease) = self.server.call("GET", &lease_path(), None);
        (status == 200).then_some(lease)
    }

    pub(super) fn delete_lease(&self) {
        let (status, answer) = self.server.call("DELETE", &lease_path(), None);
        assert_eq!(status, 200, "{answer}");
    }

    /// Returns the output of `kubectl get` for the Lease.
    pub(super) fn kubectl_get_lease(&self) -> String {
        let mut kubectl = Command::new(program("kubectl"));
        kubectl.arg("--kubeconfig").arg(&self.seats).args(["-n", NAMESPACE, "get", "lease", JOB]);
        let output = kubectl.output().expect("kubectl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until a candidate that does not lead is known to wait, behind this leader.
    pub(super) fn wait_in_line(&self, candidate: &mut Candidate, leader: &str) {
        match &mut candidate.program {
            Program::Go(go) => {
                let seen = |what: &str| {
                    what.strip_prefix("sees ").is_some_and(|id| id.starts_with(leader))
                };
                eventually("a Go program to see the leader", || {
                    go.events().iter().any(|event| seen(&event.what)).then_some(())
                });
            }
            Program::Elect(_) => {
                let status = self.elect("status").args(["-o", "json", JOB]);
                eventually("elect to wait", || {
                    let report: Value = serde_json::from_str(&status.run().stdout).ok()?;
                    let waiting = report["elections"][0]["waiting"].as_array()?.clone();
                    let is_it = |it: &Value| it.to_string().contains(&candidate.tag);
                    waiting.iter().any(is_it).then_some(())
                });
            }
        }
    }

    /// Waits until its command runs.
    pub(super) fn wait_for_run(&self, candidate: &Candidate) -> Run {
        self.oracle.wait_for_run(&candidate.tag)
    }
}

fn lease_path() -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{JOB}")
}

/// A candidate of any of the programs.
pub(super) struct Candidate {
    pub(super) tag: String,
    pub(super) program: Program,
}

pub(super) enum Program {
    Elect(Running),
    Go(GoElector),
}

/// The way in which a leader ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// It gives the lease up.
    Told,
    /// It is killed; of elect the wrapper only.
    Killed,
    /// It is killed; of elect all but its command.
    AllKilled,
}

impl Candidate {
    pub(super) const fn is_go(&self) -> bool {
        matches!(self.program, Program::Go(_))
    }

    /// Ends it, and returns when that began.
    pub(super) fn end(&mut self, fate: Fate) -> Boottime {
        let began = elect_testkit::oracle::now();
        match (&mut self.program, fate) {
            (Program::Go(go), Fate::Told) => go.process().signal(Signal::SIGTERM),
            (Program::Go(go), _) => go.process().kill(),
            (Program::Elect(elect), Fate::Told) => elect.signal(Signal::SIGTERM),
            (Program::Elect(elect), Fate::Killed) => elect.signal(Signal::SIGKILL),
            (Program::Elect(elect), Fate::AllKilled) => {
                let guardian = elect.guardian();
                for pid in [elect.pid(), guardian] {
                    crate::stage::send_if_alive(pid, Signal::SIGKILL);
                }
            }
        }
        began
    }

    /// Returns when it has ended.
    pub(super) fn wait(self) {
        match self.program {
            Program::Go(mut go) => go.process().wait(),
            Program::Elect(elect) => _ = elect.wait(),
        }
    }
}
