use elect_api::{ElectionName, Error, ErrorKind, Leader, Scope, Survey};
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::libc;
use nix::sys::stat::fstatat;

use crate::election_dir::{ENTER, ElectionDir, LOCK, ORDERS};
use crate::entry::{self, Reading};
use crate::error::{failed, wrong};
use crate::root::Root;
use crate::tree::{self, Remains};
use crate::trust::FileId;
use crate::{election_dir, lock, queue, standstill};

/// The number of attempts, for the case that leaders change during a survey.
const ATTEMPTS: u32 = 8;

/// Surveys one election. Takes no lock and creates nothing.
pub(crate) fn survey(root: &Root, election: &ElectionName) -> Result<Survey, Error> {
    for _ in 0..ATTEMPTS {
        if let Some(survey) = survey_once(root, election)? {
            return Ok(survey);
        }
    }
    let what = "has another leader each time that it is looked at: trying again helps";
    Err(wrong(ErrorKind::Unreachable, &root.path.join(election.as_str()), what))
}

/// `None` if the leader changed meanwhile.
fn survey_once(root: &Root, election: &ElectionName) -> Result<Option<Survey>, Error> {
    let Some(mut dir) = ElectionDir::visit(root, election)? else {
        return Ok(Some(Survey::default()));
    };
    let mut survey = Survey::default();
    let mut winners: Vec<Leader> = Vec::new();
    for number in queue::list(&mut dir)?.entries {
        let name = queue::name_of(number);
        let Some((file, _)) = dir.open_in_queue(&name)? else { continue };
        let path = dir.path_in_queue(&name);
        if !lock::is_held(&file).map_err(|errno| failed("examine the lock of", &path, errno))? {
            continue;
        }
        match entry::read(&file, number) {
            Some(Reading::Won(leader)) => winners.push(leader),
            Some(Reading::Waiting(mut entry)) => {
                entry.is_stopped = standstill::is_stopped(entry.candidate.pid);
                survey.waiting.push(entry);
            }
            None => {}
        }
    }
    // The latest winner has the lock, whatever its place in the queue: it may have passed a stopped candidate.
    winners.sort_by_key(|leader| leader.token);
    if let Some(lock) = held_lock(&dir)? {
        survey.leader = winners.pop();
        if let Some(Leader { entry, .. }) = &mut survey.leader {
            let pid = entry.candidate.pid;
            if standstill::lives(pid) {
                entry.is_stopped = standstill::is_stopped(pid);
            } else {
                // An observer in another pid namespace sees neither the process nor any holder. Then the leader may
                // well be alive.
                let holders = standstill::holders(lock);
                entry.is_stopped = standstill::are_stopped(&holders);
                entry.outlived_by = (!holders.is_empty()).then_some(holders);
            }
        }
    } else {
        match tree::remains(&dir, || Ok(held_lock(&dir)?.is_some()))? {
            Remains::Nothing => {}
            Remains::Tree(leader) => survey.leader = Some(*leader),
            Remains::Unclear => return Ok(None),
        }
    }
    let others = winners.into_iter().map(|Leader { mut entry, .. }| {
        entry.is_stopped = standstill::is_stopped(entry.candidate.pid);
        entry
    });
    survey.waiting.splice(..0, others);
    Ok(Some(survey))
}

/// The lock file, if a leader holds its lock.
fn held_lock(dir: &ElectionDir) -> Result<Option<FileId>, Error> {
    let Some((file, id)) = dir.open_existing(LOCK)? else { return Ok(None) };
    let is_held = lock::is_held(file)
        .map_err(|errno| failed("examine the lock of", &dir.path_of(LOCK), errno))?;
    Ok(is_held.then_some(id))
}

/// The names of all elections under the root, sorted. An election that no candidate ever entered is listed for its
/// cells only.
pub(crate) fn elections(root: &Root, scope: Scope) -> Result<Vec<ElectionName>, Error> {
    let Some((directory, _)) = root.open(false)? else { return Ok(Vec::new()) };
    let unreadable = |errno: Errno| failed("read", &root.path, errno);
    let mut directory = Dir::from_fd(directory).map_err(unreadable)?;
    let mut candidates = Vec::new();
    for found in directory.iter() {
        let found = found.map_err(unreadable)?;
        let name: Option<ElectionName> =
            found.file_name().to_str().ok().and_then(|name| name.parse().ok());
        candidates.extend(name.map(|name| (name, found.file_type())));
    }
    let is_directory = |(name, kind): &(ElectionName, Option<Type>)| match kind {
        Some(kind) => *kind == Type::Directory,
        // Some file systems do not report types in a listing.
        None => fstatat(&directory, name.as_str(), AtFlags::AT_SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR),
    };
    let has = |name: &ElectionName, file: &str| {
        let path = format!("{name}/{file}");
        fstatat(&directory, path.as_str(), AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
    };
    let is_meant = |(name, _): &(ElectionName, Option<Type>)| match scope {
        Scope::Entered => has(name, ENTER),
        Scope::Asked => has(name, ORDERS),
        Scope::Kept => election_dir::has_any(root, name),
    };
    let found = candidates.into_iter().filter(is_directory).filter(is_meant);
    let mut names: Vec<_> = found.map(|(name, _)| name).collect();
    names.sort();
    Ok(names)
}
