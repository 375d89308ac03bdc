//! A's surroundings and its command: another user, a crowd beside it, a wrong clock.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::oracle::{Crowd, Habit};
use elect_testkit::program;

use crate::prelude::*;
use crate::support::WallClock;

/// The further work of A's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Plain,
    /// Some of it leave its session, by a double fork.
    Leaves,
    /// It becomes another user's.
    OfAnotherUser,
    /// It closes what it inherits, and stays one group.
    Closes,
    /// It has one child, in a session of its own, which has the rest; only that stamps.
    Escapes,
    /// It has lines of descent besides, each in sessions of their own.
    Descends,
    /// It has processes besides that keep a processor busy, each in a session of its own.
    Spins,
    /// The same, some at a real-time priority.
    SpinsFirst,
    /// It has very many processes besides, each in a session of its own.
    Rests,
    /// Some of it leave its session, and none of it is dumpable.
    Hides,
    /// As `Escapes`, with a gigabyte of memory that it has written to.
    EscapesFromMuch,
}

/// The surroundings in which A runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surroundings {
    Plain,
    /// Its output goes to a full disk.
    FullLog,
    /// Its wall clock is what the test makes it.
    WrongClock,
    /// It is root, and may not signal other users' processes.
    WithoutKill,
    /// It has one processor.
    OneProcessor,
    /// The kernel kills a process that runs at a real-time priority for a fiftieth of a second.
    LittleRealTime,
    /// Its `/proc` hides what is not dumpable.
    HidingProc,
}

/// A program that is deaf to TERM, takes some time to give its memory back, and starts another in a session of its own.
const MUCH: &str = "import signal, subprocess, sys\n\
    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
    memory = b'x' * (1 << 30)\n\
    subprocess.Popen(sys.argv[1:], start_new_session=True).wait()";
const WITHOUT_KILL: [&str; 6] = ["setpriv", "--bounding-set", "-kill", "--inh-caps", "-kill", "--"];
/// A user id that no user has.
const UNKNOWN_USER: &str = "2000001";
const LITTLE_REAL_TIME: [&str; 3] = ["prlimit", "--rttime=20000", "--"];
/// Root may look at everything by its capability, or its group.
const HIDING_PROC: &str = "mount -t proc -o hidepid=2,gid=2000001 proc /proc && exec setpriv --bounding-set -sys_ptrace \
    --inh-caps -sys_ptrace -- \"$@\"";
const RESTING: u32 = 3000;
const SPINNERS: usize = 40;
const NICE: [&str; 3] = ["nice", "-n", "19"];

/// The surroundings of A, until this is dropped.
pub(crate) struct World {
    surroundings: Surroundings,
    folder: TempDir,
    /// A's, if it is another than the machine's.
    clock: Option<WallClock>,
    crowd: Crowd,
    spinners: Vec<Running>,
}

