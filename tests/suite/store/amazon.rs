//! Where the credentials for `DynamoDB` come from, and that they are renewed in time.

use elect_testkit::servers::{DatabaseServer as _, DatabaseSetup, Moto};

use crate::prelude::*;
use crate::stage::send;

/// A server with a table, and a folder for the files of a user.
fn stage() -> (Moto, TempDir) {
    let server = Moto::start_as(&DatabaseSetup::default());
    server.create_here();
    (server, TempDir::new().expect("a folder"))
}

/// A command that finds no credentials but those that the test adds.
fn elect(server: &Moto, folder: &TempDir, subcommand: &str) -> Elect {
    let address = server.address();
    let url = format!("dynamodb://elect?region=eu-west-1&endpoint=http://{address}");
    let file = |name: &str| folder.path().join(name);
    Elect::new(ELECT)
        .args([subcommand, "-b", &url])
        .env("HOME", folder.path())
        .env("AWS_CONFIG_FILE", file("config"))
        .env("AWS_SHARED_CREDENTIALS_FILE", file("credentials"))
        .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", format!("http://{address}"))
}

/// Each source alone, and before those that come after it.
#[test]
fn each_source_of_credentials_is_found_in_its_turn() {
    let (server, folder) = stage();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file");
    };
    let run = |change: &dyn Fn(Elect) -> Elect| {
        let elect = change(elect(&server, &folder, "run")).args(["-e", "job", "true"]);
        elect.run().exits(0);
        server.keys().pop().expect("a key")
    };
    let container = |elect: Elect| {
        let url = format!("http://{}/creds/3600", server.address());
        elect.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
    };
    let printed = r#"{"Version": 1, "AccessKeyId": "PROGRAM", "SecretAccessKey": "any"}"#;
    assert_eq!(run(&|elect| elect), "MACHINE1");
    assert_eq!(run(&container), "CONTAINER1");
    write("printed", printed);
    let program = format!("cat {}", folder.path().join("printed").display());
    write("config", &format!("[default]\ncredential_process = {program}\n"));
    assert_eq!(run(&container), "PROGRAM");
    let keys = |id: &str| format!("aws_access_key_id = {id}\naws_secret_access_key = any\n");
    write("credentials", &format!("[default]\n{}[other]\n{}", keys("FILE"), keys("OTHER")));
    assert_eq!(run(&container), "FILE");
    assert_eq!(run(&|elect| elect.env("AWS_PROFILE", "other")), "OTHER");
    let variables = |elect: Elect| {
        elect.env("AWS_ACCESS_KEY_ID", "VARIABLE").env("AWS_SECRET_ACCESS_KEY", "any")
    };
    assert_eq!(run(&variables), "VARIABLE");
}

#[test]
fn without_credentials_it_says_where_they_come_from() {
    let (server, folder) = stage();
    let none = elect(&server, &folder, "run").env("AWS_EC2_METADATA_DISABLED", "true");
    let ended = none.args(["-e", "job", "true"]).run().exits(125);
    ended.says("no credentials").says("AWS_ACCESS_KEY_ID");
}

/// They end again and again while the command runs, and each time others are there before.
#[test]
fn credentials_that_end_are_renewed_while_a_candidate_leads() {
    let (server, folder) = stage();
    let url = format!("http://{}/creds/30", server.address());
    let leads = elect(&server, &folder, "run").env("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    let running = leads.args(["-e", "job", "--ttl", "5", "sleep", "3600"]).spawn();
    eventually("several keys", || (server.keys().len() >= 4).then_some(()));
    let token = |elect: &Elect| elect.run().exits(0).stdout;
    let status = elect(&server, &folder, "status").args(["-o", "json", "job"]);
    assert!(token(&status).contains("\"leader\""), "{}", token(&status));
    drop(running);
}

/// The record of a dead leader looks alive at first. A job that cron starts waits until that is settled.
#[test]
fn a_job_runs_although_its_last_leader_has_died() {
    let (server, _folder) = stage();
    let url = Moto::url(server.address(), "elect", "elect").replace("&order=queue", "");
    let run = |job: &str| Elect::new(ELECT).args(["run", "-b", &url, "-e", job, "--ttl", "5"]);
    for (job, flags) in [("one", &["-n"][..]), ("two", &["-w", "1s"])] {
        let leader = run(job).args(["sh", "-c", "echo leads; exec sleep 3600"]).spawn();
        let status = Elect::new(ELECT).args(["status", "-b", &url, "-o", "json", job]);
        let leads = || status.run().stdout.contains("\"leader\"");
        eventually("a leader", || leads().then_some(()));
        let both = [leader.guardian(), leader.pid()];
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            both.iter().for_each(|pid| send(*pid, signal));
        }
        leader.wait();
        run(job).args(flags).arg("true").run().exits(0);
    }
}
