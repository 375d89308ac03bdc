//! Stops and goings-on of a job, where they are not what they seem.

use elect_testkit::program::{children, eventually, name, state};
use elect_testkit::terminal::Terminal;

use crate::guard::terminal::{does, goes_on, shell};
use crate::prelude::*;
use crate::stage::{send, stop, tell};

/// As in `xterm -e elect ...` and `ssh -t host elect ...`: there is no shell to say `fg` in.
#[test]
fn ctrl_z_without_a_shell_is_no_end_of_the_job() {
    let ground = Ground::new();
    let script = "echo asking; read x; echo \"got $x\"; read x; echo \"got $x\"; exit 3";
    let mut terminal = Terminal::start(&mut ground.job().arg("-q").sh(script).command());
    terminal.shows("asking");
    for word in ["one", "two"] {
        terminal.types("\x1a").types(&format!("{word}\r")).shows(&format!("got {word}"));
    }
    terminal.wait().exits(3);
}

/// Starts elect in the background of a shell that leads a session. A line typed in the terminal ends both. Returns the
/// terminal and elect's process.
#[track_caller]
fn in_background(ground: &Ground, elect: Elect) -> (Terminal, i32) {
    let script = "\"$@\" & echo $! >\"$D/elect\"; read x; kill -9 $!";
    let terminal = Terminal::start(&mut elect.under(["sh", "-mc", script, "sh"]).command());
    let wrapper = ground.said("elect").parse().unwrap();
    (terminal, wrapper)
}

/// The words under which processes of elect spend a second before each of these calls. The tracer is not their parent.
fn slowed(call: &str) -> [String; 10] {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:delay_enter=1000000"));
    ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject].map(str::to_owned)
}

/// elect does not know yet that there is a command. If it stopped alone, the command would run on.
#[test]
fn a_stop_while_the_command_is_started_stops_both() {
    let ground = Ground::new();
    let elect = ground.job().arg("-q").sh("exec sleep 3600").under(slowed("execve"));
    let (mut terminal, wrapper) = in_background(&ground, elect);
    let command = eventually("a command that was forked", || {
        let mut below = children(wrapper).into_iter();
        let guardian = below.find(|&pid| name(pid).as_deref() == Some("elect-guardian"))?;
        children(guardian).first().copied()
    });
    tell(wrapper, Signal::SIGTSTP);
    // A process that is traced never shows as stopped.
    send(tracer(wrapper), Signal::SIGKILL);
    stopped(&[command, wrapper]);
    send(wrapper, Signal::SIGCONT);
    eventually("a job that goes on", || {
        [command, wrapper].iter().all(|&process| state(process) != Some('T')).then_some(())
    });
    terminal.types("\r");
}

/// The signal to go on is not lost if it comes before elect has obeyed the one to stop.
#[test]
fn a_stop_that_is_taken_back_at_once_stops_no_candidate() {
    let ground = Ground::new();
    let leader = ground.leader();
    let elect = ground.job().sh("echo $$ >\"$D/elected\"").under(slowed("rt_sigpending"));
    let (mut terminal, wrapper) = in_background(&ground, elect);
    ground.awaits(1);
    tell(wrapper, Signal::SIGTSTP);
    send(wrapper, Signal::SIGCONT);
    leader.ended_by(Signal::SIGTERM).exits(128 + 15);
    ground.said("elected");
    terminal.types("\r");
}

#[track_caller]
fn tracer(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap();
    tracer.trim().parse().unwrap()
}

/// The terminal's stop is for elect and the command alike. If the command ignores it, neither stops. A later stop of
/// the command, by another process, is not the stop that was meant.
#[test]
fn a_stop_that_the_command_ignored_is_forgotten_when_the_job_goes_on() {
    for later in [Signal::SIGSTOP, Signal::SIGTSTP] {
        let ground = Ground::new();
        // The shell stays the leader of the session; elect is in the background of it.
        let script = "trap '' TSTP; echo $$ >\"$D/started\"; until [ -e \"$D/deaf\" ]; do sleep 0.01; \
                      done; trap - TSTP; echo >\"$D/hears\"; exec sleep 3600";
        let (mut terminal, wrapper) = in_background(&ground, ground.job().arg("-q").sh(script));
        let command: i32 = ground.said("started").parse().unwrap();
        tell(wrapper, Signal::SIGTSTP);
        tell(wrapper, Signal::SIGCONT);
        fs::write(ground.path().join("deaf"), "").unwrap();
        ground.said("hears");
        if later == Signal::SIGSTOP {
            stop(command);
        } else {
            send(command, later);
        }
        let end = now() + Duration::from_millis(300);
        while now() < end {
            assert_ne!(state(wrapper), Some('T'), "elect stopped itself after {later}");
        }
        send(command, Signal::SIGKILL);
        terminal.types("\r");
    }
}

