//! Credentials that are renewed while candidates of etcd lead and wait: files and servers one after the other, in any
//! order.

use elect::{Campaign, Error};
use elect_testkit::servers::{Authority, Pem};
use tokio::time::timeout;

use crate::heard::{Heard, all_say};
use crate::prelude::*;

const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];
/// The messages of candidates while only one side is renewed.
const WRONG_PASSWORD: &str = "user or password is wrong";
const UNKNOWN_AUTHORITY: &str = "is not signed by a trusted authority";

/// An etcd, and files that candidates name in its URL.
struct RenewedFiles {
    folder: TempDir,
    etcd: Etcd,
    url: String,
}

impl RenewedFiles {
    /// The user `me` with the password `old`, which is in a file.
    fn of_passwords() -> Self {
        let etcd = Etcd::start(1);
        etcd.demand_logins(&[("me", "old", &["readwrite elect/"])]);
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("password");
        let url = etcd.url().replace("://", "://me@");
        let url = format!("{url}?password-file={}", file.display());
        let stage = Self { folder, etcd, url };
        stage.file_password("old");
        stage
    }

    fn file_password(&self, password: &str) {
        replace(&self.path("password"), password.as_bytes());
    }

    /// Server and candidates know each other by certificates of this authority.
    fn of_certificates(authority: &Authority) -> Self {
        let folder = TempDir::new().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        serve_by(folder.path(), authority);
        know_by(folder.path(), authority);
        let etcd = Etcd::start_with(
            1,
            &[
                &format!("--cert-file={}", path("server.pem")),
                &format!("--key-file={}", path("server.key")),
                "--client-cert-auth",
                &format!("--trusted-ca-file={}", path("clients.pem")),
            ],
        );
        let files = [("ca", "ca.pem"), ("cert", "me.pem"), ("key", "me.key")];
        let options = files.map(|(option, file)| format!("{option}={}", path(file)));
        let url = format!("{}?{}", etcd.url(), options.join("&"));
        Self { folder, etcd, url }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The server is away for a moment, which ends all connections and logins; `meanwhile` something else happens.
    fn restart(&mut self, meanwhile: impl FnOnce(&Path)) {
        self.etcd.member(0).kill();
        meanwhile(self.folder.path());
        self.etcd.member(0).restart();
        self.etcd.wait_until_it_serves();
    }

    fn spawn(&self, subcommand: &str, label: &str, ttl: &str, flags: &[&str]) -> Heard {
        let said = self.path(&format!("{label}-said"));
        let elect = Elect::new(ELECT);
        let elect = elect.args([subcommand, "-v", "-b", &self.url, "-e", "job", "--id", label]);
        let elect = elect.args(["--ttl", ttl]).args(flags);
        let elect = elect.env("RECORD", self.path("record"));
        let elect = match subcommand {
            "run" => elect.sh("echo \"$ELECT_LEADER_ID\" >>\"$RECORD\"; exec sleep 3600"),
            _ => elect,
        };
        Heard::spawn(elect, said)
    }

    /// A leader, a command that waits, and a sidecar that does.
    fn company(&self) -> [Heard; 3] {
        let leader = self.spawn("run", "leader", "30", &[]);
        self.wait_for_leader(1, "leader");
        let waiter = self.spawn("run", "waiter", "30", &[]);
        self.wait_for_entry("waiter");
        let sidecar = self.spawn("sidecar", "sidecar", "30", &[]);
        self.wait_for_entry("sidecar");
        [leader, waiter, sidecar]
    }

    /// All are where they were, and go on from there in their order.
    fn goes_on_with(&self, [leader, waiter, sidecar]: [Heard; 3]) {
        self.wait_for_entry("waiter");
        assert_eq!(self.record().len(), 1, "{:?}", self.record());
        leader.ends(143);
        self.wait_for_leader(2, "waiter");
        waiter.ends(143);
        eventually("the sidecar to lead", || {
            self.status()["leader"]["id"].as_str()?.starts_with("sidecar").then_some(())
        });
        sidecar.ends(0);
    }

    fn record(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("record")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn wait_for_leader(&self, times: usize, label: &str) {
        let led = || Some(self.record().get(times - 1)?.starts_with(label));
        eventually(&format!("{label} to lead"), || led()?.then_some(()));
    }

    #[track_caller]
    fn wait_for_entry(&self, label: &str) {
        let waits = |entry: &Value| entry["id"].as_str().is_some_and(|id| id.starts_with(label));
        eventually(&format!("{label} to wait"), || {
            self.status()["waiting"].as_array()?.iter().any(waits).then_some(())
        });
    }

    fn status(&self) -> Value {
        let ended = Elect::new(ELECT).args(["status", "-b", &self.url, "-o", "json", "job"]).run();
        let report = serde_json::from_str::<Value>(&ended.stdout);
        report.map(|mut report| report["elections"][0].take()).unwrap_or_default()
    }
}

/// Writes the server's certificate, and the authority of the clients that it accepts.
fn serve_by(folder: &Path, authority: &Authority) {
    let Pem { cert, key } = authority.server(&NAMES);
    copy(folder, &[(cert, "server.pem"), (key, "server.key"), (authority.ca(), "clients.pem")]);
}

/// Writes the candidates' certificate, and the authority that they trust.
fn know_by(folder: &Path, authority: &Authority) {
    let Pem { cert, key } = authority.client("me");
    copy(folder, &[(cert, "me.pem"), (key, "me.key"), (authority.ca(), "ca.pem")]);
}

fn copy(folder: &Path, files: &[(PathBuf, &str)]) {
    for (from, to) in files {
        replace(&folder.join(to), &fs::read(from).expect("a file of the authority"));
    }
}

/// As those who renew files do: there is never half of one.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).expect("a file");
    fs::rename(new, path).expect("a file in its place");
}

#[test]
fn a_password_that_the_server_has_first_ends_no_leadership_and_no_wait() {
    let stage = RenewedFiles::of_passwords();
    let mut all = stage.company();
    stage.etcd.change_password("me", "new");
    all_say(&mut all, 1, WRONG_PASSWORD);
    stage.file_password("new");
    all_say(&mut all, 1, "the store answers again");
    stage.goes_on_with(all);
}

/// A candidate that logs in between the two does so with the old password.
#[test]
fn a_password_that_the_file_has_first_ends_no_leadership_and_no_wait() {
    let mut stage = RenewedFiles::of_passwords();
    let mut all = stage.company();
    stage.file_password("new");
    stage.restart(|_| {
        all_say(&mut all, 1, "trying again");
    });
    all_say(&mut all, 1, "the store answers again");
    stage.etcd.change_password("me", "new");
    stage.goes_on_with(all);
}

/// A file that is being written is no password, and no reason to end.
#[test]
fn an_empty_password_file_is_named_at_the_start_and_ridden_out_later() {
    let mut stage = RenewedFiles::of_passwords();
    stage.file_password("");
    let elect = || Elect::new(ELECT);
    let start = elect().args(["run", "-b", &stage.url, "-e", "job", "true"]).run().exits(125);
    start.says("there is no password in").says("it is empty");
    stage.file_password("\nold\n");
    let start = elect().args(["run", "-b", &stage.url, "-e", "job", "true"]).run().exits(125);
    start.says("its first line is empty");
    stage.file_password("old");
    let mut all = stage.company();
    stage.file_password("");
    stage.restart(|_| {
        all_say(&mut all, 1, "trying again");
    });
    all_say(&mut all, 1, "the store answers again");
    stage.etcd.change_password("me", "new");
    all_say(&mut all, 1, "there is no password in");
    stage.file_password("new");
    stage.goes_on_with(all);
}

#[test]
fn certificates_that_the_server_has_first_end_no_leadership_and_no_wait() {
    let mut stage = RenewedFiles::of_certificates(&Authority::new());
    let mut all = stage.company();
    let renewed = Authority::new();
    stage.restart(|folder| serve_by(folder, &renewed));
    all_say(&mut all, 1, UNKNOWN_AUTHORITY);
    know_by(stage.folder.path(), &renewed);
    all_say(&mut all, 1, "the store answers again");
    stage.goes_on_with(all);
}

#[test]
fn certificates_that_the_files_have_first_end_no_leadership_and_no_wait() {
    let mut stage = RenewedFiles::of_certificates(&Authority::new());
    let mut all = stage.company();
    let renewed = Authority::new();
    know_by(stage.folder.path(), &renewed);
    stage.restart(|_| {
        all_say(&mut all, 1, "trying again");
    });
    all_say(&mut all, 1, "the store answers again");
    stage.restart(|folder| {
        serve_by(folder, &renewed);
        all_say(&mut all, 2, "trying again");
    });
    all_say(&mut all, 2, "the store answers again");
    stage.goes_on_with(all);
}

/// A refusal that outlasts the lease: only the leader is lost.
#[test]
fn a_leader_lost_to_a_refusal_returns_after_it() {
    let stage = RenewedFiles::of_passwords();
    let mut leader = stage.spawn("run", "leader", "5", &["--after-loss", "campaign"]);
    stage.wait_for_leader(1, "leader");
    stage.etcd.change_password("me", "new");
    leader.says(1, "leadership is lost");
    // Of the new process.
    leader.says(2, WRONG_PASSWORD);
    stage.file_password("new");
    stage.wait_for_leader(2, "leader");
    leader.ends(143);

    let mut stage = RenewedFiles::of_certificates(&Authority::new());
    let mut leader = stage.spawn("run", "leader", "5", &["--after-loss", "campaign"]);
    stage.wait_for_leader(1, "leader");
    let renewed = Authority::new();
    stage.restart(|folder| serve_by(folder, &renewed));
    leader.says(1, "leadership is lost");
    leader.says(2, UNKNOWN_AUTHORITY);
    know_by(stage.folder.path(), &renewed);
    stage.wait_for_leader(2, "leader");
    leader.ends(143);
}

/// A file that is away or empty while it is renewed is no reason to end for who was let in before.
#[test]
fn a_lost_leader_waits_for_its_files_to_campaign_again() {
    let stage = RenewedFiles::of_passwords();
    let without_files = |label: &str, flags: &[&str]| {
        let flags = [&["--after-loss", "campaign"], flags].concat();
        let before = stage.record().len();
        let mut leader = stage.spawn("run", label, "5", &flags);
        stage.wait_for_leader(before + 1, label);
        fs::remove_file(stage.path("password")).expect("the file");
        stage.etcd.change_password("me", label);
        leader.says(1, "leadership is lost");
        let file = stage.path("password").display().to_string();
        leader.says(1, &format!("cannot campaign again: cannot read the password in {file}"));
        leader
    };
    let mut leader = without_files("one", &[]);
    stage.file_password("");
    leader.says(1, "it is empty, and the first line is the password; trying again");
    stage.file_password("one");
    stage.wait_for_leader(2, "one");
    leader.ends(143);

    without_files("two", &[]).ends(143);

    stage.file_password("two");
    let leader = without_files("three", &["-w", "3s"]);
    let said = leader.said.clone();
    leader.run.wait().exits(125);
    let said = fs::read_to_string(said).expect("what it said");
    assert!(said.lines().last().is_some_and(|last| last.contains("the password in ")), "{said}");
}

#[test]
fn a_refusal_that_outlasts_the_time_that_was_given_is_final() {
    let stage = RenewedFiles::of_passwords();
    let leader = stage.spawn("run", "leader", "15", &[]);
    stage.wait_for_leader(1, "leader");
    let mut waiter = stage.spawn("run", "waiter", "15", &["-w", "8s"]);
    stage.wait_for_entry("waiter");
    stage.etcd.change_password("me", "new");
    waiter.says(1, WRONG_PASSWORD);
    let said = waiter.exits(125);
    let tried = |line: &str| line.contains(WRONG_PASSWORD) && line.contains("; trying again");
    assert!(said.lines().any(tried), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains(WRONG_PASSWORD) && last.contains("the password in "), "{said}");
    stage.file_password("new");
    leader.ends(143);
}

/// elect says which credentials it cannot read anew.
#[test]
fn a_password_that_is_in_no_file_is_said_to_stay() {
    let stage = RenewedFiles::of_passwords();
    stage.etcd.change_password("me", "new");
    let elect = || Elect::new(ELECT).args(["run", "-e", "job"]);
    let url = stage.etcd.url();
    let variable = elect().args(["-b", &url, "true"]).env("ELECT_USER", "me");
    let ended = variable.env("ELECT_PASSWORD", "old").run().exits(125);
    ended.says("the password of ELECT_PASSWORD: elect reads only files anew");
    let url = url.replace("://", "://me:old@");
    let ended = elect().args(["-b", &url, "true"]).run().exits(125);
    ended.says("the password of the URL: elect reads only files anew");
}

#[test]
fn a_program_that_waits_or_comes_again_sits_a_refusal_out() {
    let stage = RenewedFiles::of_passwords();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let campaign = |label| Campaign::new(&stage.url, "job").expect("a campaign").label(label);
        let (one, two) = (campaign("one"), campaign("two"));
        let leadership = one.lead().await.expect("leadership");
        let mut waiting = Box::pin(two.lead());
        // It takes part in the background, and is looked at now and then.
        assert!(timeout(Duration::ZERO, &mut waiting).await.is_err());
        stage.wait_for_entry("two");
        stage.etcd.change_password("me", "new");
        leadership.validity().lost().await;
        drop(leadership);
        // It was let in before: the same campaign is told that it may be so again.
        let error = one.lead().await.expect_err("it is refused");
        assert!(matches!(error, Error::Unreached(_)), "{error:?}");
        let ended = timeout(Duration::ZERO, &mut waiting).await;
        assert!(ended.is_err(), "{:?}", ended.map(Result::err));
        stage.file_password("new");
        waiting.await.expect("leadership").resign().await.expect("an end");
    });
}

/// Each login ends after its time, and is made anew. That is no fault, and elect does not report it again and again.
#[test]
fn a_login_that_has_run_its_time_is_made_anew_without_a_word() {
    let folder = TempDir::new().expect("a folder");
    let key = folder.path().join("key");
    fs::write(&key, "0123456789abcdef0123456789abcdef").expect("a file");
    let tokens = format!("--auth-token=jwt,sign-method=HS256,priv-key={},ttl=3s", key.display());
    let etcd = Etcd::start_with(1, &[&tokens]);
    etcd.demand_logins(&[("me", "hush", &["readwrite elect/"])]);
    let url = etcd.url().replace("://", "://me:hush@");
    let stage = RenewedFiles { folder, etcd, url };
    let all = stage.company();
    let logins = "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Authenticate\",\
                  grpc_service=\"etcdserverpb.Auth\",grpc_type=\"unary\"}";
    let before = stage.etcd.counted(logins);
    eventually("logins anew", || (stage.etcd.counted(logins) > before + 9).then_some(()));
    for candidate in &all {
        let said = candidate.said();
        assert!(!said.contains("trying again"), "{said}");
    }
    stage.goes_on_with(all);
}
