//! The command that contenders run: it stamps its start, is held until it is told to go, and stamps its end.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use elect_testkit::oracle::now;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

const WORD: &str = "hold";

/// If this process is such a command: its exit code, once it is over.
pub(crate) fn run_as_a_command() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let folder = PathBuf::from(words.next()?);
    stamp(&folder.join("start"));
    let mut nothing = Vec::new();
    let told = fs::File::open(folder.join("go")).and_then(|mut go| go.read_to_end(&mut nothing));
    stamp(&folder.join("end"));
    Some(if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn stamp(path: &Path) {
    let at = now().since_boot().as_nanos().to_string();
    let part = path.with_extension("part");
    if fs::write(&part, at).is_ok() {
        let _ = fs::rename(part, path);
    }
}

/// One such command.
pub(crate) struct Hold {
    folder: PathBuf,
}

impl Hold {
    pub(crate) fn new(folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).expect("a folder");
        mkfifo(&folder.join("go"), Mode::S_IRUSR | Mode::S_IWUSR).expect("a pipe with a name");
        Self { folder }
    }

    pub(crate) fn command(&self) -> Vec<OsString> {
        let us = std::env::current_exe().expect("our own file");
        vec![us.into(), WORD.into(), self.folder.clone().into()]
    }

    pub(crate) fn has_started(&self) -> bool {
        self.folder.join("start").exists()
    }

    /// When it started, as time since boot; waits for that.
    pub(crate) fn started(&self) -> Duration {
        self.read("start")
    }

    /// When it ended, as time since boot; waits for that.
    pub(crate) fn ended(&self) -> Duration {
        self.read("end")
    }

    /// Forgets when it started, so that another command may have the same pipe and the same files.
    pub(crate) fn forget(&self) {
        for name in ["start", "end"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    /// Lets it end.
    pub(crate) fn go(&self) {
        let mut go =
            fs::File::options().write(true).open(self.folder.join("go")).expect("a reader");
        go.write_all(b"go").expect("the pipe takes it");
    }

    fn read(&self, name: &str) -> Duration {
        let end = now() + Duration::from_secs(60);
        loop {
            let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
            if let Ok(nanos) = text.parse() {
                return Duration::from_nanos(nanos);
            }
            assert!(now() < end, "no {name} of {}", self.folder.display());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