/// Nothing else would show why nothing goes on. In a terminal, elect takes the stop for one of the whole job.
#[test]
fn a_command_that_stays_stopped_is_told_once() {
    let ground = Ground::new();
    let job = ground.job().sh("echo $$ >\"$D/command\"; exec sleep 3600");
    let elect = job.under(["setsid", "sh", "-c", "exec \"$@\" 2>\"$D/told\"", "sh"]).spawn();
    let command: i32 = ground.said("command").parse().unwrap();
    stop(command);
    let way_out = format!("(SIGSTOP), and elect leads on: `kill -CONT -{command}` lets it go on");
    let told = ground.said("told");
    assert!(told.contains("the command is stopped ") && told.contains(&way_out), "{told}");
    tell(command, Signal::SIGCONT);
    stop(command);
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
    assert_eq!(ground.said("told").matches("is stopped").count(), 1, "{}", ground.said("told"));
}

/// The shell that has started it is gone, so the kernel does not stop elect as well.
#[test]
fn a_command_that_wants_the_terminal_where_no_shell_is_is_told() {
    let ground = Ground::new();
    let job = ground.job().args(["--max-run", "5m"]);
    let job = job.sh("echo $$ >\"$D/command\"; read x </dev/tty").under([
        "sh",
        "-mc",
        "sh -c '\"$@\" &' sh \"$@\" & wait; read x",
        "sh",
    ]);
    let mut terminal = Terminal::start(&mut job.command());
    let command: i32 = ground.said("command").parse().unwrap();
    terminal.shows("the command is stopped (SIGTTIN): it wants the terminal");
    send(command, Signal::SIGKILL);
    terminal.shows("SIGKILL ended the command").types("\r");
}

/// Waits until all of these processes have stopped.
#[track_caller]
fn stopped(processes: &[i32]) {
    eventually("a stopped job", || {
        processes.iter().all(|&process| state(process) == Some('T')).then_some(())
    });
}

/// In a script, `timeout` and elect are in the background of the terminal, and `timeout` is deaf to what stops those
/// who want it.
#[test]
fn timeout_ends_a_job_that_wants_the_terminal() {
    for (flags, wants) in [("", "read x"), ("", "exec stty sane"), ("--max-run 1h", "read x")] {
        let ground = Ground::new();
        let script = format!(
            "timeout 1h sh -c 'echo $PPID >$D/timeout; echo $$ >$D/elect; exec $E run -q {flags} \
             -e job sh -c \"echo \\$\\$ >\\$D/command; {wants}\"'\n"
        );
        fs::write(ground.path().join("script"), script).unwrap();
        let mut terminal = shell(&ground);
        terminal.types("bash $D/script; echo \"status=$?;\"\r");
        let [timeout, elect, command] =
            ["timeout", "elect", "command"].map(|file| ground.said(file).parse().unwrap());
        stopped(&[command, elect]);
        // To `timeout`, this is the end of its time.
        send(timeout, Signal::SIGALRM);
        terminal.shows("status=124;").shows("READY> ");
        ground.is_left_empty();
    }
}

/// As a terminal's stop does, the stop for want of it reaches all of a job: else a shell's `fg` would continue none.
#[test]
fn two_elects_in_a_pipeline_stop_together() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let asks = "sh -c 'read x </dev/tty; echo \"got $x\"'";
    terminal.types(&format!("$E run -q -e one {asks} | $E run -q -e two cat &\r"));
    let shell = terminal.session().pid();
    let elects = eventually("two elects", || {
        let is_elect = |pid: &i32| name(*pid).as_deref() == Some("elect");
        <[i32; 2]>::try_from(children(shell).into_iter().filter(is_elect).collect::<Vec<_>>()).ok()
    });
    stopped(&elects);
    terminal.types("fg\r").shows("run -q -e two cat").types("hello\r").shows("got hello");
    terminal.shows("READY> ");
}

