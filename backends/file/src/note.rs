//! Notes: small files that are replaced as a whole, so that a power cut leaves the old one or the new.

use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use elect_api::{ElectionName, Error, ErrorKind, Note, NoteName, Wake, never};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tokio::sync::watch;

use crate::fault::{errno_of, failed, wrong};
use crate::hall::Hall;
use crate::root::Root;
use crate::watch::spawn;

/// As the contract has it; a longer file is none of ours.
const LONGEST: u64 = 64 * 1024;

fn file_of(name: NoteName) -> String {
    format!("note-{name}")
}

/// Whether a file of this name is a note that is done.
pub(crate) fn is_note(file: &[u8]) -> bool {
    NoteName::ALL.iter().any(|name| file_of(*name).as_bytes() == file)
}

/// Writes a note. Only who holds the election's lock may call this.
pub(crate) fn write(hall: &Hall, name: NoteName, text: &[u8]) -> Result<(), Error> {
    let to = file_of(name);
    let from = format!("{to}.new");
    let path = hall.path_of(&from);
    let (mut file, _) = hall.file(&from)?;
    let written =
        file.set_len(0).and_then(|()| file.write_all(text)).and_then(|()| file.sync_all());
    written.map_err(|error| failed("write", &path, errno_of(&error)))?;
    hall.rename(&from, &to)
}

/// Reads a note. The directory of the election is made if it is not there: a look-out needs one.
pub(crate) fn read(
    root: &Root,
    election: &ElectionName,
    name: NoteName,
    look_out: &mut Option<LookOut>,
) -> Result<Note, Error> {
    let hall = Hall::create(root, election)?;
    // Before the note is read, so that no change comes in between.
    let wake = match look_out.take().filter(|look_out| look_out.is_on(name)) {
        Some(standing) => look_out.insert(standing).wake(),
        None => match LookOut::start(&hall, name)? {
            Some(started) => look_out.insert(started).wake(),
            None => never(),
        },
    };
    let path = hall.path_of(&file_of(name));
    let Some(file) = hall.look(&file_of(name))? else {
        if hall.has(&file_of(name))? {
            return Err(wrong(ErrorKind::Unfit, &path, "is not a regular file: remove it"));
        }
        return Ok(Note { text: None, wake });
    };
    let mut text = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut text);
    read.map_err(|error| failed("read", &path, errno_of(&error)))?;
    if text.len() as u64 > LONGEST {
        return Err(wrong(ErrorKind::Unfit, &path, "is too long to be a note: remove it"));
    }
    Ok(Note { text: Some(text), wake })
}

/// A thread that sleeps until a note is replaced, or its directory goes.
///
/// It is detached, and ends with the process or with the change that it waits for.
pub(crate) struct LookOut {
    name: NoteName,
    running: watch::Receiver<()>,
}

impl LookOut {
    /// `None` where the kernel has no look-outs left: they are few, and no promise hangs on one.
    fn start(hall: &Hall, name: NoteName) -> Result<Option<Self>, Error> {
        let Ok(inotify) = Inotify::init(InitFlags::IN_CLOEXEC) else { return Ok(None) };
        let wanted = AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF
            | AddWatchFlags::IN_ONLYDIR;
        if inotify.add_watch(hall.path(), wanted).is_err() {
            return Ok(None);
        }
        let (ends, running) = watch::channel(());
        let file = file_of(name);
        spawn("elect-note", move || {
            while inotify.read_events().is_ok_and(|events| {
                events.iter().all(|event| {
                    event.name.as_ref().is_some_and(|name| name.as_bytes() != file.as_bytes())
                })
            }) {}
            drop(ends);
        })?;
        Ok(Some(Self { name, running }))
    }

    fn is_on(&self, name: NoteName) -> bool {
        self.name == name && self.running.has_changed().is_ok()
    }

    fn wake(&self) -> Wake {
        let mut running = self.running.clone();
        Box::pin(async move {
            // Nothing is ever sent: the end of the thread is the message.
            let _ = running.changed().await;
        })
    }
}
