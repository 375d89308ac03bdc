use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::trust::FileId;

/// Whether the process with this id is stopped, by a signal or by who traces it. One that is not to be seen
/// counts as running; in another pid namespace the id may be another process's, so this is for what does no
/// harm when it is wrong.
pub(crate) fn is_stopped(pid: u32) -> bool {
    state(&pid.to_string()).is_some_and(is_of_stopped)
}

/// Whether the candidate with this id is stopped; if it is dead, whether all are that still have this file open, as far
/// as they are to be seen: what has outlived it may hold its lease, and do nothing.
pub(crate) fn all_stand_still(pid: u32, file: FileId) -> bool {
    match state(&pid.to_string()) {
        Some(state) if !is_of_dead(state) => is_of_stopped(state),
        _ => holders_stand_still(file),
    }
}

fn holders_stand_still(file: FileId) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let names = processes.flatten().filter_map(|process| process.file_name().into_string().ok());
    let mut states = names.filter_map(|name| {
        let state = state(&name).filter(|&state| !is_of_dead(state))?;
        has_open(&name, file).then_some(state)
    });
    states.next().is_some_and(is_of_stopped) && states.all(is_of_stopped)
}

/// Whether a process has this file open. One that we may not look into has not.
fn has_open(process: &str, file: FileId) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut files = descriptors.filter_map(|descriptor| fs::metadata(descriptor.path()).ok());
    files.any(|open| FileId::new(open.dev(), open.ino()) == file)
}

fn state(process: &str) -> Option<char> {
    state_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Reads the state behind the name, which may have anything in it.
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
    use std::process::{Command, Stdio};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;

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
    fn of_a_dead_candidate_those_count_that_have_its_file_open() {
        let file = tempfile::tempfile().expect("a file");
        let about = file.metadata().expect("what it is");
        let id = FileId::new(about.dev(), about.ino());
        assert!(!holders_stand_still(id), "we have it open, and run");
        let start =
            |input: Stdio| Command::new("sleep").arg("60").stdin(input).spawn().expect("sleep");
        let mut holders = [start(file.try_clone().expect("a copy").into()), start(file.into())];
        let wait = |child: u32| {
            while !is_stopped(child) {
                std::thread::yield_now();
            }
        };
        let mut seen = Vec::new();
        for holder in &holders {
            let pid = Pid::from_raw(holder.id().cast_signed());
            kill(pid, Signal::SIGSTOP).expect("it lives");
            wait(holder.id());
            seen.push((all_stand_still(0, id), all_stand_still(std::process::id(), id)));
        }
        for holder in &mut holders {
            holder.kill().expect("it lives");
            holder.wait().expect("its end");
        }
        assert_eq!(seen, [(false, false), (true, false)]);
        assert!(!holders_stand_still(id), "nobody has it open");
    }
}
