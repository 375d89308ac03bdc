//! Credentials: what requests show, and how that is renewed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::super::connection::{Connection, Unanswered};
use super::*;

/// Sends a request as this user, and returns what the server saw.
async fn shown(user: &Value) -> Seen {
    let mut server = Server::start(|_| ok()).await;
    let url = format!("http://127.0.0.1:{}", server.port);
    get(&client(&json!({"server": url}), user)).await.unwrap();
    server.next().await
}

/// Sends a request, and expects this token in it.
async fn shows(client: &Client, server: &mut Server, token: &str) -> Result<Value, Failure> {
    let outcome = get(client).await;
    let seen = server.next().await;
    assert_eq!(header(&seen, "authorization"), Some(format!("Bearer {token}").as_str()));
    outcome
}

/// Half a minute and more later, as far as files are concerned.
async fn a_minute_later() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn users_have_tokens_or_passwords() {
    let seen = shown(&json!({"token": "t"})).await;
    assert_eq!(header(&seen, "authorization"), Some("Bearer t"));
    let seen = shown(&json!({"username": "u", "password": "p:w"})).await;
    let both = format!("Basic {}", BASE64.encode("u:p:w"));
    assert_eq!(header(&seen, "authorization"), Some(both.as_str()));
}

#[tokio::test]
async fn users_act_for_others() {
    let seen = shown(&json!({"token": "t", "as": "jane", "as-uid": "7", "as-groups": ["a", "b c"],
        "as-user-extra": {"Acme/Scope": ["x", "y"]}}))
    .await;
    let values = |name: &str| -> Vec<String> {
        let lines = seen.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).collect()
    };
    assert_eq!(values("impersonate-user"), ["jane"]);
    assert_eq!(values("impersonate-uid"), ["7"]);
    assert_eq!(values("impersonate-group"), ["a", "b c"]);
    assert_eq!(values("impersonate-extra-acme%2fscope"), ["x", "y"]);
}

#[tokio::test]
async fn a_token_in_a_file_is_read_again() {
    let folder = Folder::new();
    folder.write("token", " first\n");
    let mut server = Server::start(|seen| {
        if header(seen, "authorization") == Some("Bearer third") {
            Reply::Write(answer("401 Unauthorized", ""))
        } else {
            ok()
        }
    })
    .await;
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.port)});
    // A token beside it counts only while the file cannot be read.
    let path = folder.kubeconfig(&cluster, &json!({"token": "t", "tokenFile": "token"}));
    let client = Client::new(Access::find(Some(&path), None, nothing).unwrap());
    let mut shows = async |token: &str| shows(&client, &mut server, token).await;
    shows("first").await.unwrap();
    folder.write("token", "second");
    shows("first").await.unwrap();
    a_minute_later().await;
    shows("second").await.unwrap();
    // A file that cannot be read does no harm.
    fs::remove_file(folder.path().join("token")).unwrap();
    a_minute_later().await;
    shows("second").await.unwrap();
    folder.write("token", "third");
    a_minute_later().await;
    let refused = shows("third").await;
    assert!(matches!(refused, Err(Failure::Refused { status: 401, .. })), "{refused:?}");
    // The server does not know us: the next request looks at once.
    folder.write("token", "fourth");
    shows("fourth").await.unwrap();
}

/// A caller that only looks, and has no other credentials, does not hear of it.
#[tokio::test]
async fn a_token_that_has_ended_is_replaced_within_one_request() {
    let folder = Folder::new();
    let mut server = Server::start(|seen| match header(seen, "authorization") {
        Some("Bearer new") => ok(),
        _ => Reply::Write(answer("401 Unauthorized", "")),
    })
    .await;
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.port)});
    folder.write("token", "old");
    let path = folder.kubeconfig(&cluster, &json!({"tokenFile": "token"}));
    let client = Client::new(Access::find(Some(&path), None, nothing).unwrap());
    folder.write("token", "new");
    get(&client).await.unwrap();
    // Only once: a server that knows neither is not asked again and again.
    folder.write("token", "other");
    a_minute_later().await;
    get(&client).await.unwrap_err();
    let mut shown = Vec::new();
    while shown.last().is_none_or(|last| last != "Bearer other") {
        let seen = server.next().await;
        shown.push(header(&seen, "authorization").unwrap().to_owned());
    }
    assert_eq!(shown, ["Bearer old", "Bearer new", "Bearer other"]);
}

