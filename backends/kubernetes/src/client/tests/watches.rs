use super::*;

/// The head of an answer without an end, and the first bytes of it.
fn stream(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{text}")
}

#[tokio::test]
async fn events_come_one_by_one_on_a_connection_of_their_own() {
    let mut server = Server::start(|seen| {
        if seen.head.contains("watch=1") {
            Reply::Last(stream("{\"type\":\"ADDED\"}\n{\"type\":\"MODIFIED\"}\n"))
        } else {
            ok()
        }
    })
    .await;
    let client = server.client();
    get(&client).await.unwrap();
    let mut watch = client.watch("/x?watch=1", PATIENCE).await.unwrap();
    get(&client).await.unwrap();
    for kind in ["ADDED", "MODIFIED"] {
        assert_eq!(watch.next(PATIENCE).await.unwrap(), Some(json!({"type": kind})));
    }
    assert_eq!(watch.next(PATIENCE).await.unwrap(), None);
    let seen = [server.next().await, server.next().await, server.next().await];
    assert_eq!(seen.map(|seen| seen.connection), [1, 2, 1]);
}

#[tokio::test]
async fn an_event_may_come_in_parts_and_its_wait_may_be_dropped() {
    let gate = Arc::new(Notify::new());
    let told = Arc::clone(&gate);
    let server = Server::start(move |_| {
        Reply::Parts(stream("{\"a\":"), Arc::clone(&told), "1}\n{\"b\":2}\n{".into())
    })
    .await;
    let mut watch = server.client().watch("/x", PATIENCE).await.unwrap();
    while watch.buffer.is_empty() {
        tokio::select! {
            biased;
            event = watch.next(PATIENCE) => panic!("half an event: {event:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    gate.notify_one();
    assert_eq!(watch.next(PATIENCE).await.unwrap(), Some(json!({"a": 1})));
    assert_eq!(watch.next(PATIENCE).await.unwrap(), Some(json!({"b": 2})));
}

#[tokio::test]
async fn silence_is_an_error() {
    let server = Server::start(|_| Reply::Write(stream(""))).await;
    let mut watch = server.client().watch("/x", PATIENCE).await.unwrap();
    let failed = watch.next(SOON).await;
    let said = |why: &str| why.contains("nothing came for 200ms");
    assert!(matches!(&failed, Err(Failure::Unknown(why)) if said(why)), "{failed:?}");
}

#[tokio::test]
async fn a_watch_is_refused_as_a_call_is() {
    let gone = r#"{"kind":"Status","reason":"Expired","message":"too old"}"#;
    let server = Server::start(move |_| Reply::Write(answer("410 Gone", gone))).await;
    let failed = server.client().watch("/x", PATIENCE).await;
    let Err(Failure::Refused { status: 410, reason, .. }) = failed else { panic!("refused") };
    assert_eq!(reason, "Expired");
    let server = Server::start(|_| Reply::Hang).await;
    let failed = server.client().watch("/x", SOON).await.err();
    assert!(matches!(failed, Some(Failure::Unknown(_))), "{failed:?}");
}

#[tokio::test]
async fn a_line_has_a_limit_and_must_be_json() {
    let long = stream(&"x".repeat(super::super::LONGEST + (1 << 20)));
    let server = Server::start(move |_| Reply::Write(long.clone())).await;
    let mut watch = server.client().watch("/x", PATIENCE).await.unwrap();
    let failed = watch.next(PATIENCE).await;
    assert!(matches!(&failed, Err(Failure::Unknown(why)) if why.contains("no end")), "{failed:?}");
    let server = Server::start(|_| Reply::Write(stream("hello\n"))).await;
    let mut watch = server.client().watch("/x", PATIENCE).await.unwrap();
    let failed = watch.next(PATIENCE).await;
    assert!(
        matches!(&failed, Err(Failure::Unknown(why)) if why.contains("no event")),
        "{failed:?}"
    );
}
