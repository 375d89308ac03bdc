//! Sockets that the service manager listens on for the command, and the variables that go with them.

use std::io::Read;
use std::net::TcpStream;

use elect_testkit::program::Elect;

use super::LONG;
use super::manager::{KillMode, Manager};
use crate::support::Ground;

/// Starts a program with a socket, as systemd does for a socket unit: the first is descriptor 3, for
/// the process that it becomes.
const ACTIVATE: &str = "
import os, socket, sys
listener = socket.create_server(('127.0.0.1', 0))
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS='1', LISTEN_FDNAMES='web', LISTEN_PID=str(os.getpid()), LISTEN_PIDFDID='7')
with open(os.environ['D'] + '/port', 'w') as port:
    print(listener.getsockname()[1], file=port)
os.execvp(sys.argv[1], sys.argv[1:])
";

/// A server that takes the socket if, and only if, it is for itself.
const SERVER: &str = "
import os, socket
assert os.environ['LISTEN_PID'] == str(os.getpid()), os.environ['LISTEN_PID']
assert 'LISTEN_PIDFDID' not in os.environ
assert (os.environ['LISTEN_FDS'], os.environ['LISTEN_FDNAMES']) == ('1', 'web')
caller, _ = socket.socket(fileno=3).accept()
caller.sendall(b'served')
";

fn call(ground: &Ground) -> String {
    let port: u16 = ground.said("port").parse().expect("a port");
    let mut answer = String::new();
    TcpStream::connect(("127.0.0.1", port))
        .and_then(|mut stream| stream.read_to_string(&mut answer))
        .expect("an answer");
    answer
}

#[test]
fn the_command_takes_the_sockets() {
    let ground = Ground::new();
    let elect = ground.job().args(["python3", "-c", SERVER]).under(["python3", "-c", ACTIVATE]);
    let unit = Manager::new().starts(elect);
    assert_eq!(call(&ground), "served");
    unit.ends().0.exits(0);
}

#[test]
fn a_client_of_a_standby_is_served_once_it_leads() {
    let ground = Ground::new();
    let leader = ground.leader();
    let elect = ground.job().args(["python3", "-c", SERVER]).under(["python3", "-c", ACTIVATE]);
    let mut unit = Manager::new().starts(elect);
    unit.hears("STATUS=waiting");
    let caller = std::thread::scope(|scope| {
        let caller = scope.spawn(|| call(&ground));
        drop(leader);
        caller.join().expect("an answer")
    });
    assert_eq!(caller, "served");
    unit.ends().0.exits(0);
}

#[test]
fn the_command_of_another_campaign_takes_them_too() {
    let ground = Ground::new();
    let script = format!(
        "if [ -e \"$D/started\" ]; then exec python3 -c '{}'; fi; {}",
        SERVER.replace('\'', "\""),
        crate::usage::STAY
    );
    let elect = ground.job().args(["--after-loss", "campaign"]).sh(&script);
    let mut unit = Manager::new().starts(elect.under(["python3", "-c", ACTIVATE]));
    ground.said("started");
    ground.queue().into_iter().for_each(|entry| std::fs::remove_file(entry).unwrap());
    unit.hears("STATUS=leadership of job is lost");
    assert_eq!(call(&ground), "served");
    unit.ends().0.exits(0);
}

#[test]
fn sockets_of_another_process_stay_with_it() {
    let ground = Ground::new();
    let elect = ground.job().sh("echo $LISTEN_PID $LISTEN_PIDFDID $LISTEN_FDS");
    let elect = elect.env("LISTEN_PID", "1").env("LISTEN_PIDFDID", "7").env("LISTEN_FDS", "1");
    elect.run().exits(0).prints("1 7 1\n");
}

#[test]
fn only_elect_speaks_with_the_manager() {
    let ground = Ground::new();
    let script = "echo \"${NOTIFY_SOCKET-}${WATCHDOG_USEC-}${WATCHDOG_PID-}\"; \
                  ${ELECT} run -e other true; echo >\"$D/started\"; exec sleep 3600";
    let elect = ground.job().sh(script).env("WATCHDOG_USEC", "60000000");
    let elect = elect.env("ELECT", env!("CARGO_BIN_EXE_elect"));
    let elect: Elect = elect.env("ELECT_BACKEND", format!("file://{}", ground.state().display()));
    let mut unit = Manager::new().starts(elect);
    unit.hears("READY=1");
    ground.said("started");
    // A nested elect would have been refused, as it is not the main process.
    let (ended, _, heard) = unit.stop(KillMode::Mixed, LONG);
    ended.exits(143).prints("\n");
    assert!(!heard.iter().any(|line| line.contains("other")), "{heard:?}");
}
