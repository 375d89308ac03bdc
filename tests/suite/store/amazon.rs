//! Where the credentials for `DynamoDB` come from, and that they are renewed in time.

use elect_testkit::servers::{Database as _, DatabaseServer as _, DatabaseSetup, Moto};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::prelude::*;
use crate::stage::send;

/// A server with a table, and a folder for the files of a user.
fn stage() -> (Moto, TempDir) {
    let server = Moto::start_as(&DatabaseSetup::default());
    server.create_here();
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("config"), "").expect("a file");
    (server, folder)
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

/// Each source comes before those that were there already.
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
    assert!(run(&|elect| elect).starts_with("MACHINE"));
    assert!(run(&container).starts_with("CONTAINER"));
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

/// They end again and again while the command runs, and finding others takes longer than a renewal may.
#[test]
fn credentials_that_end_are_renewed_while_a_candidate_leads() {
    let (server, folder) = stage();
    let url = format!("http://{}/creds/30", server.address());
    let leads = elect(&server, &folder, "run").env("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    let mut running = leads.args(["-e", "job", "--ttl", "5", "sleep", "3600"]).spawn();
    eventually("several keys", || (server.keys().len() >= 5).then_some(()));
    assert!(running.is_running(), "its lease has ended");
}

/// A pod whose own identity fails must not get the role of its machine.
#[test]
fn a_source_that_fails_is_not_replaced_by_the_next_one() {
    let (server, folder) = stage();
    let gone = format!("http://{}/nothing", server.address());
    let run = elect(&server, &folder, "run").env("AWS_CONTAINER_CREDENTIALS_FULL_URI", gone);
    run.args(["-e", "job", "-w", "2s", "true"]).run().exits(125);
    let keys = server.keys();
    assert!(!keys.iter().any(|key| key.starts_with("MACHINE")), "{keys:?}");
}

/// An empty variable counts as none, and one that is no text is left out.
#[test]
fn strange_variables_are_passed_over() {
    let (server, folder) = stage();
    let run = elect(&server, &folder, "run").env("AWS_ACCESS_KEY_ID", "");
    let run = run.env("AWS_SESSION_TOKEN", "").env("AWS_SECRET_ACCESS_KEY", "");
    let run = run.env("ODD", OsStr::from_bytes(b"\xff"));
    run.args(["-e", "job", "true"]).run().exits(0);
    assert!(server.keys().pop().expect("a key").starts_with("MACHINE"));
}

/// As where sudo takes most variables away.
#[test]
fn the_command_finds_the_store_without_the_variables_of_its_leader() {
    let (server, folder) = stage();
    let endpoint = format!("http://{}", server.address());
    let inside = "env -u AWS_REGION -u AWS_ENDPOINT_URL \"$ELECT\" put cursor 5";
    let run =
        Elect::new(ELECT).args(["run", "-b", "dynamodb://elect", "-e", "job", "sh", "-c", inside]);
    let run = run.env("AWS_REGION", "eu-west-1").env("AWS_ENDPOINT_URL", endpoint);
    let run = run.env("AWS_ACCESS_KEY_ID", "any").env("AWS_SECRET_ACCESS_KEY", "any");
    run.env("HOME", folder.path()).env("ELECT", ELECT).run().exits(0);
}

/// With all defaults: candidates race, and look at each other seldom. The leader is known to lead in time.
#[test]
fn a_leader_with_the_usual_lease_is_seen_to_lead() {
    let (server, folder) = stage();
    let led = folder.path().join("led");
    let script = format!("echo >{}; exec sleep 3600", led.display());
    let mut leader =
        elect(&server, &folder, "run").args(["-e", "job", "sh", "-c", &script]).spawn();
    eventually("a leader", || led.exists().then_some(()));
    let status = elect(&server, &folder, "status").args(["job"]).run().exits(0).stdout;
    assert!(status.contains("leader") && !status.contains("unknown"), "{status}");
    assert!(leader.is_running());
}

/// The record of a dead leader looks alive at first. A job that cron starts waits until that is settled.
#[test]
fn a_job_runs_although_its_last_leader_has_died() {
    let (server, folder) = stage();
    let url = Moto::url(server.address(), "elect", "elect").replace("&order=queue", "");
    let run = |job: &str| Elect::new(ELECT).args(["run", "-b", &url, "-e", job, "--ttl", "5"]);
    for (job, flags) in [("one", &["-n"][..]), ("two", &["-w", "1s"])] {
        let led = folder.path().join(job);
        let script = format!("echo >{}; exec sleep 3600", led.display());
        let mut leader = run(job).args(["sh", "-c", &script]).spawn();
        eventually("a leader", || led.exists().then_some(()));
        let both = [leader.guardian(), leader.pid()];
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for pid in both {
                send(pid, signal);
            }
        }
        leader.wait();
        run(job).args(flags).arg("true").run().exits(0);
    }
}

/// A profile with this program.
fn write_program(folder: &TempDir, script: &str) -> PathBuf {
    let (config, program) = (folder.path().join("config"), folder.path().join("program"));
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let text = format!("[default]\ncredential_process = {}\n", program.display());
    fs::write(&config, text).expect("a file");
    config
}

/// It may be that of a user whose home sudo keeps.
#[test]
fn no_program_is_run_that_another_user_may_have_named() {
    let (server, folder) = stage();
    let mark = folder.path().join("mark");
    let config = write_program(&folder, &format!("echo >'{}'", mark.display()));
    for mode in [0o666, 0o662] {
        fs::set_permissions(&config, fs::Permissions::from_mode(mode)).expect("ours");
        let ended = elect(&server, &folder, "status").arg("job").run().exits(125);
        ended.says("another user could have it run any program").says("chmod go-w it");
        assert!(!mark.exists(), "its program was run");
    }
}

#[test]
fn a_program_that_hangs_is_named_and_ends_with_elect() {
    let (server, folder) = stage();
    let child = folder.path().join("child");
    let script = format!("sleep 600 &\necho $! >'{}'\nwait", child.display());
    write_program(&folder, &script);
    let ended = elect(&server, &folder, "status").arg("job").run().exits(125);
    ended.says("/program (credential_process of the profile default in ").says("run it by hand");
    let pid = fs::read_to_string(&child).expect("its number");
    let status = || fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    eventually("its child to end", || {
        let status = status();
        (status.is_empty() || status.contains(") Z")).then_some(())
    });
}
