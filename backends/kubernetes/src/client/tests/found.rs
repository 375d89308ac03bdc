//! The search for an access, in kubeconfigs and in a pod.

use elect_api::ErrorKind;

use super::*;

/// An environment of these variables.
fn env(
    variables: &[(&str, &str)],
) -> impl Fn(&str) -> Option<String> + Clone + Send + Sync + use<> {
    let all: Vec<_> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    move |name| all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the message about a kubeconfig with this cluster and this user.
fn wrong(cluster: &Value, user: &Value) -> String {
    let folder = Folder::new();
    let found = Access::find(Some(&folder.kubeconfig(cluster, user)), None, nothing);
    let error = found.err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
    error.to_string()
}

#[test]
fn the_first_file_of_a_list_wins() {
    let folder = Folder::new();
    let first = folder.write(
        "first",
        "clusters:\n- name: c\n  cluster: {server: 'https://first:6443'}\n\
         contexts:\n- name: x\n  context: {cluster: c, namespace: y}\n",
    );
    let second = folder.write(
        "second",
        "current-context: z\n\
         clusters:\n- name: c\n  cluster: {server: 'https://second'}\n\
         - name: d\n  cluster: {server: 'https://[::1]/p/'}\n\
         contexts:\n- name: z\n  context: {cluster: d}\n- name: x\n  context: {cluster: d}\n",
    );
    let list = format!("{}:/nowhere/config::{}", text(&first), text(&second));
    let env = env(&[("KUBECONFIG", &list), ("HOME", "/nowhere")]);
    let found = Access::find(None, Some("x"), env.clone()).unwrap();
    assert_eq!((found.server(), found.namespace()), ("https://first:6443".into(), Some("y")));
    assert_eq!(found.source(), format!("the context x of {}", text(&first)));
    let found = Access::find(None, None, env.clone()).unwrap();
    assert_eq!((found.server(), found.namespace()), ("https://[::1]:443/p".into(), None));
    let found = Access::find(Some(&second), Some("x"), env.clone()).unwrap();
    assert_eq!(found.server(), "https://[::1]:443/p");
}

#[test]
fn a_name_that_is_missing_is_told_with_those_that_are_there() {
    let folder = Folder::new();
    let path = folder.write(
        "config",
        "clusters: [{name: c, cluster: {server: 'http://a'}}]\n\
         contexts: [{name: x, context: {cluster: d}}, {name: y, context: {cluster: c, user: u}}]\n",
    );
    for (context, expected) in [
        (None, "no current-context: add context=NAME"),
        (Some("z"), "no context \"z\""),
        (Some("z"), "there are: x, y"),
        (Some("x"), "no cluster \"d\""),
        (Some("y"), "no user \"u\""),
        (Some("y"), "it has none"),
    ] {
        let error = Access::find(Some(&path), context, nothing).err().expect("refused").to_string();
        assert!(error.contains(expected) && error.contains(text(&path)), "{context:?}: {error}");
    }
}

#[test]
fn a_file_that_is_named_must_be_there_and_another_need_not() {
    let folder = Folder::new();
    let missing = folder.path().join("missing");
    let error = Access::find(Some(&missing), None, nothing).err().expect("refused").to_string();
    assert!(error.contains("the option kubeconfig") && error.contains(text(&missing)), "{error}");
    let listed = env(&[("KUBECONFIG", text(&missing))]);
    let error = Access::find(None, None, listed).err().expect("refused").to_string();
    assert!(error.contains("KUBECONFIG names") && error.contains(text(&missing)), "{error}");
    let home = env(&[("HOME", text(folder.path())), ("KUBECONFIG", "")]);
    let error = Access::find(None, None, home.clone()).err().expect("refused").to_string();
    assert!(error.contains(".kube/config is not there, and this is no pod"), "{error}");
    fs::create_dir(folder.path().join(".kube")).unwrap();
    fs::copy(
        folder.kubeconfig(&json!({"server": "http://a"}), &json!({})),
        folder.path().join(".kube/config"),
    )
    .unwrap();
    assert_eq!(Access::find(None, None, home.clone()).unwrap().server(), "http://a:80");
}

#[test]
fn a_file_without_anything_in_it_is_told() {
    let folder = Folder::new();
    for (context, written) in
        [(None, ""), (Some("x"), "\n"), (None, "kind: Config\nclusters: []\n")]
    {
        let path = folder.write("config", written);
        let listed = env(&[("KUBECONFIG", text(&path))]);
        for error in
            [Access::find(Some(&path), context, nothing), Access::find(None, context, listed)]
        {
            let error = error.err().expect("refused").to_string();
            assert!(error.starts_with(&format!("{} is empty", path.display())), "{error}");
        }
    }
    fs::create_dir(folder.path().join(".kube")).unwrap();
    folder.write(".kube/config", "");
    let home = env(&[("HOME", text(folder.path()))]);
    let error = Access::find(None, None, home).err().expect("refused").to_string();
    assert!(error.contains(".kube/config is empty, and this is no pod"), "{error}");
}

#[test]
fn texts_stay_texts_and_other_things_are_refused() {
    let folder = Folder::new();
    let config = |token: &str| {
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: 'http://a'}}}}]\nusers: [{{name: y, user: {{token: {token}}}}}]\n\
             contexts: [{{name: no, context: {{cluster: c, user: y}}}}]\ncurrent-context: no\n"
        );
        Access::find(Some(&folder.write("config", &text)), None, nothing)
    };
    for token in ["y", "on", "'12'", "\"null\"", "yes"] {
        config(token).unwrap();
    }
    for token in ["12", "true", "[a]", "\"a\\nb\""] {
        let error = config(token).err().expect("refused").to_string();
        assert!(error.contains("token") && error.contains("the user y of"), "{token}: {error}");
    }
    for text in ["a: [", "- a", "just words", "clusters: 5", "clusters: [{cluster: {}}]"] {
        let error = Access::find(Some(&folder.write("config", text)), None, nothing);
        let error = error.err().expect("refused");
        assert!(error.to_string().contains("config"), "{text}: {error}");
    }
}

