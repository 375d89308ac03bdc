/// The name of the network or user-space file system with this `statfs` magic number.
///
/// Locks there may not reach other machines, may be lost with a connection, or may not exist at all.
/// Several machines may mount the same directory.
pub(crate) fn name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "NFS",
        0x0000_517B | 0xFF53_4D42 | 0xFE53_4D42 => "SMB",
        0x0102_1997 => "9p",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x0000_564C => "NCP",
        0x0116_1970 => "GFS2",
        0x7461_636F => "OCFS2",
        0x1983_0326 => "BeeGFS",
        0x2003_0528 => "OrangeFS",
        0xAAD7_AAEA => "PanFS",
        0x6573_5546 => "FUSE",
        0x786F_4256 => "VirtualBox shared folders",
        0xBACB_ACBC => "VMware shared folders",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn file_systems_that_several_machines_share() {
        for (magic, expected) in
            [(0x6969, "NFS"), (0xFF53_4D42, "SMB"), (0x6573_5546, "FUSE"), (0x00C3_6400, "Ceph")]
        {
            assert_eq!(name(magic), Some(expected));
        }
    }

    #[test]
    fn file_systems_of_one_machine() {
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs, bcachefs
        for magic in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
            0xF2F5_2010,
            0xCA45_1A4E,
        ] {
            assert_eq!(name(magic), None, "{magic:x}");
        }
    }
}
