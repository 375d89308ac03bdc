//! Tests of the pod's label: which pod has it, and the results of late or denied changes.

use elect_api::ErrorKind;
use elect_kubernetes::PodLabel;
use elect_testkit::servers::ApiServer;
use elect_testkit::servers::kubernetes::{Fault, Rule, Scope};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/elect/pods";

/// Starts a server with these pods.
fn server(pods: &[&str]) -> ApiServer {
    let server = ApiServer::start();
    for pod in pods {
        let pod = json!({
            "metadata": {"name": pod, "labels": {"app": "worker"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        assert_eq!(server.call("POST", PODS, Some(&pod)).0, 201);
    }
    server
}

fn of(url: &str, election: &str, pod: &str) -> PodLabel {
    PodLabel::of(url, &election.parse().expect("a name"), pod).expect("a label")
}

/// Returns all labels but the one that each pod has anyway.
fn labels(server: &ApiServer, pod: &str) -> Value {
    let (_, mut pod) = server.call("GET", &format!("{PODS}/{pod}"), None);
    let mut labels = pod["metadata"]["labels"].take();
    assert_eq!(labels.as_object_mut().expect("labels").remove("app"), Some("worker".into()));
    labels
}

fn led(election: &str) -> Value {
    json!({"elect/leader": "true", "elect/election": election})
}

#[tokio::test]
async fn one_pod_has_the_label_and_the_next_leader_takes_it_from_others() {
    let server = server(&["a", "b", "c"]);
    let url = server.url("elect");
    let (a, b, c) = (of(&url, "Job", "a"), of(&url, "Job", "b"), of(&url, "other", "c"));
    a.set().await.expect("it is there");
    a.set().await.expect("it is there");
    c.set().await.expect("it is there");
    assert_eq!(server.counts().of("update", "pods"), 2, "what is so is not written");
    assert_eq!(labels(&server, "a"), led("x--4aob"));
    b.remove_from_others().await.expect("we may");
    b.set().await.expect("it is there");
    assert_eq!(
        ["a", "b", "c"].map(|pod| labels(&server, pod)),
        [json!({}), led("x--4aob"), led("other")]
    );
    of(&url, "Job", "c").remove().await.expect("we may");
    assert_eq!(labels(&server, "c"), led("other"), "it is of another election");
    b.remove().await.expect("it is there");
    b.remove().await.expect("it is there");
    assert_eq!(labels(&server, "b"), json!({}));
}

#[tokio::test]
async fn two_elections_do_not_share_a_pod() {
    let server = server(&["a"]);
    let url = server.url("elect");
    let (one, other) = (of(&url, "one", "a"), of(&url, "other", "a"));
    one.set().await.expect("it is there");
    let refused = other.set().await.expect_err("it is taken");
    assert_eq!(refused.kind(), ErrorKind::Unfit);
    assert!(refused.to_string().contains("for the election one"), "{refused}");
    one.remove().await.expect("it is there");
    other.set().await.expect("it is free");
    assert_eq!(labels(&server, "a"), led("other"));
}

#[tokio::test]
async fn a_pod_that_is_gone_needs_no_removal_and_cannot_be_labelled() {
    let server = server(&[]);
    let label = of(&server.url("elect"), "job", "worker-1");
    label.remove().await.expect("nothing is left to do");
    let refused = label.set().await.expect_err("nothing is there");
    assert!(refused.to_string().contains("no pod worker-1 in the namespace elect"), "{refused}");
    assert!(refused.to_string().contains("POD_NAME"), "{refused}");
}

#[tokio::test]
async fn a_pod_that_changes_meanwhile_is_read_again() {
    let server = server(&["a"]);
    let label = of(&server.url("elect"), "job", "a");
    let late = Scope::verbs(&["update"]).of("pods").times(1);
    server.fault(Fault::Delay {
        scope: late,
        by: std::time::Duration::from_millis(300),
        done: false,
    });
    let touch = async {
        while server.counts().faults == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let patch = json!({"metadata": {"labels": {"mine": "kept"}}});
        assert_eq!(server.call("PATCH", &format!("{PODS}/a"), Some(&patch)).0, 200);
    };
    let (set, ()) = tokio::join!(label.set(), touch);
    set.expect("the second attempt does it");
    let found = labels(&server, "a");
    assert_eq!((&found["elect/leader"], &found["mine"]), (&json!("true"), &json!("kept")));
}

#[tokio::test]
async fn rights_that_the_role_lacks_are_named() {
    let server = server(&["a", "b"]);
    let mine = [Rule::new("", "pods", "elect", &["get", "update"]).named(&["a"])];
    let label = of(&ApiServer::url_with("elect", &server.kubeconfig_of(&mine)), "job", "a");
    label.set().await.expect("we may");
    let refused = label.remove_from_others().await.expect_err("we may not");
    assert_eq!(refused.kind(), ErrorKind::Denied);
    assert!(refused.to_string().contains("lacks the verb list on pods"), "{refused}");
    let none = server.kubeconfig_of(&[]);
    let refused = of(&ApiServer::url_with("elect", &none), "job", "a").remove().await;
    assert!(refused.expect_err("we may not").to_string().contains("verb get on pods"));
}

#[tokio::test]
async fn a_server_that_is_silent_is_not_waited_for() {
    let server = server(&["a"]);
    let label = of(&server.url("elect"), "job", "a");
    label.set().await.expect("it is there");
    server.stop();
    label.remove().await.expect_err("no server answers");
    server.resume();
    label.remove().await.expect("it answers");
    assert_eq!(labels(&server, "a"), json!({}));
}
