//! Faults that only an API server has: credentials that end, Leases that a person deletes, waiters.

use elect_testkit::fault::Outcome;
use elect_testkit::oracle::Flag;
use elect_testkit::servers::kubernetes::Rule;

use super::duel::{elect, wait_in_line};
use super::witness::Witness;
use super::{Brand, KUBERNETES, report};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(15);
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";
/// The verbs of the manual's Role for candidates that queue.
const VERBS: [&str; 6] = ["get", "list", "watch", "create", "update", "delete"];

/// A leads with credentials of its own, and B waits.
struct Scene {
    server: ApiServer,
    oracle: Oracle,
    end: Flag,
    /// A's, as the server made it.
    kubeconfig: PathBuf,
    /// The file from which A reads its token.
    token: PathBuf,
    a: Running,
    b: Running,
    far: String,
    _folder: TempDir,
}

impl Scene {
    fn start() -> Self {
        let (server, oracle) = (ApiServer::start(), Oracle::new());
        let folder = TempDir::new().expect("a folder");
        let kubeconfig = server.kubeconfig_of(&[Rule::leases("elect", &VERBS)]);
        let token = folder.path().join("token");
        fs::write(&token, server.token(&kubeconfig)).expect("a file");
        let text = fs::read_to_string(&kubeconfig).expect("a kubeconfig");
        let text = text.replace(
            &format!("token: {}", server.token(&kubeconfig)),
            &format!("tokenFile: {}", token.display()),
        );
        let own = folder.path().join("kubeconfig");
        fs::write(&own, text).expect("a file");
        let (near, far) = (ApiServer::url_with("elect", &own), server.url("elect"));
        let end = oracle.flag("end");
        let tree = oracle.stamper("A").children(2).depth(2).deaf().until(&end);
        let a = elect(&near, "A", TTL, None).arg("--").args(tree.command()).spawn();
        oracle.wait_for_run("A");
        let next = oracle.stamper("B").lasting(Duration::from_millis(50));
        let b = elect(&far, "B", TTL, None).arg("--").args(next.command()).spawn();
        wait_in_line(&far, "B-", None);
        Self { server, oracle, end, kubeconfig, token, a, b, far, _folder: folder }
    }
}

/// Returns the number of requests whose credentials were refused.
fn refusals(server: &ApiServer) -> u64 {
    server.counts().answers.get(&401).copied().unwrap_or_default()
}

#[test]
fn a_token_that_expires_and_is_renewed_in_its_file_is_no_loss() {
    let scene = Scene::start();
    scene.server.expire_token(&scene.kubeconfig);
    eventually("refused credentials", || (refusals(&scene.server) > 0).then_some(()));
    scene.server.renew_token(&scene.kubeconfig);
    fs::write(&scene.token, scene.server.token(&scene.kubeconfig)).expect("a file");
    scene.oracle.wait_for_stamps("A", TTL + Duration::from_secs(1));
    assert!(scene.oracle.newest("B").is_none(), "B runs beside A");
    scene.end.raise();
    scene.a.wait().exits(0);
    scene.b.wait().exits(0);
    scene.oracle.assert_sound();
}

#[test]
fn a_leader_whose_token_expires_for_good_is_dead_in_time() {
    let scene = Scene::start();
    let witness = Witness::of(&far_url(&scene), "A-", |watch| watch());
    witness.wait_for_entry();
    scene.server.expire_token(&scene.kubeconfig);
    scene.b.wait().exits(0);
    scene.oracle.assert_sound();
    let [old, next] = ["A", "B"].map(|tag| scene.oracle.newest(tag).expect("it ran"));
    let alive = witness.wait_for_end().prove_dead_in_time(&old);
    let outcome =
        Outcome { last: old.last, lease_end: Some(alive), next: Some(next.first), kept: None };
    report("37 token of the leader expired", KUBERNETES, &outcome);
    scene.a.wait().exits(124).says("401");
}

/// As the witness knows servers.
fn far_url(scene: &Scene) -> String {
    Brand::Kubernetes.url(&[scene.server.address()])
}

/// The names of all Leases.
fn leases(server: &ApiServer) -> Vec<String> {
    let (_, list) = server.call("GET", LEASES, None);
    let name = |lease: &Value| lease["metadata"]["name"].as_str().map(str::to_owned);
    list["items"].as_array().into_iter().flatten().filter_map(name).collect()
}

/// As `kubectl delete lease` does it.
fn delete(server: &ApiServer, name: &str) {
    let (status, said) = server.call("DELETE", &format!("{LEASES}/{name}"), None);
    assert_eq!(status, 200, "{said}");
}

#[test]
fn the_next_leads_once_the_leaders_lease_was_deleted() {
    let scene = Scene::start();
    delete(&scene.server, "job");
    scene.a.wait().exits(124);
    scene.b.wait().exits(0);
    let [old, next] = ["A", "B"].map(|tag| scene.oracle.newest(tag).expect("it ran"));
    println!("A's tree was dead {:?} before B's began", next.first.since(old.last));
    assert!(!old.is_alive(), "{old}");
}

/// It has no place any more, and comes again.
#[test]
fn a_waiter_whose_lease_was_deleted_waits_on() {
    let scene = Scene::start();
    let all = leases(&scene.server);
    for name in all.iter().filter(|name| name.starts_with("job.") && *name != "job.data") {
        delete(&scene.server, name);
    }
    wait_in_line(&scene.far, "B-", None);
    scene.end.raise();
    scene.a.wait().exits(0);
    scene.b.wait().exits(0);
    scene.oracle.assert_sound();
}

#[test]
fn waiters_keep_their_place_when_the_api_server_is_started_again() {
    let mut scene = Scene::start();
    let brief = scene.oracle.stamper("C").lasting(Duration::from_millis(50));
    let c = elect(&scene.far, "C", TTL, None).arg("--").args(brief.command()).spawn();
    wait_in_line(&scene.far, "C-", None);
    scene.server.kill();
    scene.server.restart();
    scene.oracle.wait_for_stamps("A", TTL + Duration::from_secs(1));
    scene.end.raise();
    for all in [scene.a, scene.b, c] {
        all.wait().exits(0);
    }
    let runs = scene.oracle.assert_sound();
    assert_eq!(runs.iter().map(|run| &*run.tag).collect::<Vec<_>>(), ["A", "B", "C"]);
}
