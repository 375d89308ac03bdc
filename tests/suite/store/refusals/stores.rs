//! The stores, each with a way to have it give one answer.

use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::fault::{Disk, Mode, TcpProxy};
use elect_testkit::servers::Database as _;
use elect_testkit::servers::kubernetes::{Fault, Rule, Scope};
use elect_testkit::servers::{
    Authority, Consul, DatabaseServer as _, DatabaseSetup, MariaDb, Postgres, Redis, ZooKeeperSetup,
};
use serde_json::{Value, json};
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission};

use super::front::{GREETS, STARTS_TLS, front};
use super::{Refuser, redirected};
use crate::prelude::*;
use crate::store::balanced::{closes, foreign_server, is_foreign, is_unavailable, resets};
use crate::store::full::fill;

/// The address of a store, the protocol for TLS to agree on, and a function from an address to a URL. The function
/// takes the file of an authority if the way there is by TLS. The last is the authority of the server's own
/// certificate, if it has one.
pub(super) struct Plain<'a> {
    pub(super) target: SocketAddr,
    pub(super) protocol: &'a [u8],
    pub(super) url: &'a dyn Fn(SocketAddr, Option<&Path>) -> String,
    pub(super) own: Option<Arc<Authority>>,
}

/// Returns the stages that need nothing of the store.
pub(super) fn on_the_way(plain: Plain<'_>) -> Vec<Refuser> {
    let Plain { target, protocol, url, own } = plain;
    let bare = |address| url(address, None);
    let mut all = vec![
        redirected("connection closed without a byte", target, foreign_server(closes), &bare),
        redirected("connection reset", target, foreign_server(resets), &bare),
        redirected("HTTP status 503", target, foreign_server(is_unavailable), &bare),
        redirected("foreign bytes", target, foreign_server(is_foreign), &bare),
    ];
    let name: &[&str] = &["127.0.0.1"];
    let has_own = own.is_some();
    let authority = own.unwrap_or_else(|| Arc::new(Authority::new()));
    let good = if has_own { target } else { front(&authority.server(name), protocol, target) };
    let trusted = |address| url(address, Some(&authority.ca()));
    for (answer, pem) in [
        ("certificate of an unknown authority", Authority::new().server(name)),
        ("expired certificate", authority.expired(name)),
        ("certificate for another name", authority.server(&["elsewhere.example"])),
    ] {
        // The other authority's files are gone when this returns.
        let bad = front(&pem, protocol, target);
        let stage = redirected(answer, good, bad, &trusted);
        all.push(Refuser { keeps: Box::new(Arc::clone(&authority)), ..stage });
    }
    let proxy = Arc::new(TcpProxy::start(target));
    let (url, other) = (bare(proxy.address()), Arc::clone(&proxy));
    all.push(Refuser {
        answer: "silence",
        url,
        begin: Box::new(move || proxy.both(Mode::Swallow)),
        end: Box::new(move || {
            other.both(Mode::Pass);
            other.cut();
        }),
        keeps: Box::new(()),
    });
    all
}

/// All of them live as long as the last stage that has them.
pub(super) fn keep(mut stages: Vec<Refuser>, what: impl Send + Sync + 'static) -> Vec<Refuser> {
    let what = Arc::new(what);
    for stage in &mut stages {
        let kept = std::mem::replace(&mut stage.keeps, Box::new(()));
        stage.keeps = Box::new((kept, Arc::clone(&what)));
    }
    numbered(stages)
}

/// On one server each has a place of its own, of which the URL has the number.
fn numbered(mut stages: Vec<Refuser>) -> Vec<Refuser> {
    for (number, stage) in stages.iter_mut().enumerate() {
        stage.url = stage.url.replace("PLACE", &format!("place{number}"));
    }
    stages
}

