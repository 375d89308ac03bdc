//! elect, which may know passwords, leaves no core; its commands have the limits that it was started with.

use std::os::unix::fs::chown;

use elect_testkit::program::{children, name};

use crate::prelude::*;
use crate::usage::{STAY, User, other_user};

/// Soft and hard limits to start elect with.
const STARTED: [[&str; 2]; 4] =
    [["unlimited", "unlimited"], ["0", "unlimited"], ["4096", "8192"], ["0", "0"]];

/// Writes down its own limits and those of a command of `elect fence`.
const TELL: &str = r#"cat /proc/self/limits >"$D/command"
    "$E" fence disk cat /proc/self/limits >"$D/fenced"
    echo $$ >"$D/started"; exec sleep 3600"#;

/// Root or an ordinary user, with a folder of its own.
struct Runner {
    user: Option<User>,
    folder: TempDir,
}

impl Runner {
    fn new(user: Option<User>) -> Self {
        let folder = TempDir::new().unwrap();
        let id = user.as_ref().map(|user| user.id);
        chown(folder.path(), id, id).unwrap();
        Self { user, folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// `elect run` with a command that tells, as do a hook and a health command.
    fn run(&self, [soft, hard]: [&str; 2], containment: &str) -> Running {
        let program = PathBuf::from(ELECT);
        let (elect, program) = match &self.user {
            Some(user) => (user.elect(), user.program()),
            None => (Elect::new(&program), program),
        };
        let tell = |file: &str| {
            format!("sh -c 'cat /proc/self/limits >\"$D/$$\"; mv \"$D/$$\" \"$D/{file}\"'")
        };
        let (hook, health) = (tell("hook"), tell("health"));
        elect
            .args(["run", "-e", "job", "-b", &format!("file://{}", self.path("state").display())])
            .args(["--containment", containment, "--on-elected", &hook])
            .args(["--health-interval", "30ms", "--health-cmd", &health])
            .sh(TELL)
            .env("D", self.folder.path())
            .env("E", program)
            .under(["prlimit", &format!("--core={soft}:{hard}"), "--"])
            .spawn()
    }
}

/// The limits of cores in this text of `/proc`, the soft one first.
fn limits(path: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max core file size"))?;
    Some(line.split_whitespace().take(2).map(str::to_owned).collect())
}

#[test]
fn elect_has_no_cores_and_commands_have_the_given_limit() {
    for containment in ["scan", "pidns"] {
        for user in [None, Some(other_user())] {
            let runner = Runner::new(user);
            for [soft, hard] in STARTED {
                for file in ["started", "command", "fenced", "hook", "health"] {
                    let _ = fs::remove_file(runner.path(file));
                }
                let mut elect = runner.run([soft, hard], containment);
                for file in ["started", "command", "fenced", "hook", "health"] {
                    eventually(&format!("a word of {file}"), || {
                        let text = fs::read_to_string(runner.path(file)).ok()?;
                        text.ends_with('\n').then_some(())
                    });
                }
                let guardian = elect.guardian();
                let init = children(guardian)
                    .into_iter()
                    .filter(|&pid| name(pid).is_some_and(|name| name == "elect-init"));
                let ours: Vec<i32> = [elect.pid(), guardian].into_iter().chain(init).collect();
                assert_eq!(ours.len(), if containment == "pidns" { 3 } else { 2 });
                let none = if hard == "0" { "0" } else { "1" };
                for pid in ours {
                    let path = PathBuf::from(format!("/proc/{pid}/limits"));
                    assert_eq!(limits(&path).expect("limits"), [none, hard], "{:?}", name(pid));
                }
                for file in ["command", "fenced", "hook", "health"] {
                    let told = limits(&runner.path(file)).expect(file);
                    assert_eq!(told, [soft, hard], "{file}, {containment}");
                }
                elect.ended_by(Signal::SIGTERM).exits(143);
            }
        }
    }
}

/// It executes itself for that, with the limit that it has lowered.
#[test]
fn a_command_has_them_after_a_loss_as_well() {
    let ground = Ground::new();
    let elect = ground.job().args(["--after-loss", "campaign"]);
    let tell = "cat /proc/self/limits >\"$D/limits.$$\"; echo $$ >>\"$D/told\"; exec sleep 3600";
    let mut elect = elect.sh(tell).under(["prlimit", "--core=4096:8192", "--"]).spawn();
    for count in 1..=2 {
        let pid = eventually("a command", || {
            let told = fs::read_to_string(ground.path().join("told")).ok()?;
            told.lines().nth(count - 1).map(str::to_owned)
        });
        let told = limits(&ground.path().join(format!("limits.{pid}"))).expect("limits");
        assert_eq!(told, ["4096", "8192"], "command {count}");
        ground.elect("resign").arg("job").run().exits(0);
    }
    elect.signal(Signal::SIGTERM);
    drop(elect);
}

#[test]
fn an_elect_that_aborts_leaves_no_core_where_its_command_leaves_one() {
    let ground = Ground::new();
    let folder = ground.path().join("here");
    fs::create_dir(&folder).unwrap();
    let there = "cd \"$D/here\" && ulimit -c unlimited && exec \"$0\" \"$@\"";
    let run = |script: &str| ground.job().sh(script).under(["sh", "-c", there]).spawn();
    let cores = || fs::read_dir(&folder).unwrap().count();
    let elect = run(STAY);
    ground.said("started");
    assert_eq!(elect.ended_by(Signal::SIGABRT).code(), 134);
    assert_eq!(cores(), 0, "a core of elect");
    run("kill -SEGV $$").wait().exits(139);
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    // Elsewhere, and with a program that takes them, they are out of sight.
    let is_seen = !pattern.trim().is_empty() && !pattern.contains(['/', '|', '@']);
    assert_eq!(cores(), usize::from(is_seen), "cores of the command");
}
