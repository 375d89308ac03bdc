//! Examines the directory of the elections: its place, and the resources that elections need.

use std::os::fd::OwnedFd;
use std::path::Path;

use elect_api::{
    Clock, ElectionName, Endpoint, EndpointAnswer, Entry, Error, Examination, Finding, Grants,
    Scope, StoreIdentity, Supply, Unit, middle,
};
use elect_system::path::{self, read_kernel};
use nix::sys::inotify::{InitFlags, Inotify};
use nix::sys::statfs::fstatfs;
use nix::sys::statvfs::{Statvfs, fstatvfs};

use crate::election_dir::TREE;
use crate::error::{errno_of, failed};
use crate::root::{self, Root};
use crate::{network, survey};

/// The number of measurements, whose median time is reported.
const ROUNDS: usize = 5;
/// An election takes some blocks and some files. Each of its cells takes up to 64 KiB.
const FEW_BYTES: u64 = 1024 * 1024;
const FEW_FILES: u64 = 16;
/// The kernel's limit of inotify instances for a user.
const WATCH_LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";

/// Examines the directory, or the place where it will be.
pub(crate) fn examine(root: &Root, clock: &Clock) -> Examination {
    let mut examination = Examination { grants: Grants::default(), ..Examination::default() };
    let answer = measure(root, clock).map(|(answer, magic, space)| {
        if let Some(name) = network::name(magic) {
            examination.findings.push(Finding::warning(
                format!("{} is on {name}, where locks do not reach other machines for certain", root.path.display()),
                "see to it that no other machine uses this directory, or keep elections in etcd or ZooKeeper",
            ));
        }
        examine_room(&root.path, &space, &mut examination);
        answer
    });
    examine_watches(&mut examination);
    examination.findings.extend(outlived(root));
    let address = root.path.display().to_string();
    examination.endpoints.push(Endpoint { address, answer });
    examination
}

fn measure(root: &Root, clock: &Clock) -> Result<(EndpointAnswer, u32, Statvfs), Error> {
    let mut spans = Vec::new();
    loop {
        let sent = clock();
        let place = open(root)?;
        let failed = |errno| failed("examine the file system of", &root.path, errno);
        let magic = root::magic(&fstatfs(&place).map_err(failed)?);
        let space = fstatvfs(&place).map_err(failed)?;
        spans.push(clock().since(sent));
        if spans.len() == ROUNDS {
            let answer = EndpointAnswer {
                round_trip: middle(spans),
                version: None,
                role: Some(kind(magic)),
                store: StoreIdentity::Untold,
            };
            return Ok((answer, magic, space));
        }
    }
}

/// Opens the directory, or the nearest one above it that exists. The first election makes the
/// directory.
fn open(root: &Root) -> Result<OwnedFd, Error> {
    if let Some((directory, _)) = root.open(false)? {
        return Ok(directory);
    }
    let above = root.path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    let opened =
        path::open_trusted(above, &[]).map_err(|error| failed("open", above, errno_of(&error)))?;
    Ok(opened.into())
}

fn examine_room(path: &Path, space: &Statvfs, examination: &mut Examination) {
    let block = space.fragment_size();
    let bytes = Supply {
        what: format!("room in {}", path.display()),
        unit: Unit::Bytes,
        most: Some(space.blocks().saturating_mul(block)),
        used: Some(space.blocks().saturating_sub(space.blocks_available()).saturating_mul(block)),
    };
    // Some file systems have no limit of files.
    let files = (space.files() > 0).then(|| Supply {
        what: format!("files in {}", path.display()),
        unit: Unit::Pieces,
        most: Some(space.files()),
        used: Some(space.files().saturating_sub(space.files_available())),
    });
    let way_out = "free some space there, or name another directory with -b file:///DIR";
    if let Some(left) = bytes.left().filter(|&left| left < FEW_BYTES) {
        let what = format!("only {left} bytes are left in {}", path.display());
        examination.findings.push(Finding::warning(what, way_out));
    }
    if let Some(left) = files.as_ref().and_then(Supply::left).filter(|&left| left < FEW_FILES) {
        let what = format!("only {left} more files can be made in {}", path.display());
        examination.findings.push(Finding::warning(what, way_out));
    }
    examination.supplies.push(bytes);
    examination.supplies.extend(files);
}

/// The dead leaders whose lease is still held by processes that their commands started.
fn outlived(root: &Root) -> Vec<Finding> {
    let elections = survey::elections(root, Scope::Entered).unwrap_or_default().into_iter();
    let finding = |election: ElectionName| {
        let leader = survey::survey(root, &election).ok()?.leader?;
        let Entry { candidate, outlived_by, .. } = leader.entry;
        let numbers: Vec<String> = outlived_by?.iter().map(u32::to_string).collect();
        let (id, what) = (candidate.id, format!("no candidate can lead {election}"));
        Some(if numbers.is_empty() {
            let mark = root.path.join(election.as_str()).join(TREE);
            Finding::warning(
                format!(
                    "{what}: {id} is dead, but a process that cannot be seen from here keeps the lease"
                ),
                format!(
                    "look again as root, outside of containers; if no candidate is there either, and nothing of \
                     the command runs, remove {}",
                    mark.display()
                ),
            )
        } else {
            let numbers = numbers.join(" ");
            Finding::warning(
                format!("{what}: {id} is dead, but what its command started keeps the lease"),
                format!("wait for its end, or end it: kill -KILL {numbers}"),
            )
        })
    };
    elections.filter_map(finding).collect()
}

fn examine_watches(examination: &mut Examination) {
    let most = read_kernel(WATCH_LIMIT).ok().and_then(|text| text.trim().parse().ok());
    examination.supplies.push(Supply {
        what: "inotify instances of a user".to_owned(),
        unit: Unit::Pieces,
        most,
        used: None,
    });
    // The instance is given back at once.
    if Inotify::init(InitFlags::IN_CLOEXEC).is_err() {
        examination.findings.push(Finding::warning(
            "no inotify instance is left: elect hears of changes late",
            "end what uses them, or raise fs.inotify.max_user_instances (sysctl)",
        ));
    }
}

/// The name of the file system with this `statfs` magic number, as in `mount`.
fn kind(magic: u32) -> String {
    let name = match magic {
        0xEF53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683E => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794C_7630 => "overlay",
        0x2FC1_2FC1 => "zfs",
        0xF2F5_2010 => "f2fs",
        0xCA45_1A4E => "bcachefs",
        other => match network::name(other) {
            Some(name) => name,
            None => return format!("file system {other:#x}"),
        },
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn file_systems_have_names() {
        assert_eq!(kind(0xEF53), "ext4");
        assert_eq!(kind(0x6969), "NFS");
        assert_eq!(kind(0x1234), "file system 0x1234");
    }
}
