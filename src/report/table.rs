use std::fmt::Write as _;

use super::escape;

/// The widest cell; what is longer is cut, so that one odd entry cannot push all others off the screen.
const CELL_MAX: usize = 64;

/// A table for people: columns aligned with spaces, no frame.
///
/// Every cell is escaped, as most of them come from other machines.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    cell_max: usize,
}

impl Table {
    /// A table with these headings.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()],
            cell_max: CELL_MAX,
        }
    }

    /// A table whose cells are shown in full, as its user wrote them.
    pub fn uncut(headings: &[&str]) -> Self {
        Self { cell_max: usize::MAX, ..Self::new(headings) }
    }

    /// Adds a row. An empty cell shows as `-`, so that every row has as many words as headings.
    pub fn row<I: IntoIterator<Item = String>>(&mut self, cells: I) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell, self.cell_max)).collect());
    }

    /// The table as text; every line ends, none has spaces at its end.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let start = text.len();
            for (cell, width) in row.iter().zip(&widths) {
                // Writing to a String cannot fail.
                let _ = write!(text, "{cell:<width$}  ");
            }
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
        text
    }
}

fn shown(cell: &str, max: usize) -> String {
    if cell.is_empty() {
        return "-".to_owned();
    }
    let cell = escape(cell);
    if cell.chars().count() <= max {
        return cell;
    }
    cell.chars().take(max - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::Table;

    fn table(rows: &[[&str; 3]]) -> String {
        let mut table = Table::new(&["A", "BB", "CCC"]);
        for row in rows {
            table.row(row.map(str::to_owned));
        }
        table.render()
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
