//! This file lays out tables for people, and formats times for them.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::escape;

/// The widest cell. Longer cells are cut, so that one odd entry cannot push all others off the screen.
const CELL_MAX: usize = 64;

/// A table for people: columns aligned with spaces, no frame.
///
/// Every cell is escaped, as most of them come from other machines.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    cell_max: usize,
    /// The widest last cell of a row, which pushes no other cell.
    last_max: usize,
    /// The headings of the columns that a narrow terminal leaves out, the least important first.
    spare: &'static [&'static str],
    /// The headings of the columns that are left out only if otherwise the last column could not be read.
    dear: &'static [&'static str],
}

/// The columns of a terminal that the last column needs to be readable.
const LEGIBLE: usize = 16;

impl Table {
    /// Creates a table with these headings.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()],
            cell_max: CELL_MAX,
            last_max: CELL_MAX,
            spare: &[],
            dear: &[],
        }
    }

    /// Sets the columns that a narrow terminal leaves out. The first is left out first, and no more than necessary.
    #[must_use]
    pub fn without(self, spare: &'static [&'static str]) -> Self {
        Self { spare, ..self }
    }

    /// Creates a table whose cells are shown in full, as the user wrote them.
    pub fn uncut(headings: &[&str]) -> Self {
        Self { cell_max: usize::MAX, last_max: usize::MAX, ..Self::new(headings) }
    }

    /// Shows the last column in full, as far as there is room.
    #[must_use]
    pub const fn with_a_long_end(mut self) -> Self {
        self.last_max = usize::MAX;
        self
    }

    /// Adds a row. An empty cell shows as `-`, so that every row has as many words as headings.
    pub fn row<I: IntoIterator<Item = String>>(&mut self, cells: I) {
        let last = self.rows[0].len().saturating_sub(1);
        let max = |column| if column == last { self.last_max } else { self.cell_max };
        let cells = cells.into_iter().enumerate();
        self.rows.push(cells.map(|(column, cell)| shown(&cell, max(column))).collect());
    }

    /// Sets the columns that are left out only if otherwise the last column could not be read.
    #[must_use]
    pub fn hardly_without(self, dear: &'static [&'static str]) -> Self {
        Self { dear, ..self }
    }

    /// Returns the table as text. Every line has a newline and no trailing spaces. With a width, in columns of a
    /// terminal, leaves out spare columns until no line is longer. A line that is still longer is cut, and ends in `…`.
    pub fn render(&self, width: Option<usize>) -> String {
        let columns = self.columns(width);
        let mut text = String::new();
        for row in &self.rows {
            let start = text.len();
            for (column, size) in &columns {
                // Writing to a String cannot fail.
                let _ = write!(text, "{:<size$}  ", row.get(*column).map_or("", String::as_str));
            }
            text.truncate(start + text[start..].trim_end().len());
            if let Some(width) = width.filter(|width| text[start..].chars().count() > *width) {
                let line = cut(&text[start..], width);
                text.truncate(start);
                text.push_str(&line);
            }
            text.push('\n');
        }
        text
    }

    /// Returns all rows, of which the first has the headings. Their cells are escaped and cut.
    #[cfg(feature = "simulate")]
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns the columns to show, each with its size.
    fn columns(&self, width: Option<usize>) -> Vec<(usize, usize)> {
        let most = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let size = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut columns: Vec<(usize, usize)> = (0..most).map(|it| (it, size(it))).collect();
        let Some(width) = width else { return columns };
        let spare = self.spare.iter().map(|spare| (spare, self.cell_max));
        for (heading, legible) in spare.chain(self.dear.iter().map(|dear| (dear, LEGIBLE))) {
            let before: usize = columns.iter().rev().skip(1).map(|(_, size)| size + 2).sum();
            let last = columns.last().map_or(0, |(_, size)| (*size).min(legible));
            if before + last <= width {
                // A later, dearer column may still have to go.
                continue;
            }
            let is_it = |column: usize| self.rows[0].get(column).is_some_and(|it| it == heading);
            columns.retain(|(column, _)| !is_it(*column));
        }
        columns
    }
}

