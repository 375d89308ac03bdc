//! Atomic files: small files beside the queue that are replaced as a whole. A power cut leaves the old one or the new
//! one. Once a write has returned, it leaves the new one. All cells except the history are atomic files.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use elect_api::{Error, ErrorKind, Wake};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent};

use crate::election_dir::ElectionDir;
use crate::error::{errno_of, failed, wrong};
use crate::trust::FileId;
use crate::watch::Sleeper;

/// Replaces the text of the file of this name durably. Callers must take turns.
pub(crate) fn replace(dir: &ElectionDir, name: &str, text: &[u8]) -> Result<(), Error> {
    let from = unfinished(name);
    let path = dir.path_of(&from);
    let (mut file, _) = dir.file(&from)?;
    let written =
        file.set_len(0).and_then(|()| file.write_all(text)).and_then(|()| file.sync_all());
    written.map_err(|error| failed("write", &path, errno_of(&error)))?;
    dir.rename(&from, name)?;
    dir.sync(name)
}

/// The name of the new file until it replaces the old one. No atomic file has a name that begins with a dot, so this
/// is never the name of another one.
pub(crate) fn unfinished(name: &str) -> String {
    format!(".new-{name}")
}

/// Opens the file of this name for reading; `None` if there is none.
pub(crate) fn open(dir: &ElectionDir, name: &str) -> Result<Option<(File, FileId)>, Error> {
    loop {
        if let Some(found) = dir.open_existing(name)? {
            return Ok(Some(found));
        }
        match dir.is_regular(name)? {
            None => return Ok(None),
            // The file has appeared since.
            Some(true) => {}
            Some(false) => {
                let what = "is not a regular file, so elect did not make it: move it away";
                return Err(wrong(ErrorKind::Unfit, &dir.path_of(name), what).of_a_text());
            }
        }
    }
}

/// Reads the whole file, at most `longest` bytes.
pub(crate) fn read(file: &File, longest: usize, path: &Path) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let read = file.take(longest as u64 + 1).read_to_end(&mut text);
    read.map_err(|error| failed("read", path, errno_of(&error)))?;
    if text.len() > longest {
        let what = "is too long to be one of elect's: move it away";
        return Err(wrong(ErrorKind::Unfit, path, what).of_a_text());
    }
    Ok(text)
}

/// A thread that sleeps until an atomic file is replaced, or its directory goes.
pub(crate) struct FileWatch {
    name: String,
    sleeper: Sleeper,
}

impl FileWatch {
    /// Starts the thread. `None` if the kernel grants no more inotify instances. They are few, and no promise depends
    /// on one.
    pub(crate) fn start(directory: &Path, name: String) -> Result<Option<Self>, Error> {
        let Ok(inotify) = Inotify::init(InitFlags::IN_CLOEXEC) else { return Ok(None) };
        let wanted = AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF
            | AddWatchFlags::IN_ONLYDIR;
        if inotify.add_watch(directory, wanted).is_err() {
            return Ok(None);
        }
        let file = name.clone();
        let is_other = move |event: &InotifyEvent| {
            event.name.as_ref().is_some_and(|name| name.as_bytes() != file.as_bytes())
        };
        let sleeper = Sleeper::start("elect-note", move || {
            while inotify.read_events().is_ok_and(|events| events.iter().all(&is_other)) {}
            // Closing it can take tens of milliseconds. Only the end of the process waits for that.
            inotify
        })?;
        Ok(Some(Self { name, sleeper }))
    }

    /// Whether the thread still sleeps, for the file of this name.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.name == name && self.sleeper.sleeps()
    }

    /// Ends when the thread ends.
    pub(crate) fn wake(&self) -> Wake {
        self.sleeper.wake()
    }
}
