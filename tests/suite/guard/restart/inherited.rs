//! Each later start of a command gets the same descriptors as the first.

use std::io::{Read, Write};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::guard::terminal::{does, shell};
use crate::prelude::*;

const FLAGS: [&str; 6] =
    ["--restart", "on-failure", "--restart-delay", "20ms", "--restart-max-delay", "20ms"];

#[test]
fn streams_and_descriptors_go_on_where_they_were() {
    let ground = Ground::new();
    let fifo = ground.path().join("kept");
    let script = "read line; echo \"$line\"; echo \"to 5: $line\" >&5; [ \"$line\" = last ]";
    let open = format!("exec 5>>{}; exec \"$@\"", fifo.display());
    let elect = ground.job().args(FLAGS).sh(script).under(["sh", "-c", &open, "sh"]);
    let mut command = elect.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let elect = Running::new(child);
    let mut seen = Vec::new();
    for line in ["first", "second", "last"] {
        writeln!(stdin, "{line}").unwrap();
        let mut byte = [0];
        let end = seen.len() + line.len() + 1;
        while seen.len() < end {
            stdout.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
    }
    assert_eq!(String::from_utf8(seen).unwrap(), "first\nsecond\nlast\n");
    elect.wait().exits(0);
    // No process holds it.
    assert_eq!(stdout.read(&mut [0]).unwrap(), 0);
    assert_eq!(fs::read_to_string(fifo).unwrap(), "to 5: first\nto 5: second\nto 5: last\n");
}

#[test]
fn starts_leave_no_descriptors() {
    let ground = Ground::new();
    for tier in ["scan", "pidns"] {
        let (starts, gate) = (ground.path().join(tier), ground.path().join(format!("{tier}.gate")));
        mkfifo(&gate, Mode::S_IRWXU).unwrap();
        // The third and the twentieth wait for us: what is open while one runs changes the least.
        let script = format!(
            "echo >>{0}; case $(wc -l <{0}) in 3|20) cat {1};; esac; exit 1",
            starts.display(),
            gate.display()
        );
        let flags = ["--containment", tier];
        let mut elect = ground.job().args(FLAGS).args(flags).sh(&script).spawn();
        let guardian = elect.guardian();
        let reached = |count| {
            eventually("more starts", || {
                let text = fs::read_to_string(&starts).unwrap_or_default();
                (text.lines().count() == count).then_some(())
            });
        };
        // Descriptors of /proc itself are closed after each look at the tree.
        let counts = |entry: &fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|target| target != Path::new("/proc"))
        };
        let open = || {
            let all = fs::read_dir(format!("/proc/{guardian}/fd")).unwrap();
            all.flatten().filter(counts).count()
        };
        reached(3);
        let before = (0..500).map(|_| open()).min().unwrap();
        fs::write(&gate, "").unwrap();
        reached(20);
        eventually("as few descriptors as before", || (open() <= before).then_some(()));
        elect.ended_by(Signal::SIGTERM);
    }
}

#[test]
fn a_key_in_the_terminal_ends_it_for_good() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script = "echo >>\"$D/starts\"; [ $(wc -l <\"$D/starts\") -ge 2 ] || exit 1; echo second; exec sleep 3600";
    fs::write(ground.path().join("script"), script).unwrap();
    terminal.types(&format!("$E run -e job {} sh \"$D/script\"\r", FLAGS.join(" ")));
    terminal.shows("second").types("\x03").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=130"));
    let starts = fs::read_to_string(ground.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2);
}
