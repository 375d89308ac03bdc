//! The processes of a tree that live after its command has ended, as people are told of them.

use std::fmt::{self, Display};

/// The largest number of processes that are named.
pub(super) const MOST_NAMED: usize = 4;
/// The size of a process name in the kernel, with the zero at its end, in bytes.
pub(super) const NAME_SIZE: usize = 16;

/// A process with its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) pid: i32,
    /// The name as the kernel keeps it, padded with zeros.
    pub(super) name: [u8; NAME_SIZE],
}

/// What happens to these processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The command was asked to stop. They keep its deadline.
    Awaited,
    /// The command has ended by itself. They are asked to stop now.
    Asked,
    /// Their time to stop is over. They are killed now.
    Killed,
}

/// Processes of a tree. `Display` names the first few: `tee (process 41), sleep (process 42) and 3 others`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// What happens to them.
    pub fate: Fate,
    /// Their number.
    pub count: u32,
    /// The first of them. Places beyond `count` mean nothing.
    pub(super) first: [Named; MOST_NAMED],
}

impl Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        for (index, Named { pid, name }) in self.first.iter().take(count).enumerate() {
            let name = String::from_utf8_lossy(name);
            // A process chooses its own name, so control characters are left out before it goes to a terminal.
            let name: String =
                name.trim_end_matches('\0').chars().filter(|it| !it.is_control()).collect();
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name} (process {pid})")?;
        }
        match count.saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            1 => f.write_str(" and another"),
            others => write!(f, " and {others} others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_named() {
        let mut first = [Named::default(); MOST_NAMED];
        for (place, pid) in first.iter_mut().zip(41..) {
            *place = Named { pid, name: *b"tee\x1b\0\0\0\0\0\0\0\0\0\0\0\0" };
        }
        let left = |count| Left { fate: Fate::Asked, count, first }.to_string();
        assert_eq!(left(1), "tee (process 41)");
        assert_eq!(left(2), "tee (process 41), tee (process 42)");
        assert!(left(4).ends_with(", tee (process 44)"));
        assert!(left(5).ends_with(", tee (process 44) and another"));
        assert!(left(9).ends_with(", tee (process 44) and 5 others"));
    }
}
