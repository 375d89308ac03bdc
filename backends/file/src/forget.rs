use std::fs::File;
use std::os::fd::OwnedFd;

use elect_api::{ElectionName, Error, ErrorKind, Keys, Removal};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::election_dir::{ENTER, ElectionDir, FENCE, LOCK, ORDER, QUEUE, TREE, VALUE};
use crate::error::{failed, wrong};
use crate::root::Root;
use crate::{lock, queue};

/// Removes the directory of an election without candidates, with everything in it. Removes fences only if they may go.
pub(crate) fn forget(root: &Root, election: &ElectionName, fences: bool) -> Result<(), Error> {
    let Some(mut dir) = ElectionDir::visit(root, election)? else { return Ok(()) };
    // While this process holds these locks, no candidate enters or leads, and no process writes. A process that waits
    // for one of them finds out that its file is gone.
    let _held = [
        hold(&dir, ENTER)?,
        hold(&dir, LOCK)?,
        hold(&dir, TREE)?,
        hold(&dir, ORDER)?,
        hold(&dir, FENCE)?,
        hold(&dir, VALUE)?,
    ];
    for number in queue::list(&mut dir)?.entries {
        let name = queue::name_of(number);
        let Some((file, _)) = dir.open_in_queue(&name)? else { continue };
        let path = dir.path_in_queue(&name);
        if lock::is_held(&file).map_err(|errno| failed("examine the lock of", &path, errno))? {
            return Err(occupied(&dir));
        }
    }
    if !fences {
        let names = dir.names()?;
        let keys = Keys::named(names.iter().map(String::as_str), '-');
        if let Some(fence) = keys.fences.first() {
            return Err(Removal::refuse_fence(election, fence.as_str()));
        }
    }
    let queue = dir.path_in_queue("");
    // The queue is opened again, because listing it reads the open directory to its end.
    let again = openat(&dir.queue, ".", FOLDER, Mode::empty());
    empty(again.map_err(|errno| failed("read", &queue, errno))?, &dir)?;
    let again = openat(&dir.directory, ".", FOLDER, Mode::empty());
    empty(again.map_err(|errno| failed("read", dir.path(), errno))?, &dir)?;
    let gone = |result| match result {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(failed("remove", dir.path(), errno)),
    };
    gone(unlinkat(&dir.directory, QUEUE, UnlinkatFlags::RemoveDir))?;
    let Some((top, _)) = root.open(false)? else { return Ok(()) };
    gone(unlinkat(&top, election.as_str(), UnlinkatFlags::RemoveDir))
}

const FOLDER: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

fn occupied(dir: &ElectionDir) -> Error {
    wrong(ErrorKind::Unreachable, dir.path(), "is in use: a candidate is in the election")
}

/// One of the election's own files, with its lock held.
fn hold(dir: &ElectionDir, name: &str) -> Result<File, Error> {
    let (file, _) = dir.file(name)?;
    let path = dir.path_of(name);
    if lock::try_write(&file).map_err(|errno| failed("lock", &path, errno))? {
        Ok(file)
    } else {
        Err(occupied(dir))
    }
}

/// Removes all entries of a directory other than directories.
fn empty(directory: OwnedFd, dir: &ElectionDir) -> Result<(), Error> {
    let failed = |errno| failed("empty", dir.path(), errno);
    let mut directory = Dir::from_fd(directory).map_err(failed)?;
    let names: Vec<_> = directory
        .iter()
        .filter_map(|found| Some(found.ok()?.file_name().to_owned()))
        .filter(|name| ![&b"."[..], b"..", QUEUE.as_bytes()].contains(&name.to_bytes()))
        .collect();
    for name in names {
        match unlinkat(&directory, name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(())
}