pub(super) fn etcd() -> Vec<Refuser> {
    let etcd = Etcd::start(1);
    let url = |address: SocketAddr, ca: Option<&Path>| match ca {
        None => format!("etcd://{address}/PLACE"),
        Some(ca) => format!("etcd+tls://{address}/PLACE?ca={}", ca.display()),
    };
    let target = etcd.endpoints()[0];
    let mut all = on_the_way(Plain { target, protocol: b"h2", url: &url, own: None });
    let proxy = Arc::new(TcpProxy::start(target));
    let (way, other) = (url(proxy.address(), None), Arc::clone(&proxy));
    all.push(Refuser {
        answer: "too many connections",
        url: way,
        begin: Box::new(move || {
            proxy.refuse(true);
            proxy.cut();
        }),
        end: Box::new(move || other.refuse(false)),
        keeps: Box::new(()),
    });
    let mut all = keep(all, Mutex::new(etcd));
    all.extend([etcd_of_users(true), etcd_of_users(false), etcd_that_is_full()]);
    all
}

fn etcd_of_users(by_password: bool) -> Refuser {
    let etcd = Etcd::start(1);
    etcd.demand_logins(&[("me", "old", &["readwrite elect/"])]);
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("password");
    fs::write(&file, "old").expect("a file");
    let url = etcd.url().replace("://", "://me@");
    let url = format!("{url}?password-file={}", file.display());
    let etcd = Arc::new(Mutex::new(etcd));
    let change = move |word: &str, password: &str| {
        let etcd = etcd.lock().expect("not poisoned");
        if by_password {
            etcd.change_password("me", password);
        } else if word == "revoke-permission" {
            etcd.ctl(&["--user=root:root", "role", word, "--prefix=true", "me", "elect/"]);
        } else {
            let right = ["me", "readwrite", "elect/"];
            etcd.ctl(&[&["--user=root:root", "role", word, "--prefix=true"], &right[..]].concat());
        }
    };
    let undo = change.clone();
    Refuser {
        answer: ["a right is missing (403)", "user, password or token refused (401)"]
            [usize::from(by_password)],
        url,
        begin: Box::new(move || change("revoke-permission", "new")),
        end: Box::new(move || undo("grant-permission", "old")),
        keeps: Box::new(folder),
    }
}

fn etcd_that_is_full() -> Refuser {
    let etcd = Arc::new(Etcd::start_with(1, &["--quota-backend-bytes=1000000"]));
    let (url, other) = (etcd.url(), Arc::clone(&etcd));
    let end = move || {
        other.ctl(&["del", "--prefix", "filler"]);
        let status = other.ctl(&["get", "x", "-w", "fields"]);
        let revision = status.split("\"Revision\" : ").nth(1).and_then(|rest| rest.lines().next());
        other.ctl(&["compact", revision.expect("a revision").trim()]);
        other.ctl(&["defrag"]);
        other.ctl(&["alarm", "disarm"]);
    };
    let begin = Box::new(move || fill(&etcd));
    Refuser { answer: "no space", url, begin, end: Box::new(end), keeps: Box::new(()) }
}

