//! Servers that one process holds for many tests. Each test has its own part of them.
//!
//! Each test is a process of its own, and a server takes longer to start than most laws take. So `tests/run` starts
//! a holder, one program that starts each kind of server at the first request. Without a holder each test starts its
//! own servers.

use std::collections::HashMap;
use std::env;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{
    Consul, DatabaseServer as _, DatabaseSetup, Dynalite, Etcd, MariaDb, Moto, MotoS3, Postgres,
    Redis, SeaweedFs, ZooKeeper, ZooKeeperSetup,
};

/// The variable with the path of the holder's socket.
const SOCKET: &str = "ELECT_TEST_SERVERS";
/// A file beside the socket: see [`ZooKeeper::write_archive`].
const ARCHIVE: &str = "zookeeper.jsa";
/// The request that the holder sends to itself when it has to end.
const END: &str = "end";

/// Running servers, and one test's own part of them.
#[derive(Clone, Debug)]
pub struct Part {
    /// The servers' addresses.
    pub servers: Vec<SocketAddr>,
    /// A unique name for the test's part, of lower-case letters and digits.
    pub name: String,
}

impl Part {
    /// Returns a part of Consul with so many servers, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start them.
    pub fn of_consul(servers: usize) -> Option<Self> {
        Self::of(&format!("consul {servers}"))
    }

    /// Returns a part of a program that answers as `DynamoDB` does, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start it.
    pub fn of_dynamodb(program: usize) -> Option<Self> {
        Self::of(&format!("dynamodb {program}"))
    }

    /// Returns a part of an etcd cluster with so many members, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start them.
    pub fn of_etcd(members: usize) -> Option<Self> {
        Self::of(&format!("etcd {members}"))
    }

    /// Returns a part of MariaDB, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start it.
    pub fn of_mariadb() -> Option<Self> {
        Self::of("mariadb")
    }

    /// Returns a part of a program that answers as S3 does, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start it.
    pub fn of_objects(program: usize) -> Option<Self> {
        Self::of(&format!("objects {program}"))
    }

    /// Returns a part of PostgreSQL, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start it.
    pub fn of_postgres() -> Option<Self> {
        Self::of("postgres")
    }

    /// Returns a part of Redis, or `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start it.
    pub fn of_redis() -> Option<Self> {
        Self::of("redis")
    }

    /// Returns a part of ZooKeeper with so many servers, this tick and these further lines of configuration, without
    /// spaces. `None` without a holder.
    ///
    /// # Panics
    /// Panics if the holder could not start them.
    pub fn of_zookeeper(members: usize, tick: Duration, lines: &[String]) -> Option<Self> {
        let words = [format!("zookeeper {members} {}", tick.as_millis())];
        Self::of(&[&words, lines].concat().join(" "))
    }

    fn of(wish: &str) -> Option<Self> {
        let socket = PathBuf::from(env::var_os(SOCKET)?);
        let reply = ask(&socket, wish).unwrap_or_else(|error| panic!("{SOCKET}, {wish}: {error}"));
        Some(Self::parse(&reply).unwrap_or_else(|| panic!("no {wish} is held: {reply:?}")))
    }

    fn parse(reply: &str) -> Option<Self> {
        let (name, servers) = reply.trim_end().split_once(' ')?;
        let servers = servers.split(',').map(|server| server.parse().ok());
        Some(Self { servers: servers.collect::<Option<_>>()?, name: name.to_owned() })
    }
}

