use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::trust::FileId;
use elect_system::path::read_kernel;

/// Whether the process with this id is stopped, by a signal or by a tracer. An invisible process counts as running. In
/// another pid namespace the id may name another process, so callers may use this only where a wrong answer does no
/// harm.
pub(crate) fn is_stopped(pid: u32) -> bool {
    state(&pid.to_string()).is_some_and(is_of_stopped)
}

/// Whether the process with this id lives, as far as it is visible.
pub(crate) fn lives(pid: u32) -> bool {
    state(&pid.to_string()).is_some_and(|state| !is_of_dead(state))
}

/// Whether there are any processes in this list, and all of them are stopped.
pub(crate) fn are_stopped(processes: &[u32]) -> bool {
    !processes.is_empty() && processes.iter().all(|&process| is_stopped(process))
}

/// The living processes that hold a lock or a mark on this file, in ascending order. Two kinds are missing: processes
/// that this one may not inspect, and a descriptor that is in transit in a socket.
pub(crate) fn holders(file: FileId) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let mut holders: Vec<u32> =
        numbers.filter(|&process| lives(process) && keeps(process, file)).collect();
    holders.sort_unstable();
    holders
}

/// Whether the process keeps the lock by a descriptor or by a mapping. A mapped file stays open, and keeps its locks,
/// after its last descriptor is closed.
fn keeps(process: u32, file: FileId) -> bool {
    among(process, "fd", file).any(|descriptor| has_lock(process, &descriptor))
        || among(process, "map_files", file).next().is_some()
}

/// The names of a process's links to this file in a directory of `/proc`.
fn among(process: u32, directory: &str, file: FileId) -> impl Iterator<Item = String> {
    let links = fs::read_dir(format!("/proc/{process}/{directory}")).into_iter().flatten();
    links.flatten().filter_map(move |link| {
        let open = fs::metadata(link.path()).ok()?;
        let is_it = FileId::new(open.dev(), open.ino()) == file;
        is_it.then(|| link.file_name().to_string_lossy().into_owned())
    })
}

/// Whether a lock belongs to this descriptor. A process that only looks at the file has none.
fn has_lock(process: u32, descriptor: &str) -> bool {
    let told = read_kernel(format!("/proc/{process}/fdinfo/{descriptor}"));
    told.is_ok_and(|told| told.lines().any(|line| line.starts_with("lock:")))
}

fn state(process: &str) -> Option<char> {
    state_in(&read_kernel(format!("/proc/{process}/stat")).ok()?)
}

/// Reads the state after the name of the process, which may have any characters in it.
fn state_in(stat: &str) -> Option<char> {
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

const fn is_of_stopped(state: char) -> bool {
    matches!(state, 'T' | 't')
}

const fn is_of_dead(state: char) -> bool {
    matches!(state, 'Z' | 'X' | 'x')
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::{Child, Command, Stdio};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;
    use crate::lock;

    #[test]
    fn the_state_is_behind_the_name() {
        let is_stopped_in = |stat| state_in(stat).is_some_and(is_of_stopped);
        assert!(is_stopped_in("12 (elect) T 1 12"));
        assert!(is_stopped_in("12 (a) S (b) t 1 12"));
        for going_on in ["12 (T) S 1", "12 () T) R 1", "", "12 (T", ") "] {
            assert!(!is_stopped_in(going_on), "{going_on}");
        }
        assert!(!is_stopped(std::process::id()) && !is_stopped(0));
    }

    #[test]
    fn holders_are_processes_with_a_lock_and_not_readers() {
        let path = tempfile::NamedTempFile::new().expect("a file").into_temp_path();
        let open = || File::options().read(true).write(true).open(&path).expect("a file");
        let about = open().metadata().expect("what it is");
        let id = FileId::new(about.dev(), about.ino());
        let (file, _looked_at) = (open(), open());
        assert!(holders(id).is_empty());
        assert!(lock::try_write(&file).expect("a lock"));
        assert_eq!(holders(id), [std::process::id()]);
        let start =
            |input: Stdio| Command::new("sleep").arg("60").stdin(input).spawn().expect("sleep");
        let mut sleepers = [start(file.try_clone().expect("a copy").into()), start(file.into())];
        let mut numbers: Vec<u32> = sleepers.iter().map(Child::id).collect();
        numbers.sort_unstable();
        let mut seen = vec![(holders(id), are_stopped(&holders(id)))];
        for number in &numbers {
            kill(Pid::from_raw(number.cast_signed()), Signal::SIGSTOP).expect("it lives");
            while !is_stopped(*number) {
                std::thread::yield_now();
            }
            seen.push((holders(id), are_stopped(&holders(id))));
        }
        for sleeper in &mut sleepers {
            sleeper.kill().expect("it lives");
            sleeper.wait().expect("its end");
        }
        let expected = [false, false, true].map(|are_stopped| (numbers.clone(), are_stopped));
        assert_eq!(seen, expected);
        assert!(holders(id).is_empty());
    }
}