pub(super) fn kubernetes() -> Vec<Refuser> {
    let server = Arc::new(ApiServer::start());
    let folder = TempDir::new().expect("a folder");
    let numbers = std::cell::Cell::new(0);
    let config = fs::read_to_string(server.kubeconfig()).expect("a kubeconfig");
    let address = config.split("server: http://").nth(1).and_then(|rest| rest.lines().next());
    let target: SocketAddr = address.expect("a server").trim().parse().expect("an address");
    let url = |address: SocketAddr, ca: Option<&Path>| {
        numbers.set(numbers.get() + 1);
        let namespace = format!("space{}", numbers.get());
        server.add_namespace(&namespace);
        let place = match ca {
            None => format!("server: http://{address}"),
            Some(ca) => {
                format!("server: https://{address}\n    certificate-authority: {}", ca.display())
            }
        };
        let own = config.replace(&format!("server: http://{target}"), &place);
        let path = folder.path().join(&namespace);
        fs::write(&path, own).expect("a kubeconfig");
        ApiServer::url_with(&namespace, &path)
    };
    let mut all = on_the_way(Plain { target, protocol: b"http/1.1", url: &url, own: None });
    let verbs = ["get", "list", "watch", "create", "update", "delete"];
    let own = |name: &str| vec![Rule::leases(name, &verbs)];
    for by_token in [true, false] {
        let name = if by_token { "token" } else { "right" };
        server.add_namespace(name);
        let path = server.add_user(name, &own(name));
        let (one, other) = (Arc::clone(&server), Arc::clone(&server));
        let rules = own(name);
        all.push(Refuser {
            answer: ["a right is missing (403)", "user, password or token refused (401)"]
                [usize::from(by_token)],
            url: ApiServer::url_with(name, &path),
            begin: Box::new(move || {
                if by_token {
                    one.expire(&format!("{name}-token"));
                } else {
                    one.add_user(name, &[]);
                }
            }),
            end: Box::new(move || _ = other.add_user(name, &rules)),
            keeps: Box::new(()),
        });
    }
    let busy = Arc::new(ApiServer::start());
    let (url, other) = (busy.url("elect"), Arc::clone(&busy));
    all.push(Refuser {
        answer: "too many connections",
        url,
        begin: Box::new(move || busy.fault(Fault::Throttle(Scope::all(), 1))),
        end: Box::new(move || other.fault(Fault::None)),
        keeps: Box::new(()),
    });
    keep(all, (Mutex::new(folder), server))
}

pub(super) fn postgresql() -> Vec<Refuser> {
    let server = Arc::new(Postgres::start());
    let folder = TempDir::new().expect("a folder");
    let password = folder.path().join("password");
    fs::write(&password, "old").expect("a file");
    let of = |role: &str, address: SocketAddr, rest: &str| {
        format!("postgresql://{role}@{address}/postgres?schema=PLACE&sslmode={rest}")
    };
    let url = |address: SocketAddr, ca: Option<&Path>| match ca {
        None => of("elect", address, "disable"),
        Some(ca) => of("elect", address, &format!("verify-full&sslrootcert={}", ca.display())),
    };
    let target = server.address();
    let mut all = on_the_way(Plain { target, protocol: STARTS_TLS, url: &url, own: None });
    server.rule("host all locked all scram-sha-256");
    for (answer, role, begin, end) in [
        (
            "user, password or token refused (401)",
            "locked",
            "ALTER ROLE locked PASSWORD 'new'",
            "ALTER ROLE locked PASSWORD 'old'",
        ),
        (
            "a right is missing (403)",
            "poor",
            "REVOKE ALL ON ALL TABLES IN SCHEMA poor FROM poor",
            "GRANT ALL ON ALL TABLES IN SCHEMA poor TO poor",
        ),
        (
            "too many connections",
            "crowded",
            "ALTER ROLE crowded CONNECTION LIMIT 0",
            "ALTER ROLE crowded CONNECTION LIMIT -1",
        ),
        (
            "read-only server",
            "still",
            "ALTER ROLE still SET default_transaction_read_only = on",
            "ALTER ROLE still RESET default_transaction_read_only",
        ),
    ] {
        server.ask(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'old'; GRANT CREATE ON DATABASE postgres TO {role}"
        ));
        // What counts for new sessions has to reach all.
        let leave = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"
        );
        let does = |statement: &'static str| {
            let (server, leave) = (Arc::clone(&server), leave.clone());
            Box::new(move || {
                server.ask(statement);
                server.ask(&leave);
            })
        };
        let rest = format!("disable&password-file={}", password.display());
        all.push(Refuser {
            answer,
            url: of(role, target, &rest).replace("PLACE", role),
            begin: does(begin),
            end: does(end),
            keeps: Box::new(()),
        });
    }
    keep(all, (Mutex::new(folder), server))
}

