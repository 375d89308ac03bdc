use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::{Place, Process, fetched, free_port};
use crate::fault::Network;
use crate::program::{eventually, state};

/// The variable that names the `etcd` binary for clusters of several members, instead of the one on the search path. It
/// should be a version that keeps leases when its leader stalls.
const OVERRIDE: &str = "ELECT_TEST_ETCD";
/// The machine's own binary.
const OWN: &str = "etcd";
const SERVER_PACKAGE: &str = "etcd-server";
const CLIENT_PACKAGE: &str = "etcd-client";

/// A cluster of etcd on the loopback interface. It serves when `start` returns.
///
/// For several members the environment variable `ELECT_TEST_ETCD` can name another binary than `etcd`: one that keeps
/// leases when a leader stalls. Both versions are so tested where they differ.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    secure: bool,
    folder: TempDir,
}

#[derive(Debug)]
struct Member {
    process: Process,
    place: Place,
    clients: SocketAddr,
    /// Where it serves its metrics, to all clients and without TLS.
    metrics: SocketAddr,
}

impl Member {
    /// Returns the page at a path with its headers, or `None` without an answer.
    fn get(&self, path: &str) -> Option<String> {
        let limit = Duration::from_secs(5);
        let connect = || TcpStream::connect_timeout(&self.metrics, limit);
        let mut stream = self.place.inside(connect).ok()?;
        stream.set_read_timeout(Some(limit)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        Some(page)
    }
}

/// Returns the binary for clusters: the one that the variable names, or that `tests/run` has fetched.
fn other_version() -> Option<String> {
    let named = std::env::var(OVERRIDE).ok();
    named.or_else(|| fetched("etcd/usr/bin/etcd").map(|binary| binary.display().to_string()))
}

/// Members that stay stopped until this value is dropped.
#[derive(Debug)]
pub struct Stopped(Vec<i32>);

/// The addresses of a member.
struct Site {
    place: Place,
    clients: SocketAddr,
    peers: SocketAddr,
    metrics: SocketAddr,
}

impl Site {
    fn at(place: &Place) -> Self {
        let free = || SocketAddr::from((place.address(), free_port()));
        Self { place: place.clone(), clients: free(), peers: free(), metrics: free() }
    }

    fn command(
        &self,
        binary: String,
        name: &str,
        data: &Path,
        cluster: &str,
        secure: bool,
    ) -> Vec<String> {
        let scheme = if secure { "https" } else { "http" };
        let Self { clients, peers, metrics, .. } = self;
        [
            binary,
            format!("--name={name}"),
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls={scheme}://{clients}"),
            format!("--advertise-client-urls={scheme}://{clients}"),
            format!("--listen-metrics-urls=http://{metrics}"),
            format!("--listen-peer-urls=http://{peers}"),
            format!("--initial-advertise-peer-urls=http://{peers}"),
            format!("--initial-cluster={cluster}"),
            "--heartbeat-interval=50".to_owned(),
            "--election-timeout=500".to_owned(),
            "--logger=zap".to_owned(),
            "--log-level=warn".to_owned(),
            // A password takes etcd half a second of a processor by default, and several times that on a busy machine.
            "--bcrypt-cost=4".to_owned(),
        ]
        .into()
    }
}

impl Etcd {
    /// Starts a cluster of so many members.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start(members: usize) -> Self {
        Self::start_with(members, &[])
    }

