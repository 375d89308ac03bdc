//! A terminal with a shell in it. A test types and reads as a person does.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{Winsize, openpty};

use crate::program::{Ended, Running, eventually};

/// A pseudo-terminal and the program that it controls.
///
/// A drop kills that program. With the death of the session's leader the terminal hangs up.
#[derive(Debug)]
pub struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    /// How much of the screen the test has waited for.
    seen: usize,
    session: Running,
}

impl Terminal {
    /// Starts `command` as the leader of its own session, with this as its controlling terminal.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).expect("a pseudo-terminal");
        // A program that inherits the other end would never see the window close.
        for fd in [&pty.master, &pty.slave] {
            fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("a descriptor");
        }
        let stream = |fd: &OwnedFd| Stdio::from(fd.try_clone().expect("a descriptor"));
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        session.stdin(stream(&pty.slave)).stdout(stream(&pty.slave)).stderr(stream(&pty.slave));
        let session = Running::new(session.spawn().expect("setsid starts"));
        let keyboard = File::from(pty.master);
        let screen = Arc::default();
        let reader = (keyboard.try_clone().expect("a descriptor"), Arc::clone(&screen));
        thread::spawn(move || watch(reader.0, &reader.1));
        Self { keyboard, screen, seen: 0, session }
    }

    /// Types this text: `\r` is the return key, `\x03` is Ctrl-C, `\x1a` is Ctrl-Z.
    #[track_caller]
    pub fn types(&mut self, text: &str) -> &mut Self {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal takes what is typed");
        self
    }

    /// Waits until this text appears after all that was waited for before.
    #[track_caller]
    pub fn shows(&mut self, text: &str) -> &mut Self {
        self.until(text);
        self
    }

    /// Does the same as [`Self::shows`], and returns the text in between.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let screen = Arc::clone(&self.screen);
        let from = self.seen;
        let look = || lock(&screen)[from..].find(text);
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(&format!("{text:?} on the terminal"), look)
        }));
        let all = lock(&screen).clone();
        let Ok(at) = found else { panic!("{text:?} is not shown after: {:?}", &all[from..]) };
        self.seen = from + at + text.len();
        all[from..from + at].to_owned()
    }

    /// Returns the process group in the foreground, which gets the signals of keys.
    #[track_caller]
    pub fn foreground(&self) -> i32 {
        nix::unistd::tcgetpgrp(&self.keyboard).expect("a terminal that a process controls").as_raw()
    }

    /// Returns how the terminal treats keys (echo, line editing and so on), as one text to compare.
    #[track_caller]
    pub fn modes(&self) -> String {
        let modes = nix::sys::termios::tcgetattr(&self.keyboard).expect("a terminal's modes");
        format!("{:?} {:?} {:?}", modes.local_flags, modes.input_flags, modes.output_flags)
    }

    /// Returns all that was ever shown.
    pub fn all(&self) -> String {
        lock(&self.screen).clone()
    }

    /// Waits for the end of the program that has this as its controlling terminal.
    #[track_caller]
    pub fn wait(self) -> Ended {
        self.session.wait()
    }

    /// Returns the program that has this as its controlling terminal.
    pub fn session(&mut self) -> &mut Running {
        &mut self.session
    }
}

fn watch(mut terminal: File, screen: &Mutex<String>) {
    let mut bytes = [0; 4096];
    // The end of the last program on the terminal is read as an error.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        lock(screen).push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

fn lock(screen: &Mutex<String>) -> std::sync::MutexGuard<'_, String> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}