pub(super) fn mariadb() -> Vec<Refuser> {
    let authority = Arc::new(Authority::new());
    let pem = authority.server(&["127.0.0.1"]);
    // The server may run as another user.
    fs::set_permissions(&pem.key, Permissions::from_mode(0o644)).expect("our own");
    let [cert, key] = [("cert", &pem.cert), ("key", &pem.key)]
        .map(|(name, path)| format!("--ssl-{name}={}", path.display()));
    let server = Arc::new(MariaDb::start_with(&[&cert, &key]));
    let folder = TempDir::new().expect("a folder");
    let password = folder.path().join("password");
    fs::write(&password, "old").expect("a file");
    let url = |address: SocketAddr, ca: Option<&Path>| {
        let mode = match ca {
            None => "DISABLED".to_owned(),
            Some(ca) => format!("VERIFY_IDENTITY&ssl-ca={}", ca.display()),
        };
        format!("mariadb://elect@{address}/jobs?table=PLACE&ssl-mode={mode}")
    };
    let bare = |address| url(address, None);
    let target = server.address();
    let own = Some(Arc::clone(&authority));
    let mut all = on_the_way(Plain { target, protocol: GREETS, url: &url, own });
    let limited = MariaDb::start_with(&["--max-connections=10", "--connect-timeout=600"]);
    // One more is kept for an administrator.
    let taken = connections(limited.address(), 11);
    all.push(redirected("too many connections", target, limited.address(), &bare));
    let still = MariaDb::start_with(&["--read-only=1"]);
    all.push(redirected("read-only server", target, still.address(), &bare));
    for (answer, user, begin, end) in [
        (
            "user, password or token refused (401)",
            "locked",
            "ALTER USER locked@'%' IDENTIFIED BY 'new'",
            "ALTER USER locked@'%' IDENTIFIED BY 'old'",
        ),
        (
            "a right is missing (403)",
            "poor",
            "REVOKE ALL ON jobs.* FROM poor@'%'",
            "GRANT ALL ON jobs.* TO poor@'%'",
        ),
    ] {
        server.ask(&format!(
            "CREATE USER {user}@'%' IDENTIFIED BY 'old'; GRANT ALL ON jobs.* TO {user}@'%'"
        ));
        // What counts for new sessions has to reach all.
        let does = |statement: &str| {
            let statements = format!("{statement}; KILL USER {user}");
            let server = Arc::clone(&server);
            Box::new(move || _ = server.ask(&statements))
        };
        let file = password.display();
        all.push(Refuser {
            answer,
            url: format!(
                "mariadb://{user}@{target}/jobs?table={user}&ssl-mode=DISABLED&password-file={file}"
            ),
            begin: does(begin),
            end: does(end),
            keeps: Box::new(()),
        });
    }
    keep(all, Mutex::new((folder, taken, limited, still, authority, server)))
}