/// Returns as much of the text as there is room for, with a sign that there is more.
fn cut(text: &str, max: usize) -> String {
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

fn shown(cell: &str, max: usize) -> String {
    if cell.is_empty() {
        return "-".to_owned();
    }
    let cell = escape(cell);
    if cell.chars().count() <= max {
        return cell;
    }
    cut(&cell, max)
}

/// Returns the time of the wall clock, for people. It decides only which period of `--once-per` is current.
#[expect(clippy::disallowed_methods, reason = "for show")]
pub fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// The last second of the year 9999, which is the last that RFC 3339 can write.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// Formats a time in UTC with milliseconds, such as `2026-03-01T12:00:00.250Z`.
///
/// Times outside the years 1970 to 9999 occur only in broken entries. They show as the nearest time in that range.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST);
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}

/// Formats a length of time for people, in its two greatest units: `0s`, `12s`, `3m12s`, `2d4h`.
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

/// Formats milliseconds for people.
pub fn milliseconds(ms: f64) -> String {
    match ms {
        _ if ms < 10.0 => format!("{ms:.1}ms"),
        _ if ms < 1000.0 => format!("{ms:.0}ms"),
        _ => format!("{:.2}s", ms / 1000.0),
    }
}

/// Rounds down to whole milliseconds, for reports.
pub fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Rounds to hundredths of a millisecond, for reports.
pub fn fine_ms(span: Duration) -> f64 {
    (span.as_secs_f64() * 100_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Table, fine_ms, whole_ms};

    #[test]
    fn times_are_rounded() {
        assert_eq!(fine_ms(Duration::from_nanos(1_234_567)).to_string(), "1.23");
        assert_eq!(whole_ms(Duration::from_micros(2_900)), 2);
    }

    fn table(rows: &[[&str; 3]]) -> String {
        let mut table = Table::new(&["A", "BB", "CCC"]);
        for row in rows {
            table.row(row.map(str::to_owned));
        }
        table.render(None)
    }

    #[test]
    fn a_narrow_table_drops_the_least_important_columns() {
        let mut table =
            Table::new(&["ID", "HOST", "SINCE", "WHY"]).without(&["SINCE", "HOST", "NO"]);
        table.row(["a", "web1.example.com", "3m12s", "stopped"].map(str::to_owned));
        let whole = "ID  HOST              SINCE  WHY\na   web1.example.com  3m12s  stopped\n";
        assert_eq!(table.render(None), whole);
        assert_eq!(table.render(Some(36)), whole);
        assert_eq!(
            table.render(Some(35)),
            "ID  HOST              WHY\na   web1.example.com  stopped\n"
        );
        assert_eq!(
            table.render(Some(29)),
            "ID  HOST              WHY\na   web1.example.com  stopped\n"
        );
        assert_eq!(table.render(Some(28)), "ID  WHY\na   stopped\n");
        // No more columns can be left out.
        assert_eq!(table.render(Some(8)), "ID  WHY\na   sto…\n");
        assert_eq!(table.render(Some(0)), "…\n…\n");
    }

    #[test]
    fn a_long_end_is_cut_by_the_terminal_alone() {
        let mut table = Table::new(&["ID", "NOTE"]).without(&["ID"]).with_a_long_end();
        table.row(["a".repeat(70), "b".repeat(70)]);
        assert!(table.render(None).ends_with(&format!("…  {}\n", "b".repeat(70))));
        // There is room for as much of the last cell as another cell may have.
        let shown = table.render(Some(130));
        assert!(shown.starts_with("ID  ") && shown.ends_with("b…\n"), "{shown}");
        assert!(table.render(Some(129)).starts_with("NOTE\n"));
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        assert_eq!(table(&[]), "A  BB  CCC\n");
        assert_eq!(
            table(&[["long one", "x", ""], ["y", "ü", "z"]]),
            "A         BB  CCC\nlong one  x   -\ny         ü   z\n"
        );
    }

    #[test]
    fn a_cell_cannot_break_out() {
        let text = table(&[["a\nleader", "\u{1b}[2J", &"x".repeat(500)]]);
        assert_eq!(text.lines().count(), 2);
        assert!(
            text.contains("a\\nleader") && text.contains("\\u{1b}[2J") && !text.contains('\u{1b}')
        );
        assert!(text.contains(&format!("{}…", "x".repeat(63))) && !text.contains(&"x".repeat(64)));
    }
}

#[cfg(test)]
mod time_tests {
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
