use std::fmt;
use std::str::FromStr;

use elect_api::{Error, ErrorKind};

use crate::guid::Guid;
use crate::sequence::Sequence;

/// The naming of candidates' nodes: it decides which other programs can share an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Curator's `LeaderLatch`.
    CuratorLatch,
    /// Curator's `LeaderSelector` and `InterProcessMutex`.
    CuratorLock,
    /// kazoo's `Election` and `Lock`.
    Kazoo,
}

impl Layout {
    const ALL: [Self; 3] = [Self::CuratorLatch, Self::CuratorLock, Self::Kazoo];

    /// The text before the sequence number in the name of a candidate.
    const fn marker(self) -> &'static str {
        match self {
            Self::CuratorLatch => "latch-",
            Self::CuratorLock => "lock-",
            Self::Kazoo => "__lock__",
        }
    }

    /// Returns the name of an entry without the sequence number that the server appends.
    pub(crate) fn prefix(self, guid: Guid) -> String {
        match self {
            Self::CuratorLatch | Self::CuratorLock => {
                format!("_c_{}-{}", guid.hyphenated(), self.marker())
            }
            Self::Kazoo => format!("{}{}", guid.plain(), self.marker()),
        }
    }

    /// Returns the layout of a child, and its number; `None` if it is no candidate in any layout.
    ///
    /// Curator reads the text after the last marker; kazoo wants the number at the very end. This function requires
    /// both, because their own clients write names with both.
    pub(crate) fn read(child: &str) -> Option<(Self, Sequence)> {
        Self::ALL.into_iter().find_map(|layout| {
            let at = child.rfind(layout.marker())? + layout.marker().len();
            Some((layout, child.get(at..)?.parse().ok()?))
        })
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CuratorLatch => "curator-latch",
            Self::CuratorLock => "curator-lock",
            Self::Kazoo => "kazoo",
        })
    }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|layout| layout.to_string() == text).ok_or_else(|| {
            let all = Self::ALL.map(|layout| layout.to_string()).join(", ");
            Error::new(ErrorKind::Unfit, format!("the option layout is one of {all}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Sequence {
        text.parse().expect("a number")
    }

    #[test]
    fn layouts_read_back_the_names_that_they_write() {
        for layout in Layout::ALL {
            let name = format!("{}0000000012", layout.prefix(Guid::fresh()));
            assert_eq!(Layout::read(&name), Some((layout, number("12"))));
            assert_eq!(layout.to_string().parse::<Layout>().expect("a layout"), layout);
        }
        assert!("zab".parse::<Layout>().is_err());
    }

    #[test]
    fn names_of_other_clients_are_read_as_those_clients_do() {
        let uuid = "d1a1bb6d-3c3c-4a4a-9f9f-0123456789ab";
        for (name, layout, sequence) in [
            (format!("_c_{uuid}-latch-0000000003"), Layout::CuratorLatch, "3"),
            (format!("_c_{uuid}-lock--2147483648"), Layout::CuratorLock, "-2147483648"),
            ("lock-0000000004".to_owned(), Layout::CuratorLock, "4"),
            (format!("{}__lock__0000000005", uuid.replace('-', "")), Layout::Kazoo, "5"),
            ("x__lock__-000000005".to_owned(), Layout::Kazoo, "-5"),
        ] {
            assert_eq!(Layout::read(&name), Some((layout, number(sequence))), "{name}");
        }
        for other in
            ["", "leases", "locks", "latch-", "lock-x1", "lock-1-x", "zookeeper", "a-0000000001"]
        {
            assert_eq!(Layout::read(other), None, "{other}");
        }
    }
}
