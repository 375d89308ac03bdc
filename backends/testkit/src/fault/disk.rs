//! A small disk that a test fills up or makes read-only.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A small file system in memory, mounted in a temporary folder. Needs root.
///
/// A drop unmounts it, even while a file on it is open.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// Mounts a disk with room for `size` KiB, in blocks of 4 KiB.
    ///
    /// # Panics
    /// Without root.
    #[track_caller]
    pub fn of_kib(size: u32) -> Self {
        Self::mount(&format!("size={size}k,mode=0755"))
    }

    /// Mounts a disk with room for `count` files and folders. Its root is one of them.
    ///
    /// # Panics
    /// Without root.
    #[track_caller]
    pub fn of_files(count: u32) -> Self {
        Self::mount(&format!("size=64k,nr_inodes={count},mode=0755"))
    }

    #[track_caller]
    fn mount(options: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "elect-test"]).arg(folder.path());
        let status = mount.status().expect("mount runs");
        assert!(status.success(), "cannot mount a tmpfs: run the tests as root with CAP_SYS_ADMIN");
        Self(folder)
    }

    /// The folder where the disk is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Fills the disk to the last block, with one file.
    ///
    /// # Panics
    /// Panics if there is no file left for that one.
    #[track_caller]
    pub fn fill(&self) {
        let mut file = File::options().append(true).create(true).open(self.filler());
        let file = file.as_mut().expect("a file that fills the disk");
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    /// Removes the file that fills the disk, and so gives back its room.
    pub fn free(&self) {
        let _ = fs::remove_file(self.filler());
    }

    /// Remounts the disk read-only.
    ///
    /// # Panics
    /// Panics while a process has a file on it open for writing.
    #[track_caller]
    pub fn make_read_only(&self) {
        let mut mount = Command::new("mount");
        let status = mount.args(["-o", "remount,ro"]).arg(self.path()).status();
        assert!(status.expect("mount runs").success(), "the disk does not become read-only");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
