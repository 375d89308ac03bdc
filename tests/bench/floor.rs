//! The least that any contender takes: to start a command, and to send the requests that a leadership needs.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net;
use std::process::{Command, Stdio};
use std::time::Duration;

use elect_testkit::oracle::now;
use elect_testkit::servers::Consul;
use etcd_client::{Client, Compare, CompareOp, PutOptions, Txn, TxnOp};
use tokio::net::TcpStream;
use tokio_postgres::types::Type;
use tokio_postgres::{Config, NoTls};
use zookeeper_client::{Acls, CreateMode};

use crate::contender::Store;
use crate::databases::{MARIADB, POSTGRESQL, USER};
use crate::stage::Stage;

/// The least that a run of `true` can take, with this store.
pub(crate) fn run(stage: &Stage, store: Store) -> Duration {
    let from = now();
    match store {
        Store::File => flush(stage),
        Store::Etcd => block_on(etcd(stage)),
        Store::ZooKeeper => block_on(zookeeper(stage)),
        Store::MariaDb => mariadb(stage),
        Store::Postgres => block_on(postgres(stage)),
        Store::Redis => redis(stage),
        Store::Consul => consul(stage),
    }
    start(&["true".into()]);
    now().since(from)
}

/// fork, exec, wait.
pub(crate) fn start(words: &[OsString]) {
    let (program, arguments) = words.split_first().expect("a program");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().expect("it runs").success());
}

/// One small file, on the disk.
pub(crate) fn flush(stage: &Stage) {
    let mut file = File::create(stage.path("flushed")).expect("a file");
    file.write_all(b"1795253448884562\n").and_then(|()| file.sync_data()).expect("a disk");
}

/// A connection, a lease, an entry under it, and the end of both.
async fn etcd(stage: &Stage) {
    let endpoint = stage.etcd().endpoints()[0].to_string();
    let mut client = Client::connect([endpoint], None).await.expect("etcd");
    let lease = client.lease_grant(15, None).await.expect("a lease").id();
    let key = stage.fresh("floor");
    let put = TxnOp::put(key.as_str(), "value", Some(PutOptions::new().with_lease(lease)));
    let is_new = Compare::create_revision(key.as_str(), CompareOp::Equal, 0);
    client.txn(Txn::new().when([is_new]).and_then([put])).await.expect("an entry");
    client.lease_revoke(lease).await.expect("its end");
}

/// A session, an ephemeral node, a look at the queue, and the end of the session.
async fn zookeeper(stage: &Stage) {
    let address = stage.zookeeper().address(0).to_string();
    let client = zookeeper_client::Client::connect(&address).await.expect("ZooKeeper");
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let path = format!("/{}-", stage.fresh("floor"));
    client.create(&path, b"value", &options).await.expect("a node");
    client.list_children("/").await.expect("the queue");
}

/// A connection, a login, a row, and its end. Both writes wait for the disk.
async fn postgres(stage: &Stage) {
    let way = TcpStream::connect(stage.place(Store::Postgres)).await.expect("PostgreSQL");
    way.set_nodelay(true).expect("a connection");
    let mut login = Config::new();
    login.user(USER).dbname(POSTGRESQL.name);
    let (client, connection) = login.connect_raw(way, NoTls).await.expect("a login");
    let driver = tokio::spawn(connection);
    let name = stage.fresh("floor");
    for statement in
        ["INSERT INTO bench_floor VALUES ($1, 'value')", "DELETE FROM bench_floor WHERE name = $1"]
    {
        client.query_typed(statement, &[(&name, Type::TEXT)]).await.expect("a write");
    }
    driver.abort();
}

/// The same, by the least of its protocol: a login without a password, and statements as text.
fn mariadb(stage: &Stage) {
    /// The protocol of 4.1 with a database, and the old form of a password.
    const ABILITIES: u32 = 0x8208;
    /// Those, the longest packet, the character set utf8mb4, and 23 zeros.
    const LOGIN: usize = 4 + 4 + 1 + 23;
    let mut way = net::TcpStream::connect(stage.place(Store::MariaDb)).expect("MariaDB");
    way.set_nodelay(true).expect("a connection");
    packet(&mut way);
    let mut login = ABILITIES.to_le_bytes().to_vec();
    login.extend(0x0100_0000_u32.to_le_bytes());
    login.push(45);
    login.resize(LOGIN, 0);
    login.extend(format!("{USER}\0\0{}\0", MARIADB.name).bytes());
    send(&mut way, 1, &login);
    let name = stage.fresh("floor");
    for statement in [
        format!("\u{3}INSERT INTO bench_floor VALUES ('{name}', 'value')"),
        format!("\u{3}DELETE FROM bench_floor WHERE name = '{name}'"),
    ] {
        send(&mut way, 0, statement.as_bytes());
    }
}

/// A connection, a key, and its end.
fn redis(stage: &Stage) {
    let mut way = net::TcpStream::connect(stage.place(Store::Redis)).expect("Redis");
    way.set_nodelay(true).expect("a connection");
    let name = stage.fresh("floor");
    for (line, answer) in
        [(format!("SET {name} value NX\r\n"), "+OK\r\n"), (format!("DEL {name}\r\n"), ":1\r\n")]
    {
        way.write_all(line.as_bytes()).expect("a connection");
        let mut told = vec![0; answer.len()];
        way.read_exact(&mut told).expect("an answer");
        assert_eq!(told, answer.as_bytes(), "{line}");
    }
}

/// The same.
fn consul(stage: &Stage) {
    let mut way = net::TcpStream::connect(stage.place(Store::Consul)).expect("Consul");
    way.set_nodelay(true).expect("a connection");
    let (name, token) = (stage.fresh("floor"), Consul::token("elect"));
    for (method, query, body) in [("PUT", "?cas=0", "value"), ("DELETE", "", "")] {
        let request = format!(
            "{method} /v1/kv/{name}{query} HTTP/1.1\r\nHost: floor\r\nX-Consul-Token: {token}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        way.write_all(request.as_bytes()).expect("a connection");
        let mut told = [0; 4096];
        let mut length = 0;
        while !told[..length].ends_with(b"true\n") && !told[..length].ends_with(b"true") {
            let more = way.read(&mut told[length..]).expect("an answer");
            assert!(more > 0, "{}", String::from_utf8_lossy(&told[..length]));
            length += more;
        }
    }
}

/// Sends a packet, and expects the answer that all is well.
fn send(way: &mut net::TcpStream, number: u8, body: &[u8]) {
    let [low, middle, high, _] = u32::try_from(body.len()).expect("it is short").to_le_bytes();
    way.write_all(&[&[low, middle, high, number], body].concat()).expect("a connection");
    let answer = packet(way);
    assert_eq!(answer.first(), Some(&0), "{}", String::from_utf8_lossy(&answer));
}

fn packet(way: &mut net::TcpStream) -> Vec<u8> {
    let mut head = [0; 4];
    way.read_exact(&mut head).expect("an answer");
    let mut body = vec![0; usize::from(head[0]) | usize::from(head[1]) << 8];
    way.read_exact(&mut body).expect("an answer");
    body
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}
