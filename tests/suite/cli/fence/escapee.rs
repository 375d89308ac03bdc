//! A process that a leader left behind: nothing contains it, and it stood still while another candidate came to lead.

use std::fs;

use elect_testkit::program::{Elect, Running, eventually, line_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getsid};

use crate::cli::see::Arena;

/// It leaves its session and closes all descriptors, so that nothing holds it when wrapper and guardian are killed,
/// and makes sure that it leads.
const ESCAPE: &str = r#"
    setsid bash -c '
        for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done
        "$E" check >/dev/null || exit 1
        echo $$ >"$RECORD.pid"
        eval "$WORDS"
        echo done >>"$RECORD.late"
    ' >/dev/null 2>"$RECORD.said" </dev/null &
    exec sleep 3600"#;

/// Seconds, where leases end by time. A busy machine keeps it.
const LEASE: u32 = 10;

/// Processes in a session of their own, which are killed with this.
pub(super) struct Escapee<'a> {
    arena: &'a Arena,
    session: Pid,
}

impl<'a> Escapee<'a> {
    /// Has a leader's command do these words, which write to `$RECORD.late`, and kills wrapper and guardian at once
    /// when it stands still in them.
    pub(super) fn of_a_leader(
        arena: &'a Arena,
        flags: impl FnOnce(Elect) -> Elect,
        words: &str,
        stands_still: impl Fn(i32) -> bool,
    ) -> Self {
        let flags = |it: Elect| flags(it.env("E", env!("CARGO_BIN_EXE_elect")).env("WORDS", words));
        let mut one = arena.run_with("one", LEASE, flags, ESCAPE);
        let pid: i32 = line_of(&arena.path("record.pid")).trim().parse().expect("a process id");
        let escapee = Self { arena, session: Pid::from_raw(pid) };
        eventually("it to stand still", || stands_still(pid).then_some(()));
        let (wrapper, guardian) = (one.pid(), one.guardian());
        let send = |to, signal| kill(Pid::from_raw(to), signal).expect("it lives");
        send(wrapper, Signal::SIGSTOP);
        send(guardian, Signal::SIGSTOP);
        // Were the wrapper to die first, the kernel would have the guardian go on, and that would sweep.
        send(guardian, Signal::SIGKILL);
        send(wrapper, Signal::SIGKILL);
        one.wait().exits(137);
        escapee
    }

    /// Has it go on to its end. Returns what it wrote, and what it said.
    pub(super) fn go_on(self) -> (String, String) {
        let late = eventually("it to end", || {
            self.send(Signal::SIGCONT);
            let late = fs::read_to_string(self.arena.path("record.late")).ok();
            late.filter(|text| text.ends_with("done\n"))
        });
        (late, fs::read_to_string(self.arena.path("record.said")).expect("its words"))
    }

    /// Sends a signal to all of them.
    fn send(&self, signal: Signal) {
        let all = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for pid in pids.map(Pid::from_raw) {
            if getsid(Some(pid)) == Ok(self.session) {
                let _ = kill(pid, signal);
            }
        }
    }
}

impl Drop for Escapee<'_> {
    fn drop(&mut self) {
        self.send(Signal::SIGKILL);
    }
}

/// The next leader, whose command does some words, and stays.
pub(super) struct Successor<'a> {
    arena: &'a Arena,
    running: Running,
}

impl<'a> Successor<'a> {
    /// Waits to lead.
    pub(super) fn start(arena: &'a Arena, flags: impl FnOnce(Elect) -> Elect, words: &str) -> Self {
        let script = format!("{words} && echo \"$ELECT_TOKEN\" >\"$RECORD.two\"; exec sleep 3600");
        let flags = |it: Elect| flags(it.env("E", env!("CARGO_BIN_EXE_elect")));
        Self { arena, running: arena.run_with("two", LEASE, flags, &script) }
    }

    /// Waits until it has done them. Returns its token, in a line.
    pub(super) fn has_done(&mut self) -> String {
        eventually("the next leader to be done", || {
            let is_running = self.running.is_running();
            let done = fs::read_to_string(self.arena.path("record.two")).ok();
            let done = done.filter(|text| text.ends_with('\n'));
            if done.is_none() && !is_running {
                let ended = std::mem::replace(&mut self.running, Running::idle()).wait();
                panic!("the next leader has ended: {ended:?}");
            }
            done
        })
    }
}
