//! This file computes the periods of a schedule, and the key of the current one, for `--once-per`.
//!
//! The name of a period is the minute, hour, day, ISO week or month in which it begins, at the given offset from UTC.
//! The time zone of the machine does not matter. So hosts whose clocks agree have the same name for a period.

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
const ACCEPTED: &str = "write 15m@13, hour@50, 6h@02:50, day@02:50, week@Sun@02:50 or month@15@02:50; the time is in UTC, \
                        or has an offset, such as day@02:50+01:00";

/// A schedule. Each of its periods begins where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    unit: Unit,
    /// Seconds from the start of the calendar's unit, or of the day, to the start of a period.
    start: i64,
    /// The offset from UTC, in seconds.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A part of a day of so many seconds. A day has a whole number of them.
    Part(i64),
    Day,
    Week,
    Month,
}

impl Period {
    /// Returns the key of the period that is current at `time`: `2026-11-26T13:13`, `2026-11-26T13`, `2026-11-26`,
    /// `2026-W48` or `2026-11`.
    ///
    /// Times outside the years 1970 to 9999 come only from broken clocks. They count as the nearest time in that range.
    pub fn key(self, time: SystemTime) -> String {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // By a clock at whose midnight the periods begin, or one of them.
        let shifted = i64::try_from(since).unwrap_or(LAST).min(LAST) + self.offset - self.start;
        let begun = shifted.clamp(0, LAST);
        match self.unit {
            Unit::Part(length) => {
                let begun = (begun - begun % length + self.start).min(LAST);
                let has_minutes = length % HOUR > 0;
                let shown = if has_minutes { "2026-11-26T13:13" } else { "2026-11-26T13" };
                notation(begun, shown.len())
            }
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
        let unit = unit_of(unit).map_err(|why| refuse(&why))?;
        let start = begin.map_or(Some(0), |begin| match unit {
            Unit::Part(length) => in_part(begin, length),
            Unit::Day => time_of_day(begin),
            Unit::Week => at_day(begin, weekday),
            Unit::Month => at_day(begin, day_of_month),
        });
        let start = start.ok_or_else(|| {
            let slip = begin.and_then(slip).map(|it| format!("{it}; ")).unwrap_or_default();
            slip + &refuse(&starts_of(unit))
        })?;
        Ok(Self { unit, start, offset })
    }
}

/// Reads a unit that begins where the calendar has it begin.
fn unit_of(text: &str) -> Result<Unit, String> {
    Ok(match text {
        "hour" => Unit::Part(HOUR),
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        _ => {
            let minutes = text.strip_suffix('m').map(|number| (number, MINUTE));
            let found = minutes.or_else(|| Some((text.strip_suffix('h')?, HOUR)));
            let (number, each) = found
                .filter(|(number, _)| {
                    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
                })
                .ok_or("not a period")?;
            match number.parse::<i64>().map(|number| number.saturating_mul(each)) {
                Ok(DAY) => Unit::Day,
                Ok(length) if length > 0 && DAY % length == 0 => Unit::Part(length),
                _ => return Err(format!("a day is no whole number of {text}")),
            }
        }
    })
}

/// Says where a unit may begin.
fn starts_of(unit: Unit) -> String {
    match unit {
        Unit::Part(HOUR) => "an hour begins at a minute from 00 to 59".into(),
        Unit::Part(length) if length < HOUR => {
            let minutes = length / MINUTE;
            format!("{minutes}m begins at a minute from 00 to {:02}", minutes - 1)
        }
        Unit::Part(length) => {
            let last = length / MINUTE - 1;
            let (hours, minutes) = (last / 60, last % 60);
            format!("such a period begins at a time from 00:00 to {hours:02}:{minutes:02}")
        }
        Unit::Day => "a day begins at a time from 00:00 to 23:59".into(),
        Unit::Week => {
            "a week begins on a day from Mon to Sun, at a time from 00:00 to 23:59".into()
        }
        Unit::Month => "a month begins on a day from 1 to 28, at a time from 00:00 to 23:59".into(),
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

/// Reads the start of a part of a day as seconds from midnight: `HH:MM`, or `MM` if the part is no longer than an hour.
fn in_part(text: &str, length: i64) -> Option<i64> {
    let start = if length > HOUR { time_of_day(text) } else { minutes(text) };
    start.filter(|start| *start < length)
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
    fn a_part_of_a_day_has_the_name_of_the_minute_or_hour_in_which_it_begins() {
        keys(
            "15m@13",
            &[
                ("2026-11-26T00:12:59Z", "2026-11-25T23:58"),
                ("2026-11-26T00:13:00Z", "2026-11-26T00:13"),
                // Two hosts whose clocks differ run a job of each quarter of an hour.
                ("2026-11-26T13:14:58Z", "2026-11-26T13:13"),
                ("2026-11-26T13:15:01Z", "2026-11-26T13:13"),
                ("2026-11-26T13:27:59Z", "2026-11-26T13:13"),
                ("2026-11-26T13:28:00Z", "2026-11-26T13:28"),
            ],
        );
        keys("20m", &[("2026-11-26T13:59:59Z", "2026-11-26T13:40")]);
        keys("1m", &[("2026-11-26T13:59:59Z", "2026-11-26T13:59")]);
        keys(
            "90m@00:20",
            &[
                ("2026-11-26T00:19:59Z", "2026-11-25T22:50"),
                ("2026-11-26T01:49:59Z", "2026-11-26T00:20"),
                ("2026-11-26T01:50:00Z", "2026-11-26T01:50"),
            ],
        );
        keys(
            "6h@02:50",
            &[("2026-11-26T02:49:59Z", "2026-11-25T20"), ("2026-11-26T08:50:00Z", "2026-11-26T08")],
        );
        // India is half an hour off.
        keys("hour@00+05:30", &[("2026-11-26T13:30:00Z", "2026-11-26T19")]);
        keys("20m@10+05:45", &[("2026-11-26T13:25:00Z", "2026-11-26T19:10")]);
        assert_eq!("60m@50".parse::<Period>(), "hour@50".parse());
        assert_eq!("1h@50".parse::<Period>(), "hour@50".parse());
        assert_eq!("24h@02:50".parse::<Period>(), "day@02:50".parse());
    }

    #[test]
    fn a_part_of_a_day_is_one_of_equal_parts_and_begins_in_it() {
        for (text, why) in [
            ("25m", "a day is no whole number of 25m"),
            ("7h@02:50", "a day is no whole number of 7h"),
            ("48h", "a day is no whole number of 48h"),
            ("0m", "a day is no whole number of 0m"),
            ("15m@15", "15m begins at a minute from 00 to 14"),
            ("15m@-2m", "the offset is not +HH:MM"),
            ("15m@00:13", "15m begins at a minute from 00 to 14"),
            ("6h@06:00", "begins at a time from 00:00 to 05:59"),
            ("90m@20", "begins at a time from 00:00 to 01:29"),
            ("m", "not a period"),
            ("+15m", "not a period"),
            ("15min", "not a period"),
            ("15s", "not a period"),
        ] {
            let refusal = text.parse::<Period>().expect_err(text);
            assert!(refusal.contains(why), "{text}: {refusal}");
        }
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
            ("15m@13", 60, 900),
            ("hour@50", 600, 3_600),
            ("6h@02:50+05:45", 600, 21_600),
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
