//! This file computes the periods of a schedule, and the key of the current one, for `--once-per`.
//!
//! The name of a period is the hour, day, ISO week or month in which it begins, at the given offset from UTC. The time
//! zone of the machine does not matter. So hosts whose clocks agree have the same name for a period.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The last second of the year 9999, which is the last that RFC 3339 can write.
const LAST: i64 = 253_402_300_799;

/// The last day that every month has.
const LAST_DAY_OF_ALL_MONTHS: i64 = 28;

/// The greatest offset from UTC that any place has, in hours.
const GREATEST_OFFSET: i64 = 14;

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The accepted values of `--once-per`, for error messages.
const ACCEPTED: &str = "write hour@50, day@02:50, week@Sun@02:50 or month@15@02:50; the time is in UTC, or has an offset, \
                        such as day@02:50+01:00";

/// A schedule. Each of its periods begins where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    unit: Unit,
    /// The shift in seconds from UTC to a clock at whose midnight, or full hour, the periods begin.
    shift: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Hour,
    Day,
    Week,
    Month,
}

impl Period {
    /// Returns the key of the period that is current at `time`: `2026-11-26T13`, `2026-11-26`, `2026-W48` or `2026-11`.
    ///
    /// Times outside the years 1970 to 9999 come only from broken clocks. They count as the nearest time in that range.
    pub fn key(self, time: SystemTime) -> String {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let shifted = i64::try_from(since).unwrap_or(LAST).min(LAST).saturating_add(self.shift);
        let begun = shifted.clamp(0, LAST);
        match self.unit {
            Unit::Hour => notation(begun, "2026-11-26T13".len()),
            Unit::Day => notation(begun, "2026-11-26".len()),
            Unit::Week => week(begun / DAY),
            Unit::Month => notation(begun, "2026-11".len()),
        }
    }
}

/// Returns the first characters of a time in RFC 3339.
fn notation(seconds: i64, length: usize) -> String {
    let since = Duration::from_secs(seconds.unsigned_abs());
    let mut text = humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string();
    text.truncate(length);
    text
}

/// Returns the ISO 8601 week of a day, which is counted from 1970-01-01. A week belongs to the year of its Thursday.
fn week(day: i64) -> String {
    // 1970-01-01 was a Thursday.
    let weekday = (day + 3) % 7;
    let thursday = day - weekday + 3;
    let year = notation(thursday * DAY, "2026".len());
    let first = year.parse().map_or(0, first_day_of);
    format!("{year}-W{:02}", (thursday - first) / 7 + 1)
}

/// Returns 1 January of a year from 1970 on, in days from 1970-01-01.
const fn first_day_of(year: i64) -> i64 {
    365 * (year - 1970) + (year - 1969) / 4 - (year - 1901) / 100 + (year - 1601) / 400
}

impl FromStr for Period {
    type Err = String;

    /// Reads a unit. After each `@` follows where in the unit the periods begin; without it, at the start of the unit.
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| format!("{why}; {ACCEPTED}");
        let (unit, begin) =
            text.split_once('@').map_or((text, None), |(it, rest)| (it, Some(rest)));
        let (begin, offset) = begin.map_or((None, Some(0)), |begin| {
            let (begin, offset) = split_offset(begin);
            (Some(begin), offset)
        });
        let offset =
            offset.ok_or_else(|| refuse("the offset is not +HH:MM or -HH:MM, up to 14:00"))?;
        let (unit, start) = match unit {
            "hour" => (Unit::Hour, begin.map_or(Some(0), minutes)),
            "day" => (Unit::Day, begin.map_or(Some(0), time_of_day)),
            "week" => (Unit::Week, begin.map_or(Some(0), |begin| at_day(begin, weekday))),
            "month" => (Unit::Month, begin.map_or(Some(0), |begin| at_day(begin, day_of_month))),
            _ => return Err(refuse("not a period")),
        };
        let start = start.ok_or_else(|| {
            let slip = begin.and_then(slip).map(|it| format!("{it}; ")).unwrap_or_default();
            slip + &refuse(match unit {
                Unit::Hour => "an hour begins at a minute from 00 to 59",
                Unit::Day => "a day begins at a time from 00:00 to 23:59",
                Unit::Week => {
                    "a week begins on a day from Mon to Sun, at a time from 00:00 to 23:59"
                }
                Unit::Month => {
                    "a month begins on a day from 1 to 28, at a time from 00:00 to 23:59"
                }
            })
        })?;
        Ok(Self { unit, shift: offset - start })
    }
}

