use std::num::ParseIntError;
use std::str::FromStr;

/// The number that ZooKeeper puts behind the name of a sequential node.
///
/// It is the parent's counter of changes to its children: signed, of 32 bits, so that -2147483648 comes
/// after 2147483647.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence(i64);

impl Sequence {
    /// Whether a node with this number was made before one with the `other`, under the same parent.
    ///
    /// The numbers of those who wait at one time are close together, so the shorter way round the circle
    /// is the right one. Read as plain numbers the first one after the wrap would lead beside a living
    /// leader.
    pub(crate) fn is_before(self, other: Self) -> bool {
        match (i32::try_from(self.0), i32::try_from(other.0)) {
            (Ok(this), Ok(other)) => this.wrapping_sub(other) < 0,
            // A counter of 64 bits, which ZooKeeper may get one day, does not come round.
            _ => self.0 < other.0,
        }
    }

    /// As [`Sequence::is_before`], for sorting.
    pub(crate) fn order(self, other: Self) -> std::cmp::Ordering {
        match (self == other, self.is_before(other)) {
            (true, _) => std::cmp::Ordering::Equal,
            (_, true) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        }
    }
}

impl FromStr for Sequence {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_goes_round() {
        let sequence = |text: &str| text.parse::<Sequence>().expect("a number");
        let rising = ["2147483646", "2147483647", "-2147483648", "-2147483647"];
        for pair in rising.windows(2) {
            assert!(sequence(pair[0]).is_before(sequence(pair[1])), "{pair:?}");
            assert!(!sequence(pair[1]).is_before(sequence(pair[0])), "{pair:?}");
        }
        let rising = ["-000000002", "-000000001", "0000000000", "0000000001", "0000000010"];
        for pair in rising.windows(2) {
            assert!(sequence(pair[0]).is_before(sequence(pair[1])), "{pair:?}");
        }
        assert!(sequence("2147483647").is_before(sequence("2147483648")));
        assert!(!sequence("7").is_before(sequence("7")));
    }
}