pub(super) fn redis() -> Vec<Refuser> {
    let server = Arc::new(Redis::start());
    // The first replica makes the server begin another history: it comes before all candidates.
    let replica = server.replica();
    let folder = TempDir::new().expect("a folder");
    let password = folder.path().join("password");
    fs::write(&password, "old").expect("a file");
    let url = |address: SocketAddr, ca: Option<&Path>| match ca {
        None => format!("redis://elect@{address}?prefix=PLACE"),
        Some(ca) => format!("rediss://elect@{address}?prefix=PLACE&ca={}", ca.display()),
    };
    let bare = |address| url(address, None);
    let target = server.address();
    let mut all = on_the_way(Plain { target, protocol: b"", url: &url, own: None });
    let limited = Redis::start_with(&["--maxclients 10"]);
    all.push(redirected("too many connections", target, limited.address(), &bare));
    all.push(redirected("read-only server", target, replica.address(), &bare));
    let taken = connections(limited.address(), 10);
    for (answer, user, begin, end) in [
        (
            "user, password or token refused (401)",
            "locked",
            "ACL SETUSER locked resetpass >new",
            "ACL SETUSER locked resetpass >old",
        ),
        ("a right is missing (403)", "poor", "ACL SETUSER poor -eval", "ACL SETUSER poor +eval"),
    ] {
        server.ask(&format!("ACL SETUSER {user} on >old ~* &* +@all"));
        // What counts at a login has to reach all.
        let does = |command: &str| {
            let (server, commands) =
                (Arc::clone(&server), format!("{command}\nCLIENT KILL USER {user}"));
            Box::new(move || _ = server.ask(&commands))
        };
        let file = password.display();
        all.push(Refuser {
            answer,
            url: format!("redis://{user}@{target}?prefix=PLACE&password-file={file}"),
            begin: does(begin),
            end: does(end),
            keeps: Box::new(()),
        });
    }
    let full = Arc::new(Redis::start());
    full.begin_here();
    let does = |command: &'static str| {
        let full = Arc::clone(&full);
        Box::new(move || _ = full.ask(command))
    };
    let mut all = keep(all, (Mutex::new((folder, taken, limited, replica)), server));
    for number in 0..all.len() {
        Redis::begin(target, &format!("place{number}"));
    }
    all.push(Refuser {
        answer: "no space",
        url: format!("redis://elect@{}", full.address()),
        begin: does("CONFIG SET maxmemory 1"),
        end: does("CONFIG SET maxmemory 0"),
        keeps: Box::new(()),
    });
    all
}

/// So many connections with a server, which says nothing on them.
fn connections(server: SocketAddr, number: usize) -> Vec<TcpStream> {
    (0..number).map(|_| TcpStream::connect(server).expect("it listens")).collect()
}

pub(super) fn consul() -> Vec<Refuser> {
    let server = Consul::start();
    let url = |address: SocketAddr, ca: Option<&Path>| {
        let token = Consul::token("elect");
        match ca {
            None => format!("consul://elect:{token}@{address}/PLACE"),
            Some(ca) => format!("consul+tls://elect:{token}@{address}/PLACE?ca={}", ca.display()),
        }
    };
    let target = server.address();
    let mut all = on_the_way(Plain { target, protocol: b"http/1.1", url: &url, own: None });
    let limits = json!({"limits": {"http_max_conns_per_client": 10}});
    let limited = Consul::start_as(1, &DatabaseSetup::default(), &limits);
    all.push(redirected("too many connections", target, limited.address(), &|it| url(it, None)));
    let taken = connections(limited.address(), 10);
    let policy = |user: &str, right: &str| {
        let rules = format!("key_prefix \"{user}/\" {{ policy = \"{right}\" }}");
        json!({"Name": user, "Rules": rules}).to_string()
    };
    let credential = |user: &str| {
        let accessor = Consul::token(&format!("accessor of {user}"));
        json!({"AccessorID": accessor, "SecretID": Consul::token(user), "Policies": [{"Name": user}]})
            .to_string()
    };
    let ask = move |method: &str, path: &str, body: &str| {
        Consul::ask_at(target, method, &format!("/v1/acl/{path}"), body)
    };
    for user in ["locked", "poor"] {
        let made = ask("PUT", "policy", &policy(user, "write"));
        let id = serde_json::from_str::<Value>(&made).expect("a policy")["ID"].clone();
        ask("PUT", "token", &credential(user));
        let by_token = user == "locked";
        let accessor = format!("token/{}", Consul::token(&format!("accessor of {user}")));
        let path = format!("policy/{}", id.as_str().expect("an id"));
        let (less, more) = (policy(user, "read"), policy(user, "write"));
        let (begin, end, anew) = (path.clone(), path, credential(user));
        all.push(Refuser {
            answer: ["a right is missing (403)", "user, password or token refused (401)"]
                [usize::from(by_token)],
            url: format!("consul://{user}:{}@{target}/{user}", Consul::token(user)),
            begin: Box::new(move || {
                _ = if by_token { ask("DELETE", &accessor, "") } else { ask("PUT", &begin, &less) };
            }),
            end: Box::new(move || {
                _ = if by_token { ask("PUT", "token", &anew) } else { ask("PUT", &end, &more) };
            }),
            keeps: Box::new(()),
        });
    }
    keep(all, Mutex::new((taken, limited, server)))
}

