//! The messages of the program when a store cannot be used, and words that it never says.

use std::net::{Ipv4Addr, TcpListener};

use elect_testkit::servers::kubernetes::Rule;
use elect_testkit::servers::{Authority, free_port};

use super::cluster::{Brand, Cluster as _};
use crate::prelude::*;
use crate::support::side_by_side;

const SECRET: &str = "hush-hush-7";

fn elect(subcommand: &str, url: &str) -> Elect {
    let elect = Elect::new(ELECT).args([subcommand, "-b", url]);
    if subcommand == "run" { elect.args(["-v", "-e", "job", "true"]) } else { elect }
}

/// Neither command gets anywhere; both say these words, and not the secret.
fn refused(url: &str, variables: &[(&str, &str)], words: &[&str]) {
    side_by_side(["run", "status"], |subcommand| {
        let mut elect = elect(subcommand, url);
        for (name, value) in variables {
            elect = elect.env(name, value);
        }
        let ended = elect.run();
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains(SECRET), "{subcommand} told the secret: {all}");
        let ended = ended.exits(125);
        words.iter().fold(ended, |ended, word| ended.says(word));
    });
}

#[test]
fn a_wrong_host_port_or_server_is_named() {
    let (etcd, zookeeper) = (Etcd::start(1), ZooKeeper::one());
    let (etcd, zookeeper) = (etcd.endpoints()[0], zookeeper.address(0));
    let cases = [("etcd", zookeeper), ("zk", etcd)].into_iter().flat_map(|(scheme, other)| {
        let (here, port) = (format!("{scheme}://127.0.0.1"), free_port());
        [
            (
                format!("{scheme}://me:{SECRET}@no-such-machine.invalid"),
                "no-such-machine.invalid".into(),
            ),
            (format!("{here}:{port}"), format!("{port} refused")),
            (format!("{scheme}://{other}"), other.to_string()),
        ]
    });
    side_by_side(cases, |(url, words): (String, String)| {
        refused(&url, &[], &words.split(' ').collect::<Vec<_>>());
    });
}

/// Neither command gets anywhere on Kubernetes; both say these words.
#[test]
fn errors_of_an_api_server_are_named() {
    let server = ApiServer::start();
    let onlooker = server.kubeconfig_of(&[Rule::leases("elect", &["get", "watch"])]);
    let words = ["cannot list the Leases in the namespace elect", "lacks the verb list on leases"];
    refused(&ApiServer::url_with("elect", &onlooker), &[], &words);
    server.expire_token(&onlooker);
    let context = format!("credentials of the context {}", stem(&onlooker));
    refused(&ApiServer::url_with("elect", &onlooker), &[], &["401 Unauthorized", &context]);
    let reader = server.kubeconfig_of(&[Rule::leases("elect", &["get", "list", "watch"])]);
    let run = elect("run", &ApiServer::url_with("elect", &reader)).run().exits(125);
    run.says("lacks the verb create on leases").says("elect help kubernetes-store");
    let run = elect("run", &server.url("nowhere")).run().exits(125);
    run.says("there is no namespace nowhere: kubectl create namespace nowhere");
    let url = Brand::Kubernetes.url(&[SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()))]);
    refused(&url, &[], &["cannot connect to http://127.0.0.1:", "nothing listens there"]);
    let etcd = Etcd::start(1);
    refused(&Brand::Kubernetes.url(&etcd.endpoints()), &[], &[&etcd.endpoints()[0].to_string()]);
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").display().to_string()
}

/// A listener that takes connections and says nothing.
#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    side_by_side(["etcd", "zk"], |scheme| refused(&format!("{scheme}://{address}"), &[], &[]));
}

#[test]
fn a_status_asks_the_next_member_if_the_first_is_silent() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let silent = listener.local_addr().expect("its address");
    let etcd = Etcd::start(1);
    let url = Brand::Etcd.url(&[silent, etcd.endpoints()[0]]);
    elect("status", &url).arg("job").run().exits(1);
}

#[test]
fn wrong_passwords_and_missing_rights_are_named() {
    let etcd = Etcd::start(1);
    etcd.demand_logins(&[("ann", "annes", &["readwrite elect/"]), ("bob", "bobs", &[])]);
    let url = Brand::Etcd.url(&etcd.addresses());
    let ann = [("ELECT_USER", "ann"), ("ELECT_PASSWORD", SECRET)];
    refused(&url, &ann, &["ann", "password"]);
    refused(&url, &[("ELECT_USER", "bob"), ("ELECT_PASSWORD", "bobs")], &["bob", "elect/"]);
    refused(&url, &[], &["ELECT_USER"]);
    elect("run", &url).env("ELECT_USER", "ann").env("ELECT_PASSWORD", "annes").run().exits(0);
}

#[test]
fn tls_that_cannot_be_trusted_is_named() {
    let (ours, other) = (Authority::new(), Authority::new());
    let start = |pem: &elect_testkit::servers::Pem| {
        let words = [
            format!("--cert-file={}", pem.cert.display()),
            format!("--key-file={}", pem.key.display()),
        ];
        Etcd::start_with(1, &words.each_ref().map(String::as_str))
    };
    let etcd = start(&ours.server(&["127.0.0.1"]));
    let with = |ca: &Authority| format!("{}?ca={}", etcd.url(), ca.ca().display());
    elect("run", &with(&ours)).run().exits(0);
    refused(&with(&other), &[], &["ca"]);
    refused(&etcd.url(), &[], &["ca"]);
    refused(&etcd.url().replace("+tls", ""), &[], &["etcd+tls://"]);
    let expired = start(&ours.expired(&["127.0.0.1"]));
    refused(&format!("{}?ca={}", expired.url(), ours.ca().display()), &[], &["expired"]);
}

/// Returns the command line of each process of this machine.
fn command_lines() -> Vec<String> {
    let all = fs::read_dir("/proc").expect("procfs").filter_map(Result::ok);
    let read = |path: PathBuf| fs::read(path.join("cmdline")).ok();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace('\0', " ");
    all.filter_map(|entry| read(entry.path())).map(text).collect()
}

/// From a file and from the environment, through a crash, whose guardian gives the entry up.
#[test]
fn a_secret_is_in_no_command_line_and_the_guardian_has_it() {
    let etcd = Etcd::start(1);
    // No other test's, whose command lines are read, too.
    let secret = format!("{:016x}", fastrand::u64(..));
    etcd.demand_logins(&[("ann", &secret, &["readwrite elect/"])]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    fs::write(&file, format!("{secret}\n")).expect("a file");
    let url = Brand::Etcd.url(&etcd.addresses());
    let by_file = format!("{url}?user=ann&password-file={}", file.display());
    let by_variable = |elect: Elect| elect.env("ELECT_USER", "ann").env("ELECT_PASSWORD", &secret);
    for use_file in [true, false] {
        let elect = |subcommand| {
            let elect = Elect::new(ELECT).arg(subcommand);
            if use_file {
                elect.args(["-b", &by_file])
            } else {
                by_variable(elect.args(["-b", &url]))
            }
        };
        let run = elect("run").args(["-e", "job", "--ttl", "10m", "--", "sleep", "1000"]);
        let mut leader = run.spawn();
        let status = elect("status").args(["-o", "json", "job"]);
        eventually("a leader", || (status.run().code() == 0).then_some(()));
        assert!(!command_lines().iter().any(|line| line.contains(&secret)));
        leader.signal(Signal::SIGKILL);
        eventually("the end of the entry", || (status.run().code() == 1).then_some(()));
        assert!(!command_lines().iter().any(|line| line.contains(&secret)));
    }
}
