//! TLS.

use elect_testkit::servers::{Authority, Pem};

use super::*;

async fn server_with(pem: &Pem, clients: Option<&Authority>) -> Server {
    let tls = TlsAcceptor::from(Arc::new(pem.server_config(clients)));
    Server::start_with(Some(tls), |_| ok()).await
}

fn url(server: &Server) -> String {
    format!("https://127.0.0.1:{}", server.port)
}

/// Why a server with this certificate is not reached by this cluster.
async fn refusal(pem: &Pem, cluster: &Value) -> String {
    let server = server_with(pem, None).await;
    let mut cluster = cluster.clone();
    cluster["server"] = url(&server).into();
    let failed = get(&client(&cluster, &json!({}))).await;
    let Err(Failure::Unreachable(why)) = failed else { panic!("{failed:?}") };
    assert!(why.starts_with(&format!("cannot connect to {}: ", url(&server))), "{why}");
    why
}

#[tokio::test]
async fn servers_are_known_by_their_authority() {
    let (ours, other) = (Authority::new(), Authority::new());
    let here = ours.server(&["127.0.0.1"]);
    let server = server_with(&here, None).await;
    let by = |authority: &Authority| json!({"server": "", "certificate-authority": authority.ca()});
    let mut cluster = by(&ours);
    cluster["server"] = url(&server).into();
    get(&client(&cluster, &json!({}))).await.unwrap();
    let why = refusal(&here, &by(&other)).await;
    assert!(why.contains("not signed by a trusted authority: name the authority with"), "{why}");
    assert!(why.contains("certificate-authority of the cluster c of"), "{why}");
    let there = ours.server(&["api.example"]);
    let why = refusal(&there, &by(&ours)).await;
    assert!(why.contains("for another name") && why.contains("tls-server-name"), "{why}");
    assert!(why.contains("127.0.0.1") && why.contains("api.example"), "{why}");
    let server = server_with(&there, None).await;
    for more in [
        json!({"certificate-authority": ours.ca(), "tls-server-name": "api.example"}),
        json!({"insecure-skip-tls-verify": true}),
    ] {
        let mut cluster = more;
        cluster["server"] = url(&server).into();
        get(&client(&cluster, &json!({}))).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_of_another_protocol_is_told() {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let _ = stream.read_u8().await;
    });
    let client = client(
        &json!({"server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true}),
        &json!({}),
    );
    let failed = get(&client).await;
    assert!(
        matches!(&failed, Err(Failure::Unreachable(why)) if why.contains("http://")),
        "{failed:?}"
    );
}

#[tokio::test]
async fn we_are_known_by_our_certificate() {
    let authority = Authority::new();
    let server = server_with(&authority.server(&["127.0.0.1"]), Some(&authority)).await;
    let cluster = json!({"server": url(&server), "certificate-authority": authority.ca()});
    let Pem { cert, key } = authority.client("me");
    let read = |path: &Path| super::super::base64(&fs::read(path).unwrap());
    for user in [
        json!({"client-certificate": cert, "client-key": key}),
        json!({"client-certificate-data": read(&cert), "client-key-data": read(&key),
            "client-key": "/nowhere"}),
    ] {
        get(&client(&cluster, &user)).await.unwrap();
    }
    let folder = Folder::new();
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let said = json!({"apiVersion": "client.authentication.k8s.io/v1beta1",
        "status": {"clientCertificateData": text(&cert), "clientKeyData": text(&key)}});
    folder.write("said", &said.to_string());
    let plugin = folder.program("plugin", "cat \"$1\"");
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1beta1", "command": plugin,
        "args": [folder.path().join("said")]});
    get(&client(&cluster, &json!({"exec": exec}))).await.unwrap();
    let failed = get(&client(&cluster, &json!({}))).await;
    let Err(Failure::Unknown(why) | Failure::Unreachable(why)) = &failed else {
        panic!("{failed:?}")
    };
    assert!(why.contains("does not accept our certificate"), "{why}");
}

#[tokio::test]
async fn an_authority_that_is_replaced_is_taken_up() {
    let (first, second) = (Authority::new(), Authority::new());
    let folder = Folder::new();
    fs::copy(first.ca(), folder.path().join("ca")).unwrap();
    let server = server_with(&second.server(&["127.0.0.1"]), None).await;
    let cluster = json!({"server": url(&server), "certificate-authority": "ca"});
    let path = folder.kubeconfig(&cluster, &json!({}));
    let client = Client::new(Access::find(Some(&path), None, nothing).unwrap());
    get(&client).await.unwrap_err();
    fs::copy(second.ca(), folder.path().join("ca")).unwrap();
    get(&client).await.unwrap();
}

/// In both orders: the server takes the old one no longer, and there is a new one before that or after it; and one half
/// of it is new for a while.
#[tokio::test]
async fn a_replaced_client_certificate_is_taken_up_as_a_whole() {
    let (authority, other) = (Authority::new(), Authority::new());
    let folder = Folder::new();
    let put = |name: &str, file: &Path| _ = fs::copy(file, folder.path().join(name)).unwrap();
    let (old, new) = (other.client("me"), authority.client("me"));
    put("cert", &old.cert);
    put("key", &old.key);
    let server = server_with(&authority.server(&["127.0.0.1"]), Some(&authority)).await;
    let cluster = json!({"server": url(&server), "certificate-authority": authority.ca()});
    let user = json!({"client-certificate": "cert", "client-key": "key"});
    let path = folder.kubeconfig(&cluster, &user);
    let client = Client::new(Access::find(Some(&path), None, nothing).unwrap());
    let later = async || {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(2)).await;
        tokio::time::resume();
    };
    get(&client).await.unwrap_err();
    put("cert", &new.cert);
    later().await;
    get(&client).await.unwrap_err();
    assert!(
        client.trouble().is_some_and(|why| why.contains("no certificate and key that go together"))
    );
    put("key", &new.key);
    later().await;
    get(&client).await.unwrap();
    assert_eq!(client.trouble(), None);
}

#[tokio::test]
async fn a_client_certificate_that_a_server_refuses_is_reported() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = server_with(&authority.server(&["127.0.0.1"]), Some(&authority)).await;
    let cluster = json!({"server": url(&server), "certificate-authority": authority.ca()});
    let said = async |user: Value| {
        let failed = get(&client(&cluster, &user)).await;
        let Err(Failure::Unknown(why) | Failure::Unreachable(why)) = failed else {
            panic!("{failed:?}")
        };
        why
    };
    let why = said(json!({})).await;
    assert!(why.contains("or wants one: see client-certificate and client-key of"), "{why}");
    let Pem { cert, key } = other.client("me");
    let why = said(json!({"client-certificate": cert, "client-key": key})).await;
    assert!(why.contains("does not know who signed it") && why.contains("UnknownCA"), "{why}");
    let Pem { cert, .. } = authority.client("me");
    let user = json!({"client-certificate": cert, "client-key": key});
    let path = Folder::new();
    let found = Access::find(Some(&path.kubeconfig(&cluster, &user)), None, nothing);
    let why = found.err().expect("refused").to_string();
    assert!(why.contains("client-certificate and client-key of the user u of"), "{why}");
    assert!(why.contains("no certificate and key that go together"), "{why}");
}
