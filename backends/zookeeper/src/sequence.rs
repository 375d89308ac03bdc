use std::num::ParseIntError;
use std::str::FromStr;

/// The number that ZooKeeper appends to the name of a sequential node.
///
/// It is the parent's counter of changes to its children: signed, of 32 bits, so that -2147483648 comes after
/// 2147483647.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence(i64);

/// The point at which the circle of numbers is cut open, so that it has an order.
///
/// The numbers of candidates that wait at one time are close together, so the shorter way round the circle is right.
/// Read as plain numbers, the first one after the wrap would lead beside a living leader. Numbers from all around the
/// circle can only have been made by hand. They too have an order, the same for all who see the same numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circle {
    /// The least as a plain number.
    origin: i32,
}

impl Circle {
    /// Returns the order of these numbers, which are under one parent.
    pub(crate) fn of(numbers: impl Iterator<Item = Sequence>) -> Self {
        let of_32_bits = numbers.filter_map(|number| i32::try_from(number.0).ok());
        Self { origin: of_32_bits.min().unwrap_or_default() }
    }

    /// Returns the sort key of a number: a node with a lesser one was made earlier.
    pub(crate) fn place(self, number: Sequence) -> (i8, i64) {
        match i32::try_from(number.0) {
            Ok(small) => (0, small.wrapping_sub(self.origin).into()),
            // A counter of 64 bits, which ZooKeeper may get one day, does not come round.
            Err(_) if number.0 < 0 => (-1, number.0),
            Err(_) => (1, number.0),
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

    fn sorted(numbers: &[&str]) -> Vec<String> {
        let mut numbers: Vec<(Sequence, String)> = numbers
            .iter()
            .map(|&text| (text.parse().expect("a number"), text.to_owned()))
            .collect();
        let circle = Circle::of(numbers.iter().map(|(number, _)| *number));
        numbers.sort_by_key(|(number, _)| circle.place(*number));
        numbers.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn the_counter_goes_round() {
        for rising in [
            ["2147483646", "2147483647", "-2147483648", "-2147483647"],
            ["-000000002", "-000000001", "0000000000", "0000000010"],
            ["-1000000000", "-1", "0", "1147483646"],
            ["2147483646", "2147483647", "2147483648", "9223372036854775807"],
        ] {
            let mut mixed = rising;
            mixed.rotate_left(1);
            mixed.swap(0, 1);
            assert_eq!(sorted(&mixed), rising);
        }
    }

    #[test]
    fn numbers_from_all_around_have_one_order() {
        let numbers = ["0", "1500000000", "-1500000000", "3000000000", "-3000000000", "7"];
        let mut backwards = numbers;
        backwards.reverse();
        assert_eq!(sorted(&numbers), sorted(&backwards));
    }
}
