//! ZooKeeper: one server, or an ensemble of three.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::held::archive;
use super::{Place, Process, free_port};
use crate::fault::{Mode, TcpProxy};

const JARS: &str = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:\
                    /usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar";
const JAVA: &str = "/usr/bin/java";
const PACKAGES: &str = "zookeeper default-jre-headless";
/// Options for a small heap and a quick start.
const FLAGS: [&str; 7] = [
    "-Xmx64m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    // Servers that live for seconds gain less by compiled code than it takes to compile.
    "-XX:CompileThresholdScaling=10",
    "-Xshare:auto",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dzookeeper.jmx.log4j.disable=true",
];
/// The pause between two checks whether a server serves.
const LOOK: Duration = Duration::from_millis(20);
/// The time limit for the answer to a four-letter word.
const ANSWER: Duration = Duration::from_secs(2);

/// The setup of servers.
#[derive(Clone, Debug)]
pub struct ZooKeeperSetup {
    /// The number of servers: 1 or 3.
    pub members: usize,
    /// The length of a tick. Sessions last 2 to 20 ticks.
    pub tick: Duration,
    /// Further lines of each server's configuration. Its number replaces `{member}`.
    pub lines: Vec<String>,
    /// Further lines for the last server only.
    pub last_lines: Vec<String>,
    /// Options for Java.
    pub options: Vec<String>,
    /// Whether the first of three servers reaches the others through proxies when one of them leads. See
    /// [`ZooKeeper::cut_off`].
    pub proxied: bool,
    /// The machine that they run on.
    pub place: Place,
}

impl Default for ZooKeeperSetup {
    fn default() -> Self {
        Self {
            members: 1,
            tick: Duration::from_millis(500),
            lines: Vec::new(),
            last_lines: Vec::new(),
            options: Vec::new(),
            proxied: false,
            place: Place::here(),
        }
    }
}

/// Running servers, whose tree is empty at first.
#[derive(Debug)]
pub struct ZooKeeper {
    members: Vec<Member>,
    /// The proxies between the first member and the other members.
    proxies: Vec<TcpProxy>,
    place: Place,
    directory: TempDir,
}

#[derive(Debug)]
struct Member {
    process: Process,
    address: SocketAddr,
}

impl ZooKeeper {
    /// Starts one server.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the packages.
    pub fn one() -> Self {
        Self::start(&ZooKeeperSetup::default())
    }

    /// Starts an ensemble of three.
    ///
    /// # Panics
    /// As [`ZooKeeper::one`].
    pub fn three() -> Self {
        Self::start(&ZooKeeperSetup { members: 3, ..ZooKeeperSetup::default() })
    }

    /// Has Java write the servers' loaded classes to an archive. Servers that start with it take two thirds of the
    /// time.
    ///
    /// # Panics
    /// As [`ZooKeeper::one`].
    pub(super) fn write_archive(to: &Path) {
        let part = to.with_extension("part");
        let options = vec![format!("-XX:ArchiveClassesAtExit={}", part.display())];
        let mut servers =
            Self::start(&ZooKeeperSetup { members: 3, options, ..Default::default() });
        let first = servers.member(0);
        first.signal(Signal::SIGTERM);
        first.wait();
        // The holder may have ended and removed the folder.
        let _ = fs::rename(part, to);
    }

    /// Starts servers by this setup, and returns when they serve.
    ///
    /// # Panics
    /// As [`ZooKeeper::one`].
    pub fn start(setup: &ZooKeeperSetup) -> Self {
        for jar in JARS.split(':') {
            assert!(Path::new(jar).exists(), "{jar} is missing: apt-get install {PACKAGES}");
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let plan = Plan::new(setup);
        let proxies = plan.proxies();
        let members =
            (0..setup.members).map(|index| plan.start(index, &proxies, directory.path())).collect();
        let mut started = Self { members, proxies, place: setup.place.clone(), directory };
        for index in 0..setup.members {
            started.wait_until_serving(index);
        }
        started
    }

    /// Returns the servers' addresses as a `zk://` URL.
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.members.iter().map(|member| member.address.to_string()).collect();
        format!("zk://{}", hosts.join(","))
    }

