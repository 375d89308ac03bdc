//! Watches an election for callers that take no part. A thread sleeps until the kernel reports a change, or
//! the caller drops its wake.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use elect_api::{ElectionName, Wake, never};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use nix::unistd::pipe2;

use crate::cells::is_watched;
use crate::election_dir::{ElectionDir, LOCK, QUEUE};
use crate::lock;
use crate::queue::is_entry;
use crate::root::Root;
use crate::watch::Sleeper;

/// The kernel reports the closing of a file just before it removes the file's locks. So the thread checks
/// this often whether they are gone, with this pause in milliseconds.
const CHECKS: u32 = 200;
const PAUSE: u16 = 5;

/// Ends when something in the election may have changed. It never ends if the kernel grants no more inotify
/// instances, or refuses a watch there. They are few, and no promise depends on one.
pub(crate) fn changed(root: &Root, election: &ElectionName) -> Wake {
    let Some((mut watch, unwanted)) = ElectionWatch::start(root, election) else { return never() };
    let sleeper = Sleeper::start("elect-look", move || {
        watch.wait();
        watch
    });
    let Ok(sleeper) = sleeper else { return never() };
    Box::pin(async move {
        sleeper.wake().await;
        // The end of this pipe tells the thread to end.
        drop(unwanted);
    })
}

struct ElectionWatch {
    root: Root,
    election: ElectionName,
    inotify: Inotify,
    place: Watched,
    /// A pipe that ends as soon as the caller drops its wake.
    wanted: OwnedFd,
}

/// The place that is watched.
enum Watched {
    /// The directory of the election, if it can be watched, and the directory of its queue.
    Here { dir: Option<WatchDescriptor>, queue: WatchDescriptor },
    /// The nearest directory on the way that exists, and the entry that is missing in it.
    Above { nearest: WatchDescriptor, missing: PathBuf },
}

/// The meaning of an event.
enum Meaning {
    Nothing,
    Change,
    /// The last copy of this entry's descriptor is about to be closed.
    Close(Vec<u8>),
}

impl ElectionWatch {
    /// Starts the watch. It lasts until the returned descriptor is closed.
    fn start(root: &Root, election: &ElectionName) -> Option<(Self, OwnedFd)> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
        let place = Watched::watch(&inotify, &root.path.join(election.as_str()))?;
        let (wanted, unwanted) = pipe2(OFlag::O_CLOEXEC).ok()?;
        let (root, election) = (root.clone(), election.clone());
        Some((Self { root, election, inotify, place, wanted }, unwanted))
    }

    /// Sleeps until there is a change, or the caller no longer waits.
    fn wait(&mut self) {
        while self.sleep(PollTimeout::NONE) {
            let events = match self.inotify.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN | Errno::EINTR) => continue,
                Err(_) => return,
            };
            let mut is_change = false;
            for event in events {
                match self.place.meaning(&event) {
                    Meaning::Nothing => {}
                    Meaning::Change => is_change = true,
                    Meaning::Close(name) => {
                        self.see_closed(&name);
                        is_change = true;
                    }
                }
            }
            if is_change {
                return;
            }
        }
    }

    /// Sleeps until there is something to read, or the time is over. Returns false if the caller no longer
    /// waits.
    fn sleep(&self, timeout: PollTimeout) -> bool {
        let mut fds = [
            PollFd::new(self.wanted.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN),
        ];
        let slept = poll(&mut fds, timeout);
        !matches!(slept, Ok(1..) if fds[0].any().unwrap_or(true))
    }

    /// Waits until the entry of this name is no longer locked. If another process has closed the file, the
    /// entry stays locked, so the wait is bounded.
    fn see_closed(&self, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        for _ in 0..CHECKS {
            let dir = ElectionDir::visit(&self.root, &self.election);
            let file = dir.ok().flatten().and_then(|dir| dir.open_in_queue(&name).ok().flatten());
            let is_held = file.is_some_and(|(file, _)| lock::is_held(&file).unwrap_or(false));
            if !is_held || !self.is_wanted_after(PAUSE) {
                return;
            }
        }
    }

    fn is_wanted_after(&self, millis: u16) -> bool {
        let mut fds = [PollFd::new(self.wanted.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut fds, PollTimeout::from(millis)), Ok(0) | Err(_))
    }
}

impl Watched {
    /// Makes the kernel report changes of the election whose directory is, or will be, at `path`.
    fn watch(inotify: &Inotify, path: &Path) -> Option<Self> {
        const ITSELF: AddWatchFlags = AddWatchFlags::IN_DELETE_SELF
            .union(AddWatchFlags::IN_MOVE_SELF)
            .union(AddWatchFlags::IN_ONLYDIR);
        let renamed = ITSELF | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE;
        let entries = renamed
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_CLOSE_WRITE;
        let made = ITSELF | AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
        let queue = path.join(QUEUE);
        loop {
            match inotify.add_watch(&queue, entries) {
                Ok(queue) => {
                    let dir = inotify.add_watch(path, renamed).ok();
                    return Some(Self::Here { dir, queue });
                }
                Err(Errno::ENOENT) => {}
                Err(_) => return None,
            }
            let mut missing: &Path = &queue;
            let nearest = loop {
                let parent = missing.parent()?;
                match inotify.add_watch(parent, made) {
                    Ok(watch) => break watch,
                    Err(Errno::ENOENT) => missing = parent,
                    Err(_) => return None,
                }
            };
            // The entry may have been made before the watch began.
            if fs::symlink_metadata(missing).is_err() {
                return Some(Self::Above { nearest, missing: missing.to_owned() });
            }
            if fs::metadata(missing).is_err() {
                // A link to a missing target.
                return None;
            }
            inotify.rm_watch(nearest).ok()?;
        }
    }

    fn meaning(&self, event: &InotifyEvent) -> Meaning {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            return Meaning::Change;
        }
        // An event without a name concerns the directory itself.
        let name = event.name.as_deref().map(OsStr::as_bytes);
        let is_change = match self {
            Self::Here { queue, .. } if event.wd == *queue => match name {
                Some(name) if event.mask == AddWatchFlags::IN_CLOSE_WRITE && is_entry(name) => {
                    return Meaning::Close(name.to_owned());
                }
                name => name.is_none_or(is_entry),
            },
            Self::Here { dir, .. } if Some(event.wd) == *dir => {
                name.is_none_or(|name| is_watched(name) || name == LOCK.as_bytes())
            }
            Self::Above { nearest, missing } if event.wd == *nearest => {
                name.is_none_or(|name| missing.file_name().is_some_and(|it| it.as_bytes() == name))
            }
            // An event of a watch that was removed again, because the missing entry had been made.
            Self::Here { .. } | Self::Above { .. } => false,
        };
        if is_change { Meaning::Change } else { Meaning::Nothing }
    }
}