impl World {
    pub(crate) fn new(surroundings: Surroundings) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let clock = (surroundings == Surroundings::WrongClock).then(WallClock::new);
        let world = Self { surroundings, folder, clock, crowd: Crowd::new(), spinners: Vec::new() };
        world.set_clock(3600);
        world
    }

    /// A, in it.
    pub(crate) fn around(&self, elect: Elect) -> Elect {
        match self.surroundings {
            Surroundings::Plain => elect,
            Surroundings::FullLog => {
                elect.under(["sh", "-c", "exec \"$@\" 2>/dev/full", "sh"]).arg("-v")
            }
            Surroundings::WithoutKill => elect.under(WITHOUT_KILL),
            Surroundings::OneProcessor => elect.under(["taskset", "-c", "0"]),
            Surroundings::LittleRealTime => elect.under(LITTLE_REAL_TIME),
            Surroundings::HidingProc => {
                elect.under(["unshare", "-m", "sh", "-c", HIDING_PROC, "sh"])
            }
            Surroundings::WrongClock => match &self.clock {
                Some(clock) => clock.of(elect),
                None => elect,
            },
        }
    }

    /// A's command.
    pub(crate) fn command(&self, stamper: Stamper, tree: Tree) -> Vec<OsString> {
        match tree {
            Tree::Plain => stamper.command(),
            Tree::Leaves => stamper.daemons(2).command(),
            Tree::OfAnotherUser => self.of_another_user(stamper.sessions(1).command()),
            Tree::Descends => self.beside(Habit::Descends, 100, &stamper),
            Tree::Spins => self.beside(Habit::Spins, 200, &stamper),
            Tree::SpinsFirst => self.beside(Habit::SpinsFirst, 200, &stamper),
            Tree::Rests => self.beside(Habit::Rests, RESTING, &stamper),
            Tree::Hides => stamper.daemons(2).hiding().command(),
            Tree::Closes => stamper.closing_descriptors().command(),
            Tree::Escapes => below(&["sh", "-c", "setsid \"$@\" & wait", "sh"], stamper.command()),
            Tree::EscapesFromMuch => below(&["python3", "-c", MUCH], stamper.command()),
        }
    }

    /// The stamper, with others that stamp elsewhere.
    fn beside(&self, habit: Habit, count: u32, stamper: &Stamper) -> Vec<OsString> {
        let others = self.crowd.words(habit, count).into_iter();
        // The shell counts them: what follows is the stamper.
        let script = format!(
            "{{ {} & }}; shift {}; exec \"$@\"",
            (1..=others.len()).map(|index| format!("\"${index}\"")).collect::<Vec<_>>().join(" "),
            others.len()
        );
        let shell = ["sh", "-c", &script, "sh"].map(OsString::from);
        shell.into_iter().chain(others).chain(stamper.command()).collect()
    }

    /// Lets the others begin.
    pub(crate) fn let_the_others_begin(&self) {
        self.crowd.begin();
    }

    /// Lets the others begin, and waits until all that rest are there.
    pub(crate) fn wait_for_the_others(&self) {
        self.crowd.begin();
        eventually("a crowd that rests", || (self.crowd.count() == RESTING).then_some(()));
    }

    /// When one of the others stamped last.
    pub(crate) fn last_of_the_others(&self) -> Option<Boottime> {
        self.crowd.last()
    }

    /// The other user may execute a copy of the stamper, and write to its map.
    fn of_another_user(&self, mut words: Vec<OsString>) -> Vec<OsString> {
        let open = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
        };
        open(self.folder.path(), 0o755);
        let copy = self.folder.path().join("stamper");
        program::copy(words[0].as_ref(), &copy);
        let map = words.iter().find_map(|word| word.to_str()?.strip_prefix("map="));
        open(map.expect("a map").as_ref(), 0o666);
        words[0] = copy.into();
        let user =
            ["setpriv", "--reuid", UNKNOWN_USER, "--regid", UNKNOWN_USER, "--clear-groups", "--"];
        user.into_iter().map(OsString::from).chain(words).collect()
    }

    /// These processes, and many others that spin, have the least share of the processors from now on.
    pub(crate) fn crowd_out(&mut self, pids: &[i32]) {
        self.spinners.extend((0..SPINNERS).map(|_| spin()));
        let mut renice = Command::new("renice");
        renice.args(["-n", "19", "-p"]).args(pids.iter().map(ToString::to_string));
        let done = renice.stdout(Stdio::null()).status();
        assert!(done.expect("renice runs: apt-get install util-linux").success());
    }

    /// Ends the others that spin.
    pub(crate) fn disperse(&mut self) {
        self.spinners.clear();
    }

    /// A's wall clock is so many seconds ahead from now on.
    pub(crate) fn set_clock(&self, seconds: i64) {
        if let Some(clock) = &self.clock {
            clock.put_ahead(seconds);
        }
    }

    /// Returns true if a process gets its wall clock from here.
    pub(crate) fn is_the_clock_of(&self, pid: i32) -> bool {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        self.clock.as_ref().is_some_and(|it| maps.contains(&*it.library().to_string_lossy()))
    }
}

/// Has a program start another one.
fn below(program: &[&str], command: Vec<OsString>) -> Vec<OsString> {
    program.iter().map(OsString::from).chain(command).collect()
}

fn spin() -> Running {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).args(NICE).args([
        "sh",
        "-c",
        "while :; do :; done",
    ]);
    command.stdin(Stdio::null());
    Running::new(command.spawn().expect("setpriv runs: apt-get install util-linux"))
}
