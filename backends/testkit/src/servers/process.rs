use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Place;
use crate::program::{eventually, state};

/// A server process of a test. It dies with this value, and with the thread that started it.
#[derive(Debug)]
pub struct Process {
    command: Vec<String>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// Starts `command`, a program and its arguments, at a place. Its output is appended to the file `log`.
    ///
    /// `package` is the Debian package that has the program.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the package.
    pub fn start(command: &[&str], place: &Place, log: &Path, package: &str) -> Self {
        let program = command[0];
        assert!(is_there(program), "{program} is missing: apt-get install {package}");
        let mut words = place.enter();
        words.extend(command.iter().map(ToString::to_string));
        let mut process = Self { command: words, log: log.to_owned(), child: None };
        process.restart();
        process
    }

    /// Starts it again if it is dead.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn restart(&mut self) {
        if self.is_alive() {
            return;
        }
        let log = File::options().create(true).append(true).open(&self.log).expect("a log");
        // `setpriv` executes the program, so the process id stays.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .args(&self.command)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a copy of the log"))
            .stderr(log)
            .spawn()
            .expect("setpriv runs: apt-get install util-linux");
        self.child = Some(child);
    }

    /// Returns its process id.
    ///
    /// # Panics
    /// Panics if it was never started.
    pub fn pid(&self) -> i32 {
        self.child.as_ref().expect("it was started").id().cast_signed()
    }

    /// Returns whether it runs or is stopped.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|end| end.is_none()))
    }

    /// Sends a signal to it.
    ///
    /// # Panics
    /// Panics if it is gone.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("the server lives");
    }

    /// Stops all its threads, and returns once none runs; or has them go on.
    ///
    /// # Panics
    /// Panics if it is gone.
    pub fn stop(&self, is_stopped: bool) {
        if !is_stopped {
            return self.signal(Signal::SIGCONT);
        }
        self.signal(Signal::SIGSTOP);
        let threads = format!("/proc/{}/task", self.pid());
        eventually("all threads of the server to stop", || {
            let mut threads = fs::read_dir(&threads).expect("it lives").map_while(Result::ok);
            let id = |thread: fs::DirEntry| thread.file_name().to_str()?.parse().ok();
            threads.all(|thread| id(thread).and_then(state) == Some('T')).then_some(())
        });
    }

    /// Kills it, and returns once it is dead.
    pub fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits until it has ended by itself.
    pub fn wait(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }

    /// Returns its output so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    if path.is_absolute() {
        return path.exists();
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|folder| folder.join(path).exists())
}

/// Returns a free port of the loopback interface, which the kernel gives to no other process for a while.
///
/// # Panics
/// Panics if there is none.
pub fn free_port() -> u16 {
    // The closed connection keeps the kernel from choosing the port again for a minute.
    let bind = || -> io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let client = std::net::TcpStream::connect(address)?;
        let (server, _) = listener.accept()?;
        drop(server);
        drop(client);
        Ok(address.port())
    };
    bind().expect("a free port")
}