pub(super) fn zookeeper() -> Vec<Refuser> {
    let server = ZooKeeper::one();
    let limit =
        ZooKeeperSetup { lines: vec!["maxClientCnxns=1".into()], ..ZooKeeperSetup::default() };
    let limited = ZooKeeper::start(&limit);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let handle = runtime.handle().clone();
    // Sessions are kept alive on it until the test ends.
    thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    let connect = |address: SocketAddr| handle.block_on(Client::connect(&address.to_string()));
    let client = connect(server.address(0)).expect("a session");
    let taken = connect(limited.address(0)).expect("a session");
    let url = |address: SocketAddr, ca: Option<&Path>| match ca {
        None => format!("zk://{address}/PLACE"),
        Some(ca) => format!("zk+tls://{address}/PLACE?ca={}", ca.display()),
    };
    let (target, full) = (server.address(0), limited.address(0));
    let mut all = on_the_way(Plain { target, protocol: b"", url: &url, own: None });
    all.push(redirected("too many connections", target, full, &|address| url(address, None)));
    let mode = CreateMode::Persistent.with_acls(Acls::anyone_all());
    handle.block_on(client.create("/denied", b"", &mode)).expect("a node");
    let own = handle.clone();
    let set = move |permissions: &[Permission]| {
        let acls = permissions.iter().map(|it| Acl::new(*it, AuthId::anyone())).collect::<Vec<_>>();
        let done = client.set_acl("/denied/job", &Acls::new(&acls), None);
        own.block_on(done).expect("its rights");
    };
    let undo = set.clone();
    all.push(Refuser {
        answer: "a right is missing (403)",
        url: format!("zk://{target}/denied"),
        begin: Box::new(move || set(&[Permission::READ, Permission::ADMIN])),
        end: Box::new(move || undo(&[Permission::ALL])),
        keeps: Box::new(()),
    });
    let mut all = keep(all, Mutex::new((server, limited, taken)));
    all.push(read_only());
    all
}

fn read_only() -> Refuser {
    let options = vec!["-Dreadonlymode.enabled=true".into()];
    let setup = ZooKeeperSetup { members: 3, options, ..ZooKeeperSetup::default() };
    let servers = Arc::new(Mutex::new(ZooKeeper::start(&setup)));
    let url = format!("zk://{}", servers.lock().expect("not poisoned").address(0));
    let other = Arc::clone(&servers);
    Refuser {
        answer: "read-only server",
        url,
        begin: Box::new(move || {
            let mut servers = servers.lock().expect("not poisoned");
            servers.member(1).kill();
            servers.member(2).kill();
            eventually("a server that only shows", || {
                (servers.mode(0).as_deref() == Some("read-only")).then_some(())
            });
        }),
        end: Box::new(move || {
            let mut servers = other.lock().expect("not poisoned");
            servers.member(1).restart();
            servers.member(2).restart();
        }),
        keeps: Box::new(()),
    }
}

pub(super) fn local() -> Vec<Refuser> {
    let disk = Arc::new(Disk::of_kib(64));
    let (url, other) = (format!("file://{}/state", disk.path().display()), Arc::clone(&disk));
    let begin = Box::new(move || disk.fill());
    let end = Box::new(move || other.free());
    vec![Refuser { answer: "no space", url, begin, end, keeps: Box::new(()) }]
}
