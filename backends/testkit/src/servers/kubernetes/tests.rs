use std::time::Duration;

use serde_json::{Value, json};

use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";

fn lease(name: &str, holder: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}})
}

#[test]
fn what_was_answered_outlives_a_kill() {
    let mut server = ApiServer::start();
    let user = server.kubeconfig_of(&[Rule::leases("elect", &["get"])]);
    let (status, made) = server.call("POST", LEASES, Some(&lease("a", "one")));
    assert_eq!(status, 201, "{made}");
    server.kill();
    server.restart();
    let (status, read) = server.call("GET", &format!("{LEASES}/a"), None);
    assert_eq!((status, &read), (200, &made));
    let token = server.token(&user);
    let path = format!("{LEASES}/a");
    let ask =
        |method| server.ask(&Ask { method, path: &path, token: Some(&token), ..Ask::default() }).0;
    assert_eq!((ask("GET"), ask("DELETE")), (200, 403));
    let version = made["metadata"]["resourceVersion"].as_str().expect("a version");
    let watch = format!("{LEASES}?watch=1&resourceVersion=99&timeoutSeconds=1");
    let (status, event) = server.call("GET", &watch, None);
    assert_eq!((status, &event["object"]["code"]), (200, &json!(410)), "{event} {version}");
    assert_eq!(server.counts().of("get", "leases"), 2);
    let _ = Duration::ZERO;
}
