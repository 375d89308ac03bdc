//! (j) The time from the death of a wrapper, or from a deadline, to the death of the last process of its command: the
//! guardian kills.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use elect_testkit::oracle::now;
use nix::libc::O_NONBLOCK;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::contender::{Store, spawn};
use crate::order::Order;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;
use crate::wait::until_readable;

const PROCESSES: [usize; 3] = [1, 100, 1000];

/// For a command that does not stop when it is asked to.
const STOP_TIMEOUT: Duration = Duration::from_millis(300);

/// A thousand processes take a while to start.
const MOST_RUNS: usize = 10;

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for processes in PROCESSES {
        let [mut killed, mut overdue] = [(); 2].map(|()| Sample::default());
        for _ in 0..order.runs.min(MOST_RUNS) {
            killed.push_time(Tree::start(stage, processes).end(Signal::SIGKILL));
            let time = Tree::start(stage, processes).end(Signal::SIGTERM);
            overdue.push_time(time.saturating_sub(STOP_TIMEOUT));
        }
        let mut tell = |what, sample| {
            let plural = if processes == 1 { "" } else { "es" };
            let of = format!("{processes} process{plural}, {what}");
            report.figure("kill", &of, Unit::Milliseconds).of("elect", sample);
        };
        tell("wrapper killed", killed);
        tell("deadline", overdue);
    }
}

/// A command of many processes.
struct Tree {
    wrapper: Child,
    /// Can be read once all are there, and ends when the last one does.
    pipe: File,
}

impl Tree {
    fn start(stage: &Stage, processes: usize) -> Self {
        let pipe = stage.path(&stage.fresh("pipe"));
        mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).expect("a pipe with a name");
        let words = ["sh".into(), "-c".into(), script(processes, &pipe).into()];
        let flags = ["--stop-timeout", &format!("{}ms", STOP_TIMEOUT.as_millis())];
        let mut pipe =
            File::options().read(true).custom_flags(O_NONBLOCK).open(pipe).expect("a pipe");
        let place = stage.place(Store::File);
        let wrapper = spawn(Store::File.run(&place, &stage.fresh("kill"), &flags, &words));
        until_readable(&pipe);
        assert_eq!(pipe.read(&mut [0; 1]).expect("a pipe"), 1, "the command has ended");
        Self { wrapper, pipe }
    }

    /// Sends the wrapper a signal; the time until the tree is empty.
    fn end(mut self, signal: Signal) -> Duration {
        let from = now();
        process::signal(&self.wrapper, signal);
        until_readable(&self.pipe);
        let time = now().since(from);
        assert_eq!(self.pipe.read(&mut [0; 1]).expect("a pipe"), 0, "the command goes on");
        self.wrapper.wait().expect("a child");
        time
    }
}

/// All of them have the pipe, and none minds being asked to stop.
fn script(processes: usize, pipe: &Path) -> String {
    format!(
        "trap '' TERM; exec 9>'{}'; i=1; while [ $i -lt {processes} ]; do sleep 600 & i=$((i+1)); done; \
         printf . >&9; exec sleep 600",
        pipe.display()
    )
}