/// Returns an explanation of a wrong time of day.
fn slip(begin: &str) -> Option<String> {
    let time = begin.rsplit('@').next().unwrap_or(begin);
    let (hours, minutes) = time.split_once(':')?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if time.contains(|c: char| c.is_ascii_alphabetic()) {
        return Some("names of time zones are not known: write an offset, such as +01:00".into());
    }
    let is_short = hours.len() == 1 && minutes.len() == 2 && digits(hours) && digits(minutes);
    is_short.then(|| format!("hours have two digits: 0{time}"))
}

/// Returns the text before an offset from UTC, and the offset in seconds if it is valid.
fn split_offset(text: &str) -> (&str, Option<i64>) {
    let Some(place) = text.find(['+', '-', 'Z']) else { return (text, Some(0)) };
    let (before, offset) = text.split_at(place);
    let signed = match offset.split_at(1) {
        ("Z", "") => Some(0),
        ("+", size) => size_of(size),
        ("-", size) => size_of(size).map(|size| -size),
        _ => None,
    };
    (before, signed)
}

fn size_of(offset: &str) -> Option<i64> {
    time_of_day(offset).filter(|size| *size <= GREATEST_OFFSET * HOUR)
}

/// Reads `[DAY@]HH:MM` as seconds from the start of a unit of days. Without a day, the first day counts.
fn at_day(text: &str, day: fn(&str) -> Option<i64>) -> Option<i64> {
    match text.split_once('@') {
        Some((first, time)) => Some(day(first)? * DAY + time_of_day(time)?),
        None => time_of_day(text),
    }
}

fn weekday(text: &str) -> Option<i64> {
    let place = WEEKDAYS.iter().position(|day| day.eq_ignore_ascii_case(text))?;
    i64::try_from(place).ok()
}

fn day_of_month(text: &str) -> Option<i64> {
    let digits = text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    let day = text.parse().ok().filter(|_| digits)?;
    (1..=LAST_DAY_OF_ALL_MONTHS).contains(&day).then_some(day - 1)
}

/// Reads `HH:MM` as seconds from midnight.
pub(super) fn time_of_day(text: &str) -> Option<i64> {
    let (hours, rest) = text.split_once(':')?;
    Some(two_digits(hours, 23)? * HOUR + minutes(rest)?)
}

fn minutes(text: &str) -> Option<i64> {
    Some(two_digits(text, 59)? * MINUTE)
}