#[test]
fn an_unusable_kubeconfig_is_refused_without_showing_secrets() {
    let server = json!({"server": "https://a"});
    for (cluster, user, expected) in [
        (json!({}), json!({}), "no server"),
        (json!({"server": "a:6443"}), json!({}), "https://HOST:PORT"),
        (json!({"server": "ftp://a"}), json!({}), "https://HOST:PORT"),
        (json!({"server": "https://u:hush@a"}), json!({}), "a user in it"),
        (json!({"server": "https://a?b"}), json!({}), "a ?"),
        (json!({"server": "https://a", "proxy-url": "ftp://u:hush@p"}), json!({}), "proxy-url"),
        (
            json!({"server": "https://a", "insecure-skip-tls-verify": "yes"}),
            json!({}),
            "neither true",
        ),
        (
            json!({"server": "https://a", "insecure-skip-tls-verify": true,
                "certificate-authority-data": ""}),
            json!({"auth-provider": {"name": "gcp"}}),
            "auth-provider",
        ),
        (
            json!({"server": "https://a", "insecure-skip-tls-verify": true,
                "certificate-authority-data": "LS0tLS1CRUdJTiBodXNo"}),
            json!({}),
            "remove one of them",
        ),
        (json!({"server": "https://a", "certificate-authority-data": "%"}), json!({}), "base64"),
        (json!({"server": "https://a", "certificate-authority": "gone"}), json!({}), "gone"),
        (
            server.clone(),
            json!({"token": "hush", "username": "a", "password": "b"}),
            "both a token",
        ),
        (server.clone(), json!({"password": "hush"}), "both username and password"),
        (
            server.clone(),
            json!({"client-key-data": "LS0tLS1CRUdJTiBodXNo"}),
            "both client-certificate",
        ),
        (server.clone(), json!({"tokenFile": "gone"}), "tokenFile"),
        (server.clone(), json!({"as-groups": ["a"]}), "require as"),
        (server.clone(), json!({"as": "a", "as-groups": "b"}), "as-groups"),
        (server.clone(), json!({"exec": {"command": "x"}}), "apiVersion"),
        (
            server.clone(),
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}),
            "update the plugin",
        ),
        (
            server.clone(),
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}),
            "command",
        ),
        (
            server.clone(),
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x",
                "interactiveMode": "Always"}}),
            "no terminal",
        ),
    ] {
        let error = wrong(&cluster, &user);
        assert!(error.contains(expected), "{cluster} {user}: {error}");
        assert!(!error.contains("hush") && error.contains("config"), "{error}");
    }
}