/// A program that writes down that it runs, and wants a terminal without echo. It is one process: one that a
/// shell has just forked may be stopped before the shell can be (`vfork`).
#[cfg(feature = "sim")]
const STAMPING: &str = "
import os, signal, subprocess, sys, time
folder = os.environ['D']
subprocess.run(['stty', '-icanon', '-echo'])
signal.signal(signal.SIGTERM, lambda *_: open(folder + '/heard', 'w').close())
with open(folder + '/started', 'w') as started:
    print(os.getpid(), file=started)
print('ask' + 'ing', flush=True)
with open(folder + '/stamps', 'a') as stamps:
    while True:
        print(file=stamps, flush=True)
        time.sleep(0.01)
";

#[cfg(feature = "sim")]
fn stamping(ground: &Ground) -> &'static str {
    fs::write(ground.path().join("stamping.py"), STAMPING).unwrap();
    "python3 $D/stamping.py"
}

#[cfg(feature = "sim")]
fn timed_store() -> elect_testkit::sim::SimServer {
    use elect_testkit::sim::{Kind, Options, SimServer};
    SimServer::start(&Options::new(Kind::Queue))
}

#[cfg(feature = "sim")]
#[test]
fn a_job_that_is_continued_after_the_deadline_is_dead_and_leaves_a_sane_terminal() {
    use elect_testkit::program::is_alive;
    let (ground, server) = (Ground::new(), timed_store());
    let mut terminal = shell(&ground);
    let before = does(&mut terminal, "stty -a");
    let elect = format!("$E run -q -b {} --ttl 5s -e job", server.url());
    terminal.types(&format!("{elect} {}\r", stamping(&ground))).shows("asking");
    let command: i32 = ground.said("started").parse().unwrap();
    terminal.types("\x1a").shows("Stopped").shows("READY> ");
    eventually("the deadline", || (!is_alive(command)).then_some(()));
    assert!(ground.has("heard"), "it was asked first");
    // Another leads as soon as the lease is over, while the job is still stopped.
    let other = format!("{elect} sh -c 'echo $ELECT_TOKEN'");
    assert!(does(&mut terminal, &other).ends_with("status=0"));
    let stamps = || fs::read(ground.path().join("stamps")).unwrap().len();
    let at_the_deadline = stamps();
    assert_eq!(does(&mut terminal, "stty -a"), before);
    terminal.types("fg\r").shows("run -q -b").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=124"));
    let shell = terminal.session().pid();
    assert_eq!((terminal.foreground(), stamps()), (shell, at_the_deadline));
    assert_eq!(does(&mut terminal, "stty -a"), before);
}

/// The same in the foreground: the deadline comes while the command has the terminal.
#[cfg(feature = "sim")]
#[test]
fn a_job_whose_deadline_passes_in_the_foreground_leaves_a_sane_terminal() {
    use elect_testkit::sim::{Effect, Op, Rule};
    let (ground, server) = (Ground::new(), timed_store());
    let mut terminal = shell(&ground);
    let before = does(&mut terminal, "stty -a");
    let elect = format!("$E run -q -b {} --ttl 5s -e job", server.url());
    terminal.types(&format!("{elect} {}\r", stamping(&ground))).shows("asking");
    server.controls().add(Rule::new(Effect::LoseReply).op(Op::Renew));
    terminal.shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=124"));
    assert_eq!(does(&mut terminal, "stty -a"), before);
}

#[cfg(feature = "sim")]
#[test]
fn a_job_that_is_continued_before_the_deadline_leads_on() {
    use elect_testkit::sim::{Cause, Effect, Op, Rule};
    let (ground, server) = (Ground::new(), timed_store());
    let mut terminal = shell(&ground);
    let read = "echo asking; read x; echo \"got $x\"; exit 3";
    terminal.types(&format!("$E run -q -b {} --ttl 15s -e job sh -c '{read}'\r", server.url()));
    terminal.shows("asking").types("\x1a").shows("Stopped").shows("READY> ").types("fg\r");
    terminal.shows("run -q -b");
    // It is renewed again, and so leads for longer than the lease that it was stopped with.
    let slow = Effect::DelayReply(Duration::from_millis(1));
    let renewals = server.controls().add(Rule::new(slow).op(Op::Renew));
    eventually("three renewals", || (server.controls().hits(renewals) >= 3).then_some(()));
    goes_on(&mut terminal);
    terminal.types("hello\r").shows("got hello").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
    let history = server.controls().history();
    assert_eq!(history.len(), 1, "{history:?}");
    assert_eq!(history[0].over.map(|(_, cause)| cause), Some(Cause::Left));
}
