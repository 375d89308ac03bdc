use super::*;

#[tokio::test]
async fn calls_share_a_connection_and_speak_json() {
    let mut server = Server::start(|_| Reply::Write(answer("200 OK", r#"{"a":1}"#))).await;
    let client = server.client();
    let body = json!({"b": 2});
    let path = "/apis/coordination.k8s.io/v1/namespaces/n/leases/a?x=y";
    let answer = client.call(Method::PUT, path, Some(&body), PATIENCE).await.unwrap();
    assert_eq!(answer, json!({"a": 1}));
    get(&client).await.unwrap();
    let (first, second) = (server.next().await, server.next().await);
    assert!(first.head.starts_with(&format!("PUT {path} HTTP/1.1\r\n")), "{}", first.head);
    assert_eq!(first.body, r#"{"b":2}"#);
    assert_eq!(header(&first, "content-type"), Some("application/json"));
    assert_eq!(header(&first, "accept"), Some("application/json"));
    assert_eq!(header(&first, "host"), Some(format!("127.0.0.1:{}", server.port).as_str()));
    let version = concat!("elect/", env!("CARGO_PKG_VERSION"));
    assert_eq!(header(&first, "user-agent"), Some(version));
    assert_eq!((header(&second, "content-type"), header(&second, "authorization")), (None, None));
    assert_eq!((first.connection, second.connection), (1, 1));
}

#[tokio::test]
async fn the_server_path_comes_before_all_paths() {
    let mut server = Server::start(|_| ok()).await;
    let url = format!("http://127.0.0.1:{}/a/b/", server.port);
    get(&client(&json!({"server": url}), &json!({}))).await.unwrap();
    assert!(server.next().await.head.starts_with("GET /a/b/x HTTP"));
}

#[tokio::test]
async fn a_refusal_has_the_words_of_the_server() {
    let status = json!({"kind": "Status", "reason": "Conflict", "message": "it was changed",
        "details": {"retryAfterSeconds": 3}});
    let server = Server::start(move |seen| {
        Reply::Write(match seen.connection {
            1 => answer("409 Conflict", &status.to_string()),
            _ => answer_with("429 Too Many", "Retry-After: 7\r\n", "slow \u{1b}down\n"),
        })
    })
    .await;
    let client = server.client();
    let Err(Failure::Refused { status, reason, message, retry_after, .. }) = get(&client).await
    else {
        panic!("refused")
    };
    assert_eq!((status, reason.as_str(), message.as_str()), (409, "Conflict", "it was changed"));
    assert_eq!(retry_after, Some(Duration::from_secs(3)));
    let other = server.client();
    let Err(Failure::Refused { status, reason, message, retry_after, .. }) = get(&client).await
    else {
        panic!("refused")
    };
    // The connection was kept.
    assert_eq!(
        (status, reason.as_str(), retry_after),
        (409, "Conflict", Some(Duration::from_secs(3)))
    );
    drop(message);
    let Err(Failure::Refused { status, reason, message, retry_after, .. }) = get(&other).await
    else {
        panic!("refused")
    };
    assert_eq!((status, reason.as_str(), message.as_str()), (429, "", "slow \\u{1b}down"));
    assert_eq!(retry_after, Some(Duration::from_secs(7)));
}

/// A kubeconfig may lead to another server, which may echo the request itself.
#[tokio::test]
async fn a_secret_that_a_server_echoes_is_not_shown() {
    for (user, secret) in [
        (json!({"token": "hush-hush"}), "hush-hush"),
        (json!({"username": "me", "password": "hush"}), "bWU6aHVzaA=="),
    ] {
        let server =
            Server::start(|seen| Reply::Write(answer("400 Bad Request", &seen.head))).await;
        let url = format!("http://127.0.0.1:{}", server.port);
        let Err(Failure::Refused { message, .. }) =
            get(&client(&json!({"server": url}), &user)).await
        else {
            panic!("refused")
        };
        assert!(message.contains("authorization: "), "{message}");
        assert!(!message.contains(secret) && message.contains(" ..."), "{message}");
    }
}

#[tokio::test]
async fn a_connection_is_dropped_after_5xx() {
    for status in ["500 Oh", "503 Busy", "401 Who"] {
        let mut server = Server::start(move |_| Reply::Write(answer(status, ""))).await;
        let client = server.client();
        for connection in 1..=2 {
            get(&client).await.unwrap_err();
            assert_eq!(server.next().await.connection, connection, "{status}");
        }
    }
}

#[tokio::test]
async fn a_connection_is_dropped_after_silence() {
    let mut server =
        Server::start(|seen| if seen.connection == 1 { Reply::Hang } else { ok() }).await;
    let client = server.client();
    let failed = client.call(Method::GET, "/x", None, SOON).await;
    assert!(
        matches!(&failed, Err(Failure::Unknown(why)) if why.contains("within 200ms")),
        "{failed:?}"
    );
    get(&client).await.unwrap();
    assert_eq!((server.next().await.connection, server.next().await.connection), (1, 2));
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_half_read_connection() {
    let half = || Reply::Write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a\":".into());
    let mut server =
        Server::start(move |seen| if seen.connection == 1 { half() } else { ok() }).await;
    let client = server.client();
    tokio::select! {
        biased;
        answer = get(&client) => panic!("half an answer: {answer:?}"),
        _ = server.next() => {}
    }
    assert_eq!(get(&client).await.unwrap(), json!({}));
    assert_eq!(server.next().await.connection, 2);
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_made_anew() {
    let mut server = Server::start(|_| Reply::Last(answer("200 OK", "{}"))).await;
    let client = server.client();
    for connection in 1..=5 {
        client.call(Method::POST, "/x", Some(&json!({})), PATIENCE).await.unwrap();
        assert_eq!(server.next().await.connection, connection);
    }
}

#[tokio::test]
async fn a_request_without_an_answer_is_unknown_and_not_sent_again() {
    let broken = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{";
    for reply in ["", "HTTP/1.1 200", broken, "no HTTP at all\r\n\r\n"] {
        let mut server = Server::start(move |seen| {
            if seen.head.starts_with("GET") { ok() } else { Reply::Last(reply.to_owned()) }
        })
        .await;
        let client = server.client();
        get(&client).await.unwrap();
        let failed = client.call(Method::POST, "/x", Some(&json!({})), PATIENCE).await;
        assert!(matches!(failed, Err(Failure::Unknown(_))), "{reply:?}: {failed:?}");
        get(&client).await.unwrap();
        for expected in [(1, "GET"), (1, "POST"), (2, "GET")] {
            let seen = server.next().await;
            let method = seen.head.split(' ').next().unwrap();
            assert_eq!((seen.connection, method), expected, "{reply:?}");
        }
    }
}

#[tokio::test]
async fn a_refused_connection_means_that_nothing_was_done() {
    let server = Server::start(|_| ok()).await;
    let (client, port) = (server.client(), server.port);
    drop(server);
    let Err(Failure::Unreachable(why)) = get(&client).await else { panic!("unreachable") };
    assert!(why.contains(&format!("http://127.0.0.1:{port}")) && why.contains("refused"), "{why}");
}

#[tokio::test]
async fn an_answer_has_a_limit() {
    let long = format!("\"{}\"", "x".repeat(super::super::LONGEST));
    let server = Server::start(move |_| Reply::Write(answer("200 OK", &long))).await;
    let failed = get(&server.client()).await;
    let is_told = matches!(&failed, Err(Failure::Strange { what, .. }) if what.contains("4 MiB"));
    assert!(is_told, "{failed:?}");
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "x".repeat(1 << 20));
    let server = Server::start(move |_| Reply::Last(head.clone())).await;
    let failed = get(&server.client()).await;
    assert!(
        matches!(&failed, Err(Failure::Unknown(why)) if why.contains("too large")),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_body_that_is_no_json_is_no_answer() {
    let server = Server::start(|_| Reply::Write(answer("200 OK", "well"))).await;
    let failed = get(&server.client()).await;
    assert!(
        matches!(&failed, Err(Failure::Unknown(why)) if why.contains("no API server")),
        "{failed:?}"
    );
    let server = Server::start(|_| Reply::Write(answer("200 OK", ""))).await;
    assert_eq!(get(&server.client()).await.unwrap(), Value::Null);
}

#[tokio::test]
async fn an_answer_of_no_api_server_is_named() {
    let page = "\n<!DOCTYPE html><title>404 Not Found</title>";
    for (status, body, expected) in [
        ("404 Not Found", page, "a web page"),
        ("200 OK", page, "a web page"),
        ("503 Unavailable", "<html>", "a web page"),
        ("302 Found", "", "a redirection"),
    ] {
        let server = Server::start(move |_| Reply::Write(answer(status, body))).await;
        let Err(Failure::Strange { status: code, what }) = get(&server.client()).await else {
            panic!("{status}")
        };
        assert_eq!((code.to_string().as_str(), what), (&status[..3], expected));
    }
}

#[test]
fn requests_are_counted_by_the_verb_of_a_role() {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/n/leases";
    for (method, path, expected) in [
        (Method::GET, format!("{leases}/leases"), "get"),
        (Method::GET, format!("{leases}?limit=7&labelSelector=a"), "list"),
        (Method::GET, format!("{leases}?watch=1&fieldSelector=a"), "watch"),
        (Method::GET, "/version".to_owned(), "get"),
        (Method::POST, leases.to_owned(), "create"),
        (Method::PUT, format!("{leases}/a"), "update"),
        (Method::DELETE, format!("{leases}/a"), "delete"),
    ] {
        assert_eq!(super::super::operation(&method, &path), expected, "{method} {path}");
    }
}
