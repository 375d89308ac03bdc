use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wall clock, for people to look at; nothing is ever decided by it.
#[expect(clippy::disallowed_methods, reason = "the one place that reads it, for show")]
pub fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// The last second of the year 9999, after which RFC 3339 has no notation.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// A time in UTC with milliseconds, such as `2026-03-01T12:00:00.250Z`.
///
/// Times outside the years 1970 to 9999, which only a broken entry has, show as the nearest of them.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST);
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}

/// A length of time for people, in its two greatest units: `0s`, `12s`, `3m12s`, `2d4h`.
pub fn age(length: Duration) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let seconds = length.as_secs();
    let Some(first) = UNITS.iter().position(|(_, size)| seconds >= *size) else {
        return "0s".to_owned();
    };
    let (name, size) = UNITS[first];
    let great = format!("{}{name}", seconds / size);
    match UNITS.get(first + 1).map(|(name, smaller)| (name, seconds % size / smaller)) {
        Some((name, rest)) if rest > 0 => format!("{great}{rest}{name}"),
        _ => great,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{age, rfc3339};

    #[test]
    fn times() {
        assert_eq!(
            rfc3339(UNIX_EPOCH + Duration::from_millis(1_772_366_400_250)),
            "2026-03-01T12:00:00.250Z"
        );
    }

    #[test]
    fn times_out_of_any_calendar_are_shown_too() {
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(5)), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(1 << 45)), "9999-12-31T23:59:59.000Z");
    }

    #[test]
    fn ages() {
        for (seconds, shown) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (192, "3m12s"),
            (3_600, "1h"),
            (3_659, "1h"),
            (187_200, "2d4h"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), shown);
        }
        assert_eq!(age(Duration::from_millis(999)), "0s");
    }
}
