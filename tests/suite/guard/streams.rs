//! stdin, stdout, stderr and every further descriptor are the command's, and only the command's.

use std::fs::File;
use std::io::{Read, Write};

use nix::sys::stat::Mode;

use crate::cli::manual;
use crate::prelude::*;

/// Runs elect in a shell that first does this.
fn after(preparation: &str) -> [String; 4] {
    ["bash".into(), "-c".into(), format!("{preparation}; exec \"$@\""), "bash".into()]
}

#[test]
fn the_command_reads_stdin() {
    let ground = Ground::new();
    let mut command = ground.job().arg("cat").command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").unwrap();
    drop(stdin);
    Running::new(child).wait().exits(0).prints("one\ntwo\n").is_quiet();
}

#[test]
fn a_writer_to_a_command_that_closed_stdin_gets_an_error() {
    let ground = Ground::new();
    let mut command = ground.job().sh("exec <&-; echo >\"$D/closed\"; exec sleep 3600").command();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let _elect = Running::new(child);
    ground.said("closed");
    assert!(stdin.write_all(b"x").is_err(), "a process holds the other end open");
}

#[test]
fn the_reader_of_a_pipe_sees_its_end_while_elect_lives_on() {
    let ground = Ground::new();
    for (flags, script) in [
        (&[][..], "echo out; exec >&-; echo >\"$D/closed\"; exec sleep 3600"),
        (&["--hold", "1h"], "echo out; echo >\"$D/closed\""),
    ] {
        let mut command = ground.job().args(flags).sh(script).command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut elect = Running::new(child);
        let mut text = String::new();
        // Comes back only at the end of the pipe.
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(text, "out\n");
        ground.said("closed");
        assert!(elect.is_running());
        elect.ended_by(Signal::SIGTERM);
    }
}

#[test]
fn a_further_descriptor_is_passed_on_and_not_held_open() {
    let ground = Ground::new();
    let fifo = ground.path().join("fifo");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let elect = ground
        .job()
        .sh("echo five >&5; exec 5>&-; exec sleep 3600")
        .under(after("exec 5>\"$D/fifo\""));
    let mut elect = elect.spawn();
    let mut text = String::new();
    File::open(&fifo).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "five\n");
    assert!(elect.is_running());
}

/// The descriptors of a command's process: number and what it is.
fn descriptors(elect: &Elect) -> Vec<(i32, String)> {
    let script = "for fd in /proc/$$/fd/*; do echo \"${fd##*/} $(readlink \"$fd\")\"; done";
    let listing = elect.clone().sh(script).run().exits(0).stdout;
    let mut all: Vec<(i32, String)> = listing
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(number, what)| (number.parse().unwrap(), what.to_owned()))
        // The pipes of two runs differ, and so do the shell's own descriptors in the making.
        .map(|(number, what)| (number, what.split(':').next().unwrap_or_default().to_owned()))
        .collect();
    all.sort();
    all
}

#[test]
fn the_command_has_the_descriptors_that_elect_was_started_with() {
    let ground = Ground::new();
    let start = after("exec 5>\"$D/five\" 9<&0 42>&1");
    let with = descriptors(&ground.job().under(&start));
    let without = descriptors(&Elect::new("env").env("D", ground.path()).under(&start));
    let (low, high): (Vec<_>, Vec<_>) = with.into_iter().partition(|(number, _)| *number < 100);
    let (low_without, high_without): (Vec<_>, Vec<_>) =
        without.into_iter().partition(|(number, _)| *number < 100);
    assert_eq!(low, low_without);
    // The command inherits the mark that shows that it lives, and nothing by which it could let go of the lease.
    let added: Vec<_> = high.into_iter().filter(|fd| !high_without.contains(fd)).collect();
    let names: Vec<_> = added.iter().map(|(_, what)| what.rsplit('/').next()).collect();
    assert_eq!(names, [Some("tree")], "{added:?}");
    let told = manual::page("flock");
    assert!(told.contains("inherit one open descriptor") && told.contains("file `tree`"));
}

#[test]
fn neither_elect_nor_the_guardian_keeps_the_commands_descriptors() {
    let ground = Ground::new();
    let file = ground.path().join("five");
    let elect = ground.job().sh(crate::usage::STAY).under(after("exec 5>\"$D/five\" 1>&5"));
    let mut elect = elect.spawn();
    let command: i32 = ground.said("started").parse().unwrap();
    let (wrapper, guardian) = (elect.pid(), elect.guardian());
    let holds = |pid: i32| {
        let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        links.filter(|link| fs::read_link(link.path()).is_ok_and(|to| to == file)).count()
    };
    // A shell has a third for an instant, while it takes back where a line of its went.
    eventually("the command's two", || (holds(command) == 2).then_some(()));
    eventually("elect and the guardian to let go", || {
        (holds(wrapper) + holds(guardian) == 0).then_some(())
    });
}

#[test]
fn closed_streams_do_no_harm() {
    let ground = Ground::new();
    let elect =
        ground.job().sh("is=$(for n in $NUMBERS; do readlink /proc/$$/fd/$n; done); echo \"$is\" >\"$D/ran\"; exit 7");
    for (closed, numbers) in
        [("exec <&-", "0"), ("exec >&-", "1"), ("exec 2>&-", "2"), ("exec <&- >&- 2>&-", "0 1 2")]
    {
        let elect = elect.clone().env("NUMBERS", numbers).under(after(closed));
        elect.run().exits(7);
        let null = numbers.split(' ').map(|_| "/dev/null\n").collect::<String>();
        assert_eq!(fs::read_to_string(ground.path().join("ran")).unwrap(), null, "{closed}");
        fs::remove_file(ground.path().join("ran")).unwrap();
    }
}

#[test]
fn a_stderr_without_a_reader_does_no_harm() {
    let ground = Ground::new();
    let mut command = ground.job().args(["-v"]).sh("exit 7").command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    Running::new(child).wait().exits(7);
}

#[test]
fn a_full_stderr_holds_up_nothing() {
    let ground = Ground::new();
    // A pipe that is full to the brim and never read.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = Command::new("dd");
    filler.args(["if=/dev/zero", "bs=1", "count=1000000", "oflag=nonblock", "status=none"]);
    let full = filler.stdout(writer.try_clone().unwrap()).stderr(Stdio::null()).status().unwrap();
    assert!(!full.success(), "the pipe is full");
    let mut command = ground.job().args(["-v"]).sh("exec 2>&-; exit 7").command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    Running::new(command.spawn().unwrap()).wait().exits(7);
    drop(reader);
}