#[test]
fn certificates_that_are_none_are_named() {
    let folder = Folder::new();
    folder.write("ca", "hush");
    for (cluster, user) in [
        (json!({"server": "https://a", "certificate-authority": "ca"}), json!({})),
        (json!({"server": "https://a"}), json!({"client-certificate": "ca", "client-key": "ca"})),
    ] {
        let path = folder.kubeconfig(&cluster, &user);
        let error = Access::find(Some(&path), None, nothing);
        let error = error.err().expect("refused").to_string();
        let named = error.contains(text(&folder.path().join("ca")));
        assert!(named && error.contains("PEM") && !error.contains("hush"), "{error}");
    }
}

#[test]
fn unsafe_settings_are_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let cautions = |cluster, user| {
        let path = folder.kubeconfig(&cluster, &user);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let access = Access::find(Some(&path), None, nothing).unwrap();
        let found: Vec<_> = access.cautions().into_iter().map(|finding| finding.what).collect();
        found.join("\n")
    };
    let blind =
        cautions(json!({"server": "https://a", "insecure-skip-tls-verify": true}), json!({}));
    assert!(blind.starts_with("https://a:443 may be anybody"), "{blind}");
    let clear = cautions(json!({"server": "http://a"}), json!({}));
    assert!(clear.contains("unencrypted") && !clear.contains('\n'), "{clear}");
    assert_eq!(cautions(json!({"server": "http://127.0.0.1"}), json!({})), "");
    let proxied = |url: &str| cautions(json!({"server": "https://a", "proxy-url": url}), json!({}));
    for url in ["http://me:hush@p", "socks5://me:hush@p:1"] {
        let told = proxied(url);
        assert!(told.starts_with("our password for the proxy at p:"), "{told}");
        assert!(told.ends_with("goes over the network unencrypted"), "{told}");
    }
    for url in ["https://me:hush@p", "http://p", "http://me:hush@127.0.0.1"] {
        assert_eq!(proxied(url), "");
    }
    let open = cautions(json!({"server": "https://a"}), json!({"token": "hush"}));
    assert!(
        open.contains("everybody") && open.contains("config") && !open.contains("hush"),
        "{open}"
    );
}

/// A pod's folder of its service account.
fn pod() -> Folder {
    let folder = Folder::new();
    folder.write("token", "first\n");
    folder.write("namespace", "n\n");
    fs::copy(elect_testkit::servers::Authority::new().ca(), folder.path().join("ca.crt")).unwrap();
    folder
}

#[test]
fn a_pod_has_a_service_account() {
    let folder = pod();
    let in_pod =
        |host| env(&[("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", "6443")]);
    let find = |context, host| Access::find_with(None, context, in_pod(host), folder.path());
    let found = find(None, "10.0.0.1").unwrap();
    assert_eq!((found.server(), found.namespace()), ("https://10.0.0.1:6443".into(), Some("n")));
    assert_eq!(found.source(), "the pod's service account");
    assert_eq!(find(None, "fd00::1").unwrap().server(), "https://[fd00::1]:6443");
    let error = find(Some("x"), "a").err().expect("no kubeconfig").to_string();
    assert!(error.contains("no context \"x\""), "{error}");
    fs::remove_file(folder.path().join("token")).unwrap();
    let error = find(None, "a").err().expect("no token").to_string();
    assert!(error.contains("automountServiceAccountToken"), "{error}");
}