fn ask(socket: &Path, wish: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{wish}")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

/// Returns the archive of Java classes for ZooKeeper's servers, once the holder has written it.
pub(super) fn archive() -> Option<PathBuf> {
    let socket = PathBuf::from(env::var_os(SOCKET)?);
    Some(socket.with_file_name(ARCHIVE)).filter(|archive| archive.exists())
}

/// Holds servers for all tests that ask at the socket, whose path it prints. Returns when standard input ends.
///
/// # Errors
/// Returns an error if the socket cannot be created.
///
/// # Panics
/// Panics if a server cannot be started.
pub fn hold() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket)?;
    writeln!(io::stdout(), "{}", socket.display())?;
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = ask(&socket, END);
    });
    // Servers die with the thread that starts them, which is this one.
    let mut held = Servers::new(folder.path());
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut wish = String::new();
        // The test that asks may die before its line is complete.
        if BufReader::new(&stream).read_line(&mut wish).is_err() {
            continue;
        }
        if wish.trim_end() == END {
            break;
        }
        let servers: Vec<String> =
            held.of(wish.trim_end()).iter().map(ToString::to_string).collect();
        held.parts += 1;
        let _ = writeln!(stream, "part{} {}", held.parts, servers.join(","));
    }
    Ok(())
}

/// The held servers, by the request that they were started for.
struct Servers {
    archive: PathBuf,
    consul: HashMap<String, Consul>,
    dynalite: Option<Dynalite>,
    etcd: HashMap<String, Etcd>,
    mariadb: Option<MariaDb>,
    moto: Option<Moto>,
    moto_s3: Option<MotoS3>,
    postgres: Option<Postgres>,
    redis: Option<Redis>,
    seaweedfs: Option<SeaweedFs>,
    zookeeper: HashMap<String, ZooKeeper>,
    parts: u64,
}

impl Servers {
    fn new(folder: &Path) -> Self {
        let archive = folder.join(ARCHIVE);
        Self {
            archive,
            consul: HashMap::new(),
            dynalite: None,
            etcd: HashMap::new(),
            mariadb: None,
            moto: None,
            moto_s3: None,
            postgres: None,
            redis: None,
            seaweedfs: None,
            zookeeper: HashMap::new(),
            parts: 0,
        }
    }

    fn of(&mut self, wish: &str) -> Vec<SocketAddr> {
        match wish.split(' ').collect::<Vec<_>>()[..] {
            ["etcd", members] => {
                let Ok(members) = members.parse() else { return Vec::new() };
                let start = || Etcd::start(members);
                self.etcd.entry(wish.to_owned()).or_insert_with(start).endpoints()
            }
            ["consul", servers] => {
                let Ok(servers) = servers.parse() else { return Vec::new() };
                let setup = DatabaseSetup::default();
                let start = || Consul::start_as(servers, &setup, &Value::Null);
                self.consul.entry(wish.to_owned()).or_insert_with(start).addresses()
            }
            ["dynamodb", "0"] => vec![self.moto.get_or_insert_with(Moto::start).address()],
            ["dynamodb", "1"] => vec![self.dynalite.get_or_insert_with(Dynalite::start).address()],
            ["mariadb"] => vec![self.mariadb.get_or_insert_with(MariaDb::start).address()],
            ["objects", "0"] => vec![self.moto_s3.get_or_insert_with(MotoS3::start).address()],
            ["objects", "1"] => {
                vec![self.seaweedfs.get_or_insert_with(SeaweedFs::start).address()]
            }
            ["postgres"] => vec![self.postgres.get_or_insert_with(Postgres::start).address()],
            ["redis"] => vec![self.redis.get_or_insert_with(Redis::start).address()],
            ["zookeeper", members, tick, ref lines @ ..] => {
                let (Ok(members), Ok(tick)) = (members.parse(), tick.parse()) else {
                    return Vec::new();
                };
                if self.zookeeper.is_empty() {
                    // A test that wants one ZooKeeper is soon followed by more.
                    let archive = self.archive.clone();
                    thread::spawn(move || ZooKeeper::write_archive(&archive));
                }
                let start = || {
                    ZooKeeper::start(&ZooKeeperSetup {
                        members,
                        tick: Duration::from_millis(tick),
                        lines: lines.iter().map(ToString::to_string).collect(),
                        ..ZooKeeperSetup::default()
                    })
                };
                self.zookeeper.entry(wish.to_owned()).or_insert_with(start).addresses()
            }
            _ => Vec::new(),
        }
    }
}