fn two_digits(text: &str, most: i64) -> Option<i64> {
    let digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::Period;

    /// Returns the key of a period at a time in RFC 3339.
    #[track_caller]
    fn key(period: &str, time: &str) -> String {
        let time = humantime::parse_rfc3339(time).expect("a time");
        period.parse::<Period>().expect(period).key(time)
    }

    #[track_caller]
    fn keys(period: &str, all: &[(&str, &str)]) {
        for (time, expected) in all {
            assert_eq!(key(period, time), *expected, "{period} at {time}");
        }
    }

    #[test]
    fn a_day_begins_at_its_time() {
        keys(
            "day@02:50",
            &[
                ("2026-11-26T02:49:59Z", "2026-11-25"),
                ("2026-11-26T02:50:00Z", "2026-11-26"),
                ("2026-11-26T03:00:00Z", "2026-11-26"),
                // A run on a host that boots late belongs to the day that the host has missed.
                ("2026-11-27T00:10:00Z", "2026-11-26"),
                ("2026-11-27T02:49:59.999Z", "2026-11-26"),
                ("2026-11-27T02:50:00Z", "2026-11-27"),
                ("2027-01-01T02:49:00Z", "2026-12-31"),
                ("2028-03-01T00:00:00Z", "2028-02-29"),
                ("2027-03-01T00:00:00Z", "2027-02-28"),
                ("2100-03-01T00:00:00Z", "2100-02-28"),
            ],
        );
        keys(
            "day",
            &[("2026-11-26T00:00:00Z", "2026-11-26"), ("2026-11-26T23:59:59Z", "2026-11-26")],
        );
    }

    #[test]
    fn an_offset_moves_the_start_and_the_name() {
        keys(
            "day@02:50+01:00",
            &[
                ("2026-11-26T01:49:59Z", "2026-11-25"),
                ("2026-11-26T01:50:00Z", "2026-11-26"),
                ("2026-11-27T01:49:59Z", "2026-11-26"),
            ],
        );
        keys(
            "day@02:50-05:30",
            &[("2026-11-26T08:19:59Z", "2026-11-25"), ("2026-11-26T08:20:00Z", "2026-11-26")],
        );
        keys(
            "day@02:50+14:00",
            &[("2026-11-25T12:49:59Z", "2026-11-25"), ("2026-11-25T12:50:00Z", "2026-11-26")],
        );
        assert_eq!("day@02:50Z".parse::<Period>(), "day@02:50".parse());
        assert_eq!("day@02:50+00:00".parse::<Period>(), "day@02:50-00:00".parse());
        keys(
            "hour@50+05:30",
            &[("2026-11-26T08:19:59Z", "2026-11-26T12"), ("2026-11-26T08:20:00Z", "2026-11-26T13")],
        );
    }

    #[test]
    fn an_hour_begins_at_its_minute() {
        keys(
            "hour@50",
            &[
                ("2026-11-26T13:49:59Z", "2026-11-26T12"),
                ("2026-11-26T13:50:00Z", "2026-11-26T13"),
                ("2026-11-26T14:49:59Z", "2026-11-26T13"),
                ("2027-01-01T00:49:59Z", "2026-12-31T23"),
            ],
        );
        keys(
            "hour",
            &[("2026-11-26T13:59:59Z", "2026-11-26T13"), ("2026-11-26T14:00:00Z", "2026-11-26T14")],
        );
    }

    #[test]
    fn a_week_has_the_name_of_iso_8601() {
        keys(
            "week",
            &[
                ("1970-01-01T00:00:00Z", "1970-W01"),
                ("1970-01-04T23:59:59Z", "1970-W01"),
                ("1970-01-05T00:00:00Z", "1970-W02"),
                ("2004-12-31T00:00:00Z", "2004-W53"),
                ("2005-01-02T00:00:00Z", "2004-W53"),
                ("2005-01-03T00:00:00Z", "2005-W01"),
                ("2007-12-31T00:00:00Z", "2008-W01"),
                ("2008-12-28T00:00:00Z", "2008-W52"),
                ("2008-12-29T00:00:00Z", "2009-W01"),
                ("2010-01-03T00:00:00Z", "2009-W53"),
                ("2015-12-31T00:00:00Z", "2015-W53"),
                ("2016-01-03T23:59:59Z", "2015-W53"),
                ("2020-12-31T00:00:00Z", "2020-W53"),
                ("2021-01-03T00:00:00Z", "2020-W53"),
                ("2021-01-04T00:00:00Z", "2021-W01"),
                ("2026-11-26T00:00:00Z", "2026-W48"),
                ("2026-12-31T00:00:00Z", "2026-W53"),
                ("2027-01-03T00:00:00Z", "2026-W53"),
                ("2027-01-04T00:00:00Z", "2027-W01"),
                ("2100-01-01T00:00:00Z", "2099-W53"),
                ("2101-01-01T00:00:00Z", "2100-W52"),
            ],
        );
        keys(
            "week@02:50",
            &[("2026-11-30T02:49:59Z", "2026-W48"), ("2026-11-30T02:50:00Z", "2026-W49")],
        );
        // A week that begins on a Sunday has the name of the ISO week of that Sunday.
        keys(
            "week@Sun@02:50",
            &[
                ("2026-11-29T02:49:59Z", "2026-W47"),
                ("2026-11-29T02:50:00Z", "2026-W48"),
                ("2026-11-30T10:00:00Z", "2026-W48"),
                ("2026-12-06T02:49:59Z", "2026-W48"),
                ("2027-01-03T02:50:00Z", "2026-W53"),
            ],
        );
        assert_eq!("week@mon@02:50".parse::<Period>(), "week@02:50".parse());
    }

    #[test]
    fn a_month_begins_on_its_day() {
        keys(
            "month@02:50",
            &[
                ("2026-12-01T02:49:59Z", "2026-11"),
                ("2026-12-01T02:50:00Z", "2026-12"),
                ("2027-01-01T02:49:59Z", "2026-12"),
                ("2028-02-29T23:59:59Z", "2028-02"),
            ],
        );
        keys(
            "month@28@02:50",
            &[
                ("2026-02-28T02:49:59Z", "2026-01"),
                ("2026-02-28T02:50:00Z", "2026-02"),
                ("2026-03-28T02:49:59Z", "2026-02"),
                ("2026-03-28T02:50:00Z", "2026-03"),
                ("2028-02-29T12:00:00Z", "2028-02"),
                ("2027-01-28T02:49:59Z", "2026-12"),
            ],
        );
        assert_eq!("month@1@02:50".parse::<Period>(), "month@02:50".parse());
    }

    /// Checks for each unit that a key changes only at the start of a period, and never comes back.
    #[test]
    fn each_key_is_that_of_one_stretch_of_time() {
        for (period, step, most) in [
            ("hour@50", 600, 3_600),
            ("day@02:50-03:00", 600, 86_400),
            ("week@Sun@02:50", 3_000, 7 * 86_400),
            ("month@28@23:50", 6_000, 31 * 86_400),
        ] {
            let period: Period = period.parse().unwrap();
            let mut seen: Vec<(String, u64)> = Vec::new();
            for second in (1_700_000_000..1_800_000_000_u64).step_by(step * 7) {
                let key = period.key(UNIX_EPOCH + Duration::from_secs(second));
                match seen.last() {
                    Some((last, since)) if *last == key => assert!(second - since <= most, "{key}"),
                    _ => seen.push((key, second)),
                }
            }
            // Keys sort in the order of their periods.
            assert!(
                seen.len() > 30 && seen.windows(2).all(|two| two[0].0 < two[1].0),
                "{period:?}"
            );
        }
    }

    #[test]
    fn a_broken_clock_has_a_key_too() {
        let day: Period = "day@02:50".parse().unwrap();
        assert_eq!(day.key(UNIX_EPOCH), "1970-01-01");
        assert_eq!(day.key(UNIX_EPOCH - Duration::from_secs(9)), "1970-01-01");
        assert_eq!(day.key(UNIX_EPOCH + Duration::from_secs(1 << 45)), "9999-12-31");
        let week: Period = "week@00:00+14:00".parse().unwrap();
        assert_eq!(week.key(UNIX_EPOCH + Duration::from_secs(1 << 45)), "9999-W52");
    }

    #[test]
    fn a_wrong_period_is_refused_with_a_right_one() {
        for text in [
            "",
            "@",
            "2026-11-26",
            "nightly",
            "Day@02:50",
            "year@02:50",
            "day@",
            "day@2:50",
            "day@02",
            "day@24:00",
            "day@02:60",
            "day@02:50:00",
            "day@-2:50",
            "day@02:50 ",
            "day@02:50@02:50",
            "day@02:50CET",
            "day@02:50 Europe/Berlin",
            "day@02:50+1",
            "day@02:50+0100",
            "day@02:50+14:01",
            "day@02:50+",
            "day@02:50ZZ",
            "hour@02:50",
            "hour@60",
            "hour@5",
            "week@Sunday@02:50",
            "week@7@02:50",
            "week@Sun",
            "week@@02:50",
            "month@0@02:50",
            "month@29@02:50",
            "month@+1@02:50",
            "month@001@02:50",
            "month@15",
        ] {
            let refusal = text.parse::<Period>().expect_err(text);
            assert!(refusal.contains("day@02:50+01:00"), "{text}: {refusal}");
        }
    }
}
