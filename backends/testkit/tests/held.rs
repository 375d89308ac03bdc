//! Tests that one program holds servers for many tests.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

fn ask(socket: &str, wish: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("the holder listens");
    writeln!(stream, "{wish}").expect("it reads");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("it answers");
    reply
}

#[test]
fn clients_share_servers_under_own_names_until_none_needs_them() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_elect-test-servers"));
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut socket = String::new();
    BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut socket).expect("a line");
    let socket = socket.trim_end();
    // A client that dies before it has asked does not block the others.
    drop(UnixStream::connect(socket).expect("the holder listens"));
    let (one, other) = (ask(socket, "etcd 1"), ask(socket, "etcd 1"));
    let (first, servers) = one.split_once(' ').expect("a name and servers");
    let (second, same) = other.split_once(' ').expect("a name and servers");
    assert_eq!(servers, same);
    assert_ne!(first, second);
    let children = format!("/proc/{0}/task/{0}/children", holder.id());
    let server = fs::read_to_string(children).expect("its children");
    drop(holder.stdin.take());
    assert!(holder.wait().expect("it ends").success());
    assert!(!Path::new(&format!("/proc/{}", server.trim())).exists(), "{server} lives on");
    assert!(!Path::new(socket).exists(), "{socket} is left");
}
