//! Containments: how surely all descendants of the command can be killed.

mod cgroup;
mod hidden;
mod matrix;
mod pidns;
mod refusals;

use std::ffi::OsString;
use std::os::unix::fs::chown;

use elect_testkit::fault::Cgroup;
use elect_testkit::program::{self, children, name};

use crate::prelude::*;
use crate::usage::{User, other_user};

/// The user who runs elect: root or an ordinary user, with a folder of its own and a cgroup that it may divide.
struct Runner {
    user: Option<User>,
    folder: TempDir,
    cgroup: Cgroup,
}

impl Runner {
    fn root() -> Self {
        Self::new(None)
    }

    fn ordinary() -> Self {
        Self::new(Some(other_user()))
    }

    fn new(user: Option<User>) -> Self {
        let (folder, cgroup) = (TempDir::new().unwrap(), Cgroup::v2());
        if let Some(User { id, .. }) = user {
            // As systemd does it with Delegate=yes.
            let delegated = ["cgroup.procs", "cgroup.threads", "cgroup.subtree_control"];
            let delegated = delegated.map(|file| cgroup.folder().join(file));
            for path in
                delegated.iter().map(PathBuf::as_path).chain([cgroup.folder(), folder.path()])
            {
                chown(path, Some(id), Some(id)).unwrap();
            }
        }
        Self { user, folder, cgroup }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Without any argument. Its process is the one that is started.
    fn elect(&self) -> Elect {
        let elect = match &self.user {
            Some(user) => user.elect(),
            None => Elect::new(ELECT),
        };
        elect.env("D", self.folder.path()).under(self.cgroup.enter())
    }

    fn url(&self) -> String {
        format!("file://{}", self.path("state").display())
    }

    /// Returns `elect run` in the election "job", without flags and a command.
    fn run(&self) -> Elect {
        self.elect().args(["run", "-e", "job", "-b", &self.url()])
    }

    /// A copy of a program that this user may execute.
    fn copy_of(&self, program: &Path, name: &str) -> PathBuf {
        let copy = self.path(name);
        if !copy.exists() {
            program::copy(program, &copy);
        }
        copy
    }

    /// The stamper's command, as this user may execute it.
    fn command_of(&self, stamper: &Stamper) -> Vec<OsString> {
        match self.user {
            Some(_) => {
                stamper.command_of(&self.copy_of(&std::env::current_exe().unwrap(), "stamper"))
            }
            None => stamper.command(),
        }
    }

    /// Returns true if this user can have a containment, as elect says, and checks that other programs agree.
    fn can_have(&self, tier: &str) -> bool {
        let ended = self.run().args(["--containment", tier, "true"]).run();
        let can = ended.code() == 0;
        if !can {
            ended.exits(125).says(&format!("containment {tier} is not available here: "));
        }
        if tier == "pidns" {
            let id = self.user.as_ref().map_or(0, |user| user.id).to_string();
            let as_them = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
            let flags = if self.user.is_some() { "-Upf" } else { "-pf" };
            let other = Elect::new("unshare").args([flags, "true"]).under(as_them).run();
            assert_eq!(other.code() == 0, can, "{other:?}");
        } else {
            assert!(can, "{tier} can be had");
        }
        can
    }
}

/// The guardian's children: the init of a pid namespace, and the command, while they live.
#[track_caller]
fn children_by_name(guardian: i32) -> (Option<i32>, Vec<i32>) {
    let is_called = |pid: i32, other: &str| name(pid).as_deref() == Some(other);
    // The door may not have ended yet, and the init has its name until it takes its own.
    let all = eventually("the end of the door", || {
        let all = children(guardian);
        (!all.iter().any(|&child| is_called(child, "elect-door"))).then_some(all)
    });
    let (init, others): (Vec<i32>, Vec<i32>) =
        all.into_iter().partition(|&child| is_called(child, "elect-init"));
    assert!(init.len() < 2, "{init:?}");
    (init.first().copied(), others)
}