#[tokio::test]
async fn credentials_in_a_kubeconfig_are_read_again() {
    let folder = Folder::new();
    let mut server = Server::start(|seen| match header(seen, "authorization") {
        Some("Bearer good") => ok(),
        _ => Reply::Write(answer("401 Unauthorized", "")),
    })
    .await;
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.port)});
    let path = folder.kubeconfig(&cluster, &json!({"token": "old"}));
    let client = Client::new(Access::find(Some(&path), None, nothing).unwrap());
    let mut shows = async |token: &str| shows(&client, &mut server, token).await;
    shows("old").await.unwrap_err();
    // A file that is half written, leads elsewhere, or lacks our context does not count, and a finding says so.
    for (text, why) in [
        ("users: [", "is no kubeconfig"),
        ("", "there is no cluster"),
        (
            &fs::read_to_string(&path).unwrap().replace("127.0.0.1", "127.0.0.2"),
            "by now, and not to",
        ),
        (&fs::read_to_string(&path).unwrap().replace("\"x\"", "\"y\""), "no context \"x\""),
    ] {
        folder.write("config", text);
        shows("old").await.unwrap_err();
        let told = client.trouble().expect("it is not used");
        assert!(told.contains(why), "{told}");
    }
    // Another current context does not matter.
    let text = fs::read_to_string(folder.kubeconfig(&cluster, &json!({"token": "good"}))).unwrap();
    let text = text.replace("\"current-context\":\"x\"", "\"current-context\":\"y\"");
    folder.write("config", &text);
    shows("good").await.unwrap();
    assert_eq!(client.trouble(), None);
}

/// A user whose plugin is this script, which knows `$D`, the folder.
fn by_plugin(folder: &Folder, script: &str, more: &Value) -> Value {
    folder.program("plugin", script);
    let mut exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
        "args": ["a b"], "env": [{"name": "D", "value": folder.path()}],
        "interactiveMode": "IfAvailable", "installHint": "get it"});
    exec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"exec": exec})
}

/// A client of a server, by such a user.
fn plugged(folder: &Folder, server: &Server, script: &str, more: &Value) -> Client {
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.port), "extensions": [
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}]});
    let path = folder.kubeconfig(&cluster, &by_plugin(folder, script, more));
    let mut client = Client::new(Access::find(Some(&path), None, nothing).unwrap());
    // This machine may have much to do.
    client.patience = PATIENCE;
    client
}

/// Prints credentials with this status.
fn prints(status: &str) -> String {
    format!(
        "echo '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{status}}}'\n"
    )
}

#[tokio::test]
async fn a_plugin_runs_once_and_gets_its_input() {
    let folder = Folder::new();
    let script = format!(
        "echo run >>\"$D/runs\"; echo \"$1\" >\"$D/args\"; echo \"$KUBERNETES_EXEC_INFO\" >\"$D/info\"\n{}",
        prints(r#"{"token":"t"}"#)
    );
    let mut server = Server::start(|_| ok()).await;
    let client = plugged(&folder, &server, &script, &json!({"provideClusterInfo": true}));
    let (one, two) = tokio::join!(get(&client), get(&client));
    one.and(two).unwrap();
    get(&client).await.unwrap();
    for _ in 0..3 {
        assert_eq!(header(&server.next().await, "authorization"), Some("Bearer t"));
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read("runs"), read("args")), ("run\n".into(), "a b\n".into()));
    let info: Value = serde_json::from_str(&read("info")).unwrap();
    let url = format!("http://127.0.0.1:{}", server.port);
    let expected = json!({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
        "spec": {"interactive": false, "cluster": {"server": url, "config": {"audience": "us"}}}});
    assert_eq!(info, expected);
}

#[tokio::test]
async fn a_plugin_is_asked_again_after_401_and_before_its_word_ends() {
    let folder = Folder::new();
    // A token of an hour, one that has ended already, and one that ends within the minute.
    let script = "echo run >>\"$D/runs\"; n=$(wc -l <\"$D/runs\")\n\
        at() { date -u -d \"@$(($(date +%s) + $1))\" +%Y-%m-%dT%H:%M:%S+00:00; }\n\
        case $n in 1) t=$(at 3600);; 2) t=$(at -3600);; 3) t=$(at 30);; *) t=$(at 3600);; esac\n\
        echo \"{apiVersion: client.authentication.k8s.io/v1, status: {token: 't$n', expirationTimestamp: '$t'}}\"\n";
    let mut server = Server::start(|seen| match header(seen, "authorization") {
        Some("Bearer t1") => Reply::Write(answer("401 Unauthorized", "")),
        _ => ok(),
    })
    .await;
    let client = plugged(&folder, &server, script, &json!({}));
    for _ in 0..3 {
        get(&client).await.unwrap();
    }
    // It is good for a while, and renewed meanwhile.
    loop {
        get(&client).await.unwrap();
        let seen = server.next().await;
        if header(&seen, "authorization") == Some("Bearer t4") {
            break;
        }
    }
    assert_eq!(fs::read_to_string(folder.path().join("runs")).unwrap().lines().count(), 4);
}