    /// Starts a cluster with further arguments for each member, whose number replaces `{member}`. With arguments for
    /// TLS (`--cert-file=...`, ...) it serves clients over TLS only.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start_with(members: usize, arguments: &[&str]) -> Self {
        Self::spawn(&vec![Place::here(); members], arguments)
    }

    /// Starts a cluster of so many members, all of the `etcd` on the search path, however old that is.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start_own(members: usize) -> Self {
        Self::spawn_binary(OWN, &vec![Place::here(); members], &[])
    }

    /// Starts a cluster of so many members at another place.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start_at(members: usize, place: &Place) -> Self {
        Self::spawn(&vec![place.clone(); members], &[])
    }

    /// Starts a cluster with one member on each of the first `members` machines of a network. Only the network's
    /// machines reach it.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start_on(network: &Arc<Network>, members: usize) -> Self {
        let places = (0..members).map(|machine| Place::on(network, machine));
        Self::spawn(&places.collect::<Vec<_>>(), &[])
    }

    fn spawn(places: &[Place], arguments: &[&str]) -> Self {
        let other = other_version().filter(|_| places.len() > 1);
        Self::spawn_binary(other.as_deref().unwrap_or(OWN), places, arguments)
    }

    fn spawn_binary(binary: &str, places: &[Place], arguments: &[&str]) -> Self {
        let sites: Vec<Site> = places.iter().map(Site::at).collect();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let secure = arguments.iter().any(|argument| argument.starts_with("--cert-file"));
        let peers = sites.iter().enumerate().map(|(n, site)| format!("m{n}=http://{}", site.peers));
        let cluster = peers.collect::<Vec<_>>().join(",");
        let members = sites.iter().enumerate().map(|(number, site)| {
            let log = folder.path().join(format!("m{number}.log"));
            let data = folder.path().join(format!("m{number}"));
            let mut command =
                site.command(binary.to_owned(), &format!("m{number}"), &data, &cluster, secure);
            let own = |argument: &&str| argument.replace("{member}", &number.to_string());
            command.extend(arguments.iter().map(own));
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            let process = Process::start(&command, &site.place, &log, SERVER_PACKAGE);
            let place = site.place.clone();
            Member { process, place, clients: site.clients, metrics: site.metrics }
        });
        let mut cluster = Self { members: members.collect(), secure, folder };
        cluster.wait_until_it_serves();
        cluster
    }

    /// Waits until every living member answers a linearizable read.
    ///
    /// # Panics
    /// Panics if that takes too long, or if a member ends first. The message has the member's log.
    pub fn wait_until_it_serves(&mut self) {
        let started: Vec<bool> =
            self.members.iter_mut().map(|member| member.process.is_alive()).collect();
        for (member, _) in self.members.iter_mut().zip(started).filter(|(_, started)| *started) {
            eventually("etcd to serve", || {
                let log = member.process.log();
                assert!(member.process.is_alive(), "etcd has ended: {log}");
                member.get("/health")?.contains("\"true\"").then_some(())
            });
        }
    }

    /// Returns the URL of elect's store on this cluster.
    pub fn url(&self) -> String {
        self.url_through(&self.endpoints())
    }

    /// Returns the URL of elect's store on this cluster, with these addresses instead of the members' own.
    pub fn url_through(&self, ways: &[SocketAddr]) -> String {
        let scheme = if self.secure { "etcd+tls" } else { "etcd" };
        let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
        format!("{scheme}://{}", ways.join(","))
    }

    /// Returns the addresses at which its members serve clients.
    pub fn endpoints(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.clients).collect()
    }

    /// Returns a member's process, to stop, kill or restart it.
    pub fn member(&mut self, number: usize) -> &mut Process {
        &mut self.members[number].process
    }

    /// Returns a member's data folder. A test can copy it while the member is dead, and put it back as an older backup.
    pub fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("m{number}"))
    }

    /// Waits until a member leads, and returns its number.
    ///
    /// # Panics
    /// Panics if that takes too long.
    pub fn leader(&self) -> usize {
        eventually("etcd to have a leader", || {
            let leads = |member: &Member| {
                member
                    .get("/metrics")
                    .is_some_and(|page| page.contains("\netcd_server_is_leader 1"))
            };
            self.members.iter().position(leads)
        })
    }

    /// Returns the sum of a metric over all members and labels.
    ///
    /// # Panics
    /// Panics if a member does not answer.
    pub fn counted(&self, name: &str) -> u64 {
        let page = |member: &Member| member.get("/metrics").expect("a member that tells of itself");
        self.members.iter().map(|member| sum(&page(member), name)).sum()
    }

    /// Stops all members until the returned value is dropped.
    pub fn stop(&self) -> Stopped {
        Stopped::all(self.members.iter().map(|member| member.process.pid()).collect())
    }

    /// Stops one member until the returned value is dropped.
    pub fn stop_member(&self, number: usize) -> Stopped {
        Stopped::all(vec![self.members[number].process.pid()])
    }

    /// Returns `etcdctl` for this cluster, without a command yet.
    ///
    /// # Panics
    /// Panics if it is missing.
    pub fn etcdctl(&self) -> Command {
        let version = Command::new("etcdctl").arg("version").env("ETCDCTL_API", "3").output();
        assert!(version.is_ok(), "etcdctl is missing: apt-get install {CLIENT_PACKAGE}");
        let scheme = if self.secure { "https" } else { "http" };
        let endpoints: Vec<String> =
            self.endpoints().iter().map(|endpoint| format!("{scheme}://{endpoint}")).collect();
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").arg(format!("--endpoints={}", endpoints.join(",")));
        command
    }

    /// Runs `etcdctl` to its end, and returns its output.
    ///
    /// # Panics
    /// Panics if it is missing or fails.
    #[track_caller]
    pub fn ctl(&self, words: &[&str]) -> String {
        let output = self.etcdctl().args(words).output().expect("etcdctl runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "etcdctl {words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Creates users with these passwords, and a role for each with these rights. Each right is `KIND PREFIX`, as in
    /// `readwrite elect/`. Then demands that clients log in. The user `root`, with the password `root`, has all rights.
    pub fn demand_logins(&self, users: &[(&str, &str, &[&str])]) {
        self.ctl(&["user", "add", "root:root"]);
        self.ctl(&["user", "grant-role", "root", "root"]);
        for (user, password, rights) in users {
            self.ctl(&["user", "add", &format!("{user}:{password}")]);
            self.ctl(&["role", "add", user]);
            for right in *rights {
                let (kind, prefix) = right.split_once(' ').expect("KIND PREFIX");
                self.ctl(&["role", "grant-permission", "--prefix=true", user, kind, prefix]);
            }
            self.ctl(&["user", "grant-role", user, user]);
        }
        self.ctl(&["auth", "enable"]);
    }

    /// Changes a user's password, where logins are demanded.
    ///
    /// # Panics
    /// Panics if etcd refuses it.
    pub fn change_password(&self, user: &str, password: &str) {
        let words = ["--user=root:root", "user", "passwd", "--interactive=false", user];
        let mut command = self.etcdctl();
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("etcdctl runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        writeln!(stdin, "{password}").expect("etcdctl reads");
        drop(stdin);
        assert!(child.wait().expect("an end").success(), "no new password for {user}");
    }
}

/// Returns the sum of all counters with this name on a page of metrics.
fn sum(page: &str, name: &str) -> u64 {
    let counter = |line: &str| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = rest.rsplit_once(' ')?;
        (labels.is_empty() || labels.starts_with('{')).then(|| value.trim().parse::<f64>().ok())?
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let count = |value: f64| value as u64;
    page.lines().filter_map(counter).map(count).sum()
}

impl Stopped {
    fn all(pids: Vec<i32>) -> Self {
        let stopped = Self(pids);
        for &pid in &stopped.0 {
            kill(Pid::from_raw(pid), Signal::SIGSTOP).expect("the server lives");
        }
        for &pid in &stopped.0 {
            eventually("a server to stop", || (state(pid) == Some('T')).then_some(()));
        }
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for &pid in &self.0 {
            let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_one_name_are_summed_and_those_of_longer_names_are_not() {
        let page = "# TYPE asked counter\nasked{kind=\"a b\"} 3\nasked{kind=\"c\"} 1.2e+01\n\
                    asked_since 100\nasked_total 7\n";
        assert_eq!((sum(page, "asked"), sum(page, "asked_total"), sum(page, "other")), (15, 7, 0));
    }

    #[test]
    fn a_member_serves_stops_and_serves_again() {
        let mut etcd = Etcd::start(1);
        assert_eq!(etcd.leader(), 0);
        etcd.ctl(&["put", "key", "value"]);
        drop(etcd.stop());
        assert_eq!(etcd.ctl(&["get", "--print-value-only", "key"]), "value\n");
        etcd.member(0).kill();
        etcd.member(0).restart();
        etcd.wait_until_it_serves();
        assert_eq!(etcd.ctl(&["get", "--print-value-only", "key"]), "value\n");
    }
}
