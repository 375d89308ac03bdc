//! Checks whether every user of this machine can read a file with a secret.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};
use nix::sys::statvfs::{FsFlags, statvfs};

/// The magic number of `ramfs`, on which systemd keeps credentials.
const RAMFS_MAGIC: u32 = 0x8584_58f6;

/// Returns whether every user can read the file at `path`, by its mode and the modes of the folders on the way.
///
/// A file that only a group can read does not count, because an administrator has chosen the members. A file that
/// another program mounted for this process does not count either, such as a Kubernetes secret in a container. This
/// process could not change it, and no other user is there.
pub fn is_open(path: &Path) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false };
    let allows = |path: &Path, bit| fs::metadata(path).is_ok_and(|it| it.mode() & bit != 0);
    path.is_file()
        && allows(&path, 0o004)
        && path.ancestors().skip(1).all(|folder| allows(folder, 0o001))
        && !is_handed_over(&path)
}

/// Returns whether the file is on a read-only file system in memory.
fn is_handed_over(path: &Path) -> bool {
    let is_in_memory = statfs(path).is_ok_and(|found| is_memory(found.filesystem_type()));
    is_in_memory && statvfs(path).is_ok_and(|found| found.flags().contains(FsFlags::ST_RDONLY))
}

fn is_memory(kind: FsType) -> bool {
    // The number has 32 bits. On some machines its type has more bits, or a sign.
    kind == TMPFS_MAGIC || u32::try_from(kind.0 & 0xFFFF_FFFF) == Ok(RAMFS_MAGIC)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_is_as_open_as_its_mode_and_its_folders() {
        let folder = std::env::temp_dir().join(format!("elect-exposure-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("password");
        fs::write(&file, "hush").unwrap();
        for (around, mode, expected) in [
            (0o755, 0o644, true),
            (0o711, 0o604, true),
            (0o755, 0o640, false),
            (0o755, 0o600, false),
            (0o750, 0o644, false),
        ] {
            chmod(&folder, around);
            chmod(&file, mode);
            assert_eq!(is_open(&file), expected, "{mode:o} in {around:o}");
        }
        fs::remove_dir_all(&folder).unwrap();
        assert!(!is_open(&file) && !is_open(Path::new("/dev/null")));
    }
}