#[tokio::test]
async fn no_call_waits_for_a_plugin_and_the_next_uses_its_answer() {
    let folder = Folder::new();
    let script =
        format!("read x <\"$D/gate\"\necho run >>\"$D/runs\"\n{}", prints(r#"{"token":"t"}"#));
    let gate = folder.path().join("gate");
    std::process::Command::new("mkfifo").arg(&gate).status().unwrap();
    let server = Server::start(|_| ok()).await;
    let client = plugged(&folder, &server, &script, &json!({}));
    for _ in 0..2 {
        let failed = client.call(Method::GET, "/x", None, SOON).await;
        let said = |why: &str| why.contains("/plugin of the user u of") && why.contains("200ms");
        assert!(matches!(&failed, Err(Failure::Unreachable(why)) if said(why)), "{failed:?}");
    }
    tokio::task::spawn_blocking(move || fs::write(gate, "\n")).await.unwrap().unwrap();
    get(&client).await.unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("runs")).unwrap(), "run\n");
}

/// Such as an agent that keeps a login for the next time.
#[tokio::test]
async fn a_plugin_may_leave_a_process_behind_that_has_its_streams() {
    let folder = Folder::new();
    let script = format!("sleep 20 &\necho $! >\"$D/pid\"\n{}", prints(r#"{"token":"t"}"#));
    let mut server = Server::start(|_| ok()).await;
    let client = plugged(&folder, &server, &script, &json!({}));
    let answer = get(&client).await;
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    answer.unwrap();
    assert_eq!(header(&server.next().await, "authorization"), Some("Bearer t"));
}

/// A candidate has 2 s for its first attempts, and more for later ones. Its message has to say more than "no answer".
#[tokio::test]
async fn a_plugin_that_hangs_is_told_before_an_attempt_is_over() {
    let folder = Folder::new();
    let server = Server::start(|_| ok()).await;
    // It outlives the test, which binds no helpers to itself, and ends.
    let mut client = plugged(&folder, &server, "exec sleep 6", &json!({}));
    client.patience = super::super::PATIENCE;
    let said = tokio::time::timeout(Duration::from_secs(2), get(&client)).await;
    let Err(Failure::Unreachable(why)) = said.expect("told in time") else { panic!("no answer") };
    assert!(why.contains("/plugin of the user u of") && why.contains("run kubectl"), "{why}");
    // A caller that only looks has more time, and uses it.
    let waits = tokio::time::timeout(Duration::from_secs(2), client.log_in(PATIENCE)).await;
    assert!(waits.is_err(), "{waits:?}");
}

#[tokio::test]
async fn a_plugin_that_fails_is_told_with_its_last_words() {
    let server = Server::start(|_| ok()).await;
    for (script, expected) in [
        (
            "echo hush; echo 1 >&2; echo Expired >&2; echo >&2; echo ' Log in first' >&2; exit 3",
            "exit status: 3; its last words: 1 | Expired | Log in first",
        ),
        ("seq 9 >&2; exit 1", "its last words: 5 | 6 | 7 | 8 | 9"),
        ("echo hush", "printed no credentials"),
        ("echo '{}'", "printed credentials of no apiVersion"),
        ("echo '{apiVersion: hush}'", "printed credentials of another apiVersion"),
        (&prints("{}"), "neither a token"),
        (&prints(r#"{"clientKeyData":"hush"}"#), "without its key"),
        (&prints(r#"{"token":"hush\u0007"}"#), "no header"),
        (&prints(r#"{"token":"t","expirationTimestamp":"hush"}"#), "no time of RFC 3339"),
        ("yes", "no credentials"),
    ] {
        let folder = Folder::new();
        // A plugin that prints too much gives no credentials.
        let script =
            if script == "yes" { "head -c 9000000 /dev/zero | tr '\\0' x" } else { script };
        let client = plugged(&folder, &server, script, &json!({}));
        let Err(Failure::Denied(why)) = get(&client).await else { panic!("{script}") };
        assert!(why.contains(expected) && why.contains("plugin"), "{script}: {why}");
        assert!(!why.contains("hush"), "{why}");
    }
    let folder = Folder::new();
    let client = plugged(&folder, &server, "", &json!({"command": "/nowhere/plugin"}));
    let Err(Failure::Denied(why)) = get(&client).await else { panic!("denied") };
    assert!(why.contains("/nowhere/plugin: it is not there") && why.ends_with("; get it"), "{why}");
    let client = plugged(&folder, &server, "", &json!({"command": "no-such-plugin"}));
    let Err(Failure::Denied(why)) = get(&client).await else { panic!("denied") };
    assert!(why.contains("not in PATH") && why.contains("the exec of the user u of"), "{why}");
}

#[tokio::test]
async fn a_request_that_was_not_sent_comes_back() {
    let mut server = Server::start(|_| ok()).await;
    let access = server.client().current.last();
    let mut connection = Connection::dial(&access, None).await.ok().unwrap();
    connection.close().await;
    let request = hyper::Request::get("/y").body(String::new()).unwrap();
    let Err(Unanswered::Unsent(request, _)) = connection.ask(request).await else { panic!("sent") };
    assert_eq!(request.uri(), "/y");
    let mut connection = Connection::dial(&access, None).await.ok().unwrap();
    connection.ask(*request).await.ok().unwrap();
    assert!(server.next().await.head.starts_with("GET /y "));
}
