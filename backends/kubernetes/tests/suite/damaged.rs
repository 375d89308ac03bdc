//! Tests of fences and values that were overwritten by hand.

use elect_api::{Cell, ErrorKind, If, Key, Removal, Written};
use elect_testkit::election;
use elect_testkit::servers::ApiServer;
use serde_json::json;

#[tokio::test]
async fn a_damaged_lease_of_fences_is_named_with_its_repair() {
    let server = ApiServer::start();
    let store = elect_kubernetes::connect(&server.url("elect")).expect("a good URL");
    let (name, key): (_, Key) = (election(), "disk".parse().expect("a key"));
    let set = async || store.write(&name, Cell::Fence(&key), b"7", If::Version(0)).await;
    assert!(matches!(set().await, Ok(Written::Yes(_))));
    let lease = format!("{name}.data");
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/elect/leases/{lease}");
    for (found, why) in [(json!("{\"epoch\":"), "EOF"), (json!(null), "it is missing")] {
        let damage = json!({"metadata": {"annotations": {"elect/data": found}}});
        let (status, answer) = server.call("PATCH", &path, Some(&damage));
        assert_eq!(status, 200, "{answer}");
        let said = set().await.expect_err("it is damaged");
        assert_eq!(said.kind(), ErrorKind::Unfit, "{said}");
        let said = said.to_string();
        let object =
            format!("the annotation elect/data of the Lease {lease} in the namespace elect");
        assert!(said.contains(&object) && said.contains(why), "{said}");
        assert!(said.contains(&format!("elect forget --yes --fences {name}")), "{said}");
        for fences in [false, true] {
            let forgotten = store.remove(&name, Removal::Everything { fences }).await;
            assert_eq!(forgotten.is_ok(), fences, "{forgotten:?}");
        }
        assert!(matches!(set().await, Ok(Written::Yes(_))), "it is as if there never was one");
    }
}
