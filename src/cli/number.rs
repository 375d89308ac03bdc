//! Whole numbers, and what is said of what is none.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// What reads a whole number of this range, in decimal digits, or says which would do.
pub(super) fn whole<T>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + Clone + Send + Sync + 'static,
{
    move |text| {
        let is_in_range = text.parse().is_ok_and(|number| range.contains(&number));
        text.parse()
            .ok()
            .filter(|_| is_in_range)
            .ok_or_else(|| format!("take a whole number from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn numbers_of_a_range() {
        let read = whole::<u8>(1..=255);
        assert_eq!((read("1"), read("255")), (Ok(1), Ok(255)));
        for text in ["", "0", "256", "-1", "1.5", "0x10", "ten", "99999999999999999999"] {
            let refusal = read(text).unwrap_err();
            assert_eq!(refusal, "take a whole number from 1 to 255", "{text}");
        }
        assert_eq!(whole::<u64>(0..=u64::MAX)("18446744073709551615"), Ok(u64::MAX));
    }
}
