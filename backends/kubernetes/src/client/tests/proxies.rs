use super::*;

/// The bytes of user, password and server that SOCKS 5 takes.
const MOST_OF_SOCKS: usize = 234;

/// A proxy that speaks HTTP, of which `server` is all that it reaches; says what it was asked.
async fn http_proxy(server: u16, answer: &'static str) -> (u16, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, asked) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (head, _) = request(&mut stream).await.unwrap();
            tell.send(head).unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            let mut server = tokio::net::TcpStream::connect(("127.0.0.1", server)).await.unwrap();
            tokio::spawn(
                async move { tokio::io::copy_bidirectional(&mut stream, &mut server).await },
            );
        }
    });
    (port, asked)
}

fn by_proxy(url: &str) -> Client {
    client(&json!({"server": "http://api.invalid:81", "proxy-url": url}), &json!({}))
}

#[tokio::test]
async fn an_http_proxy_connects_us() {
    let mut server = Server::start(|_| ok()).await;
    let (port, mut asked) = http_proxy(server.port, "HTTP/1.1 200 Go\r\nVia: x\r\n\r\n").await;
    get(&by_proxy(&format!("http://me:p%40w@127.0.0.1:{port}"))).await.unwrap();
    let expected = "CONNECT api.invalid:81 HTTP/1.1\r\nHost: api.invalid:81\r\n\
        Proxy-Authorization: Basic bWU6cEB3\r\n\r\n";
    assert_eq!(asked.recv().await.unwrap(), expected);
    assert_eq!(header(&server.next().await, "host"), Some("api.invalid:81"));
    for status in ["HTTP/1.0 200 Connection established", "HTTP/1.1 202 Go"] {
        let (port, _asked) = http_proxy(server.port, format!("{status}\r\n\r\n").leak()).await;
        get(&by_proxy(&format!("127.0.0.1:{port}"))).await.expect(status);
    }
}

#[tokio::test]
async fn a_proxys_refusal_is_reported_without_the_password() {
    let server = Server::start(|_| ok()).await;
    for (answer, expected) in [
        ("HTTP/1.1 407 Log in\r\n\r\n", "requires a login"),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "403 Forbidden"),
        ("nonsense\r\n\r\n", "does not tunnel"),
        // It echoes what it was shown.
        ("HTTP/1.1 502 Basic bWU6aHVzaA==\r\n\r\nbWU6aHVzaA==", "502 Bad Gateway"),
    ] {
        let (port, _asked) = http_proxy(server.port, answer).await;
        let failed = get(&by_proxy(&format!("http://me:hush@127.0.0.1:{port}"))).await;
        let Err(Failure::Unreachable(why)) = failed else { panic!("unreachable") };
        let place = format!("http://api.invalid:81 through the proxy at 127.0.0.1:{port}");
        assert!(why.contains(expected) && why.contains(&place), "{why}");
        assert!(!why.contains("hush") && !why.contains("bWU6aHVzaA"), "{why}");
    }
    let answer = || format!("HTTP/1.1 200 Go\r\nVia: {}", "x".repeat(1 << 20));
    let endless = Server::start(move |_| Reply::Write(answer())).await;
    let failed = get(&by_proxy(&format!("127.0.0.1:{}", endless.port))).await;
    assert!(
        matches!(&failed, Err(Failure::Unreachable(why)) if why.contains("too large")),
        "{failed:?}"
    );
}

/// A proxy that speaks SOCKS 5 and says what it was asked, in bytes.
async fn socks_proxy(server: u16, method: u8, reply: u8) -> (u16, UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, asked) = unbounded_channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 3];
        stream.read_exact(&mut bytes).await.unwrap();
        tell.send(bytes).unwrap();
        stream.write_all(&[5, method]).await.unwrap();
        if method == 2 {
            let mut bytes = vec![0; 1 + 3 + 5];
            stream.read_exact(&mut bytes).await.unwrap();
            tell.send(bytes).unwrap();
            stream.write_all(&[1, 0]).await.unwrap();
        }
        let mut bytes = vec![0; 4 + 1 + "api.invalid".len() + 2];
        if stream.read_exact(&mut bytes).await.is_err() {
            return;
        }
        tell.send(bytes).unwrap();
        stream.write_all(&[5, reply, 0, 1, 9, 9, 9, 9, 0, 9]).await.unwrap();
        let mut server = tokio::net::TcpStream::connect(("127.0.0.1", server)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
    });
    (port, asked)
}

#[tokio::test]
async fn a_socks_proxy_connects_us() {
    let server = Server::start(|_| ok()).await;
    let asks = [&[5, 1, 0, 3, 11][..], b"api.invalid", &[0, 81]].concat();
    let (port, mut asked) = socks_proxy(server.port, 0, 0).await;
    get(&by_proxy(&format!("socks5://127.0.0.1:{port}"))).await.unwrap();
    assert_eq!(asked.recv().await.unwrap(), [5, 1, 0]);
    assert_eq!(asked.recv().await.unwrap(), asks);
    let (port, mut asked) = socks_proxy(server.port, 2, 0).await;
    get(&by_proxy(&format!("socks5://me:hush@127.0.0.1:{port}"))).await.unwrap();
    assert_eq!(asked.recv().await.unwrap(), [5, 1, 2]);
    assert_eq!(asked.recv().await.unwrap(), [&[1, 2][..], b"me", &[4], b"hush"].concat());
    assert_eq!(asked.recv().await.unwrap(), asks);
    // The longest login, and one that is longer.
    let long =
        format!("me:{}", "hush".repeat((MOST_OF_SOCKS - "me".len() - "api.invalid".len()) / 4));
    let (port, mut asked) = socks_proxy(server.port, 2, 0).await;
    get(&by_proxy(&format!("socks5://{long}@127.0.0.1:{port}"))).await.unwrap();
    assert_eq!(asked.recv().await.unwrap(), [5, 1, 2]);
    let longer = format!("{long}hush@");
    for (login, method, reply, expected) in [
        ("", 255, 0, "it may demand a login"),
        ("me:hush@", 0, 0, "no login"),
        ("", 0, 2, "connection not allowed"),
        (&longer, 2, 0, "SOCKS 5 takes 234"),
    ] {
        let (port, _asked) = socks_proxy(server.port, method, reply).await;
        let failed = get(&by_proxy(&format!("socks5://{login}127.0.0.1:{port}"))).await;
        let Err(Failure::Unreachable(why)) = failed else { panic!("unreachable") };
        assert!(why.contains(expected) && !why.contains("hush"), "{why}");
    }
}

#[tokio::test]
async fn the_proxy_of_the_environment_counts_without_one_of_the_kubeconfig() {
    let server = Server::start(|_| ok()).await;
    let (port, mut asked) = http_proxy(server.port, "HTTP/1.1 200 Go\r\n\r\n").await;
    let folder = Folder::new();
    let path = folder.kubeconfig(&json!({"server": "http://api.invalid:81"}), &json!({}));
    let env = move |name: &str| (name == "http_proxy").then(|| format!("127.0.0.1:{port}"));
    let client = Client::new(Access::find(Some(&path), None, env).unwrap());
    get(&client).await.unwrap();
    assert!(asked.recv().await.unwrap().starts_with("CONNECT api.invalid:81 "));
    // A server on this machine is never reached that way.
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.port)});
    let path = folder.kubeconfig(&cluster, &json!({}));
    let client = Client::new(Access::find(Some(&path), None, env).unwrap());
    get(&client).await.unwrap();
    assert!(asked.try_recv().is_err());
}
