//! The manifests of the manual: a real API server accepts each of them, and a user with the Roles can do what the
//! manual says.

use std::io::Write as _;
use std::process::{Command, Stdio};

use elect_testkit::program::Elect;
use elect_testkit::servers::kubernetes::{ApiServer, program};
use serde_json::{Value, json};

const PAGES: [(&str, &str); 3] = [
    ("kubernetes", include_str!("../../../src/manual/kubernetes.md")),
    ("kubernetes-service", include_str!("../../../src/manual/kubernetes-service.md")),
    ("kubernetes-store", include_str!("../../../backends/kubernetes/src/manual.md")),
];
/// What came after the server, which is of 1.20: the names of the versions before, whose fields the manual uses, too.
const OLDER: [(&str, &str, &str); 2] = [
    ("CronJob", "batch/v1", "batch/v1beta1"),
    ("PodDisruptionBudget", "policy/v1", "policy/v1beta1"),
];

/// The objects on a page.
fn objects(page: &str) -> Vec<Value> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let texts = blocks.flat_map(|block| block.split("---\n")).filter(|it| it.contains("\nkind: "));
    texts.map(|text| as_the_server_knows_it(serde_yaml::from_str(text).expect("YAML"))).collect()
}

/// A sidecar (1.28) as one of the containers, and a pause before a stop (1.30) as a command.
fn as_the_server_knows_it(mut object: Value) -> Value {
    for (kind, new, old) in OLDER {
        if object["kind"] == kind && object["apiVersion"] == new {
            object["apiVersion"] = old.into();
        }
    }
    let Some(pod) = object.pointer_mut("/spec/template/spec") else { return object };
    let all = pod["initContainers"].as_array().cloned().unwrap_or_default();
    let (sidecars, others): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|container| container["restartPolicy"] == "Always");
    pod["initContainers"] = others.into();
    let containers = pod["containers"].as_array_mut().expect("a pod has one");
    containers.extend(sidecars);
    for container in containers {
        let container = container.as_object_mut().expect("a container");
        container.remove("restartPolicy");
        if let Some(before) = container.get_mut("lifecycle").map(|it| &mut it["preStop"])
            && let Some(seconds) = before["sleep"]["seconds"].as_u64()
        {
            *before = json!({"exec": {"command": ["sleep", seconds.to_string()]}});
        }
    }
    object
}

/// Returns the output of kubectl when it gets `input` on its standard input.
fn kubectl(server: &ApiServer, words: &[&str], input: &str) -> String {
    let mut kubectl = Command::new(program("kubectl"));
    kubectl.arg("--kubeconfig").arg(server.kubeconfig()).args(words);
    let streams = kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = streams.spawn().expect("kubectl runs");
    let mut pipe = running.stdin.take().expect("as asked for");
    pipe.write_all(input.as_bytes()).expect("kubectl reads");
    drop(pipe);
    let output = running.wait_with_output().expect("kubectl ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}\n{input}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// elect with the rights of this Role and no others.
fn elect(
    server: &ApiServer,
    name: &str,
    role: &str,
    order: &str,
) -> impl Fn(&str) -> Elect + use<> {
    let kubeconfig = server.add_user(name, &[]);
    let (role, user) = (format!("--role={role}"), format!("--user={name}"));
    kubectl(server, &["create", "rolebinding", name, &role, &user], "");
    let url = format!("{}&order={order}", ApiServer::url_with("elect", &kubeconfig));
    move |subcommand| Elect::new(env!("CARGO_BIN_EXE_elect")).args([subcommand, "-b", &url])
}

#[test]
fn manifests_are_taken_and_their_roles_are_enough() {
    let server = ApiServer::real();
    for (page, text) in PAGES {
        let objects = objects(text);
        assert!(!objects.is_empty(), "{page} has no manifests");
        for object in objects {
            let words = ["apply", "--validate=true", "-f", "-"];
            print!("{page}: {}", kubectl(&server, &words, &object.to_string()));
        }
    }
    for (name, role, order) in [("seats", "elect", "queue"), ("racers", "elect-race", "race")] {
        let elect = elect(&server, name, role, order);
        let run = |words: &[&str]| elect("run").args(["-e", "worker"]).args(words).run();
        run(&["--", "true"]).exits(0);
        run(&["--once-per", "day@02:50", "--", "true"]).exits(0);
        run(&["--once-per", "day@02:50", "--", "false"]).exits(0);
        // It tries an election of its own, whose Leases the other Role does not name.
        if order == "queue" {
            elect("doctor").run().exits(0);
        }
    }
    // Without the Roles, the server refuses to let a user run.
    let without_rights = server.kubeconfig_of(&[]);
    let refused = Elect::new(env!("CARGO_BIN_EXE_elect"))
        .args(["run", "-b", &ApiServer::url_with("elect", &without_rights), "--", "true"])
        .run();
    assert_ne!(refused.code(), 0, "{}", refused.stderr);
}