    /// Returns the servers' addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.address).collect()
    }

    /// Returns one server's address.
    pub fn address(&self, index: usize) -> SocketAddr {
        self.members[index].address
    }

    /// Returns the number of servers.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Returns one server's process, to stop, continue, kill or restart it.
    pub fn member(&mut self, index: usize) -> &mut Process {
        &mut self.members[index].process
    }

    /// Stops one by SIGSTOP. It is silent then, and keeps its connections.
    pub fn stop(&self, index: usize) {
        self.members[index].process.signal(Signal::SIGSTOP);
    }

    /// Continues a server that was stopped.
    pub fn resume(&self, index: usize) {
        self.members[index].process.signal(Signal::SIGCONT);
    }

    /// Returns the process ids of all servers.
    pub fn pids(&self) -> Vec<i32> {
        self.members.iter().map(|member| member.process.pid()).collect()
    }

    /// Returns a folder for further files of the test.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the server that leads the ensemble or is alone, if any.
    pub fn leader(&self) -> Option<usize> {
        (0..self.count())
            .find(|&index| matches!(self.mode(index).as_deref(), Some("leader" | "standalone")))
    }

    /// Returns its mode: `leader`, `follower` or `standalone`. `None` while it does not serve.
    pub fn mode(&self, index: usize) -> Option<String> {
        let reply = self.ask(index, "srvr").ok()?;
        reply.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
    }

    /// Returns its answer to a four-letter word.
    ///
    /// # Errors
    /// Returns an error without an answer within two seconds.
    pub fn ask(&self, index: usize, word: &str) -> io::Result<String> {
        let address = self.address(index);
        let mut stream = self.place.inside(|| TcpStream::connect_timeout(&address, ANSWER))?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(word.as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    }

    /// Waits until this server serves, which takes seconds after its start.
    ///
    /// # Panics
    /// Panics if it has died.
    pub fn wait_until_serving(&mut self, index: usize) {
        while self.mode(index).is_none() {
            let member = &mut self.members[index].process;
            assert!(member.is_alive(), "ZooKeeper has died: {}", member.log());
            thread::sleep(LOOK);
        }
    }

    /// Cuts the first member off from its leader until a [rejoin](Self::rejoin). Neither hears of the other, but
    /// both go on. The member takes itself for connected for a while.
    ///
    /// # Panics
    /// Without [`ZooKeeperSetup::proxied`].
    pub fn cut_off(&self) {
        assert!(
            !self.proxies.is_empty(),
            "there is nothing between the first member and the others"
        );
        for proxy in &self.proxies {
            proxy.both(Mode::Swallow);
        }
    }

    /// Ends what [`ZooKeeper::cut_off`] began. Bytes that were under way are lost.
    pub fn rejoin(&self) {
        for proxy in &self.proxies {
            proxy.cut();
            proxy.both(Mode::Pass);
        }
    }
}

/// The ports of all servers, chosen before any of them starts.
struct Plan<'a> {
    setup: &'a ZooKeeperSetup,
    clients: Vec<u16>,
    quorum: Vec<u16>,
    election: Vec<u16>,
}

impl<'a> Plan<'a> {
    fn new(setup: &'a ZooKeeperSetup) -> Self {
        let ports = || (0..setup.members).map(|_| free_port()).collect();
        Self { setup, clients: ports(), quorum: ports(), election: ports() }
    }

    fn proxies(&self) -> Vec<TcpProxy> {
        let others = self.quorum.iter().skip(1).filter(|_| self.setup.proxied);
        others.map(|&port| TcpProxy::start(loopback(port))).collect()
    }

    fn start(&self, index: usize, proxies: &[TcpProxy], directory: &Path) -> Member {
        let data = directory.join(format!("data{index}"));
        fs::create_dir_all(&data).expect("a directory");
        fs::write(data.join("myid"), format!("{}\n", index + 1)).expect("a file");
        let config = directory.join(format!("zoo{index}.cfg"));
        fs::write(&config, self.config(index, proxies, &data)).expect("a file");
        let class = match self.setup.members {
            1 => "org.apache.zookeeper.server.ZooKeeperServerMain",
            _ => "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        };
        let mut command = vec![JAVA];
        command.extend(FLAGS);
        let archive =
            archive().map(|archive| format!("-XX:SharedArchiveFile={}", archive.display()));
        command.extend(archive.iter().chain(&self.setup.options).map(String::as_str));
        command.extend(["-cp", JARS, class, config.to_str().expect("a path in UTF-8")]);
        let log: PathBuf = directory.join(format!("log{index}"));
        Member {
            process: Process::start(&command, &self.setup.place, &log, PACKAGES),
            address: SocketAddr::from((self.setup.place.address(), self.clients[index])),
        }
    }

    fn config(&self, index: usize, proxies: &[TcpProxy], data: &Path) -> String {
        let mut lines = vec![
            format!("tickTime={}", self.setup.tick.as_millis()),
            format!("dataDir={}", data.display()),
            format!("clientPort={}", self.clients[index]),
            format!("clientPortAddress={}", self.setup.place.address()),
            "admin.enableServer=false".into(),
            "4lw.commands.whitelist=*".into(),
            // No test has to survive a loss of power.
            "forceSync=no".into(),
            "maxClientCnxns=0".into(),
            "initLimit=10".into(),
            "syncLimit=5".into(),
        ];
        let own = |line: &String| line.replace("{member}", &index.to_string());
        lines.extend(self.setup.lines.iter().map(own));
        if index + 1 == self.setup.members {
            lines.extend(self.setup.last_lines.iter().cloned());
        }
        if self.setup.members > 1 {
            lines.extend((0..self.setup.members).map(|other| self.line(index, other, proxies)));
        }
        lines.join("\n") + "\n"
    }

    /// Returns the configuration line by which one server knows another.
    fn line(&self, index: usize, other: usize, proxies: &[TcpProxy]) -> String {
        let quorum = match proxies.get(other.wrapping_sub(1)) {
            Some(proxy) if index == 0 => proxy.address().port(),
            _ => self.quorum[other],
        };
        format!(
            "server.{}={}:{quorum}:{}",
            other + 1,
            self.setup.place.address(),
            self.election[other]
        )
    }
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}
