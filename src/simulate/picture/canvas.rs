//! This file is a grid of styled characters for a terminal, which never exceeds the terminal's width.

use std::fmt::Write as _;
use std::mem;

use clap::builder::styling::Style;

use crate::report::escape;

/// The abilities of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its width, in columns.
    pub width: usize,
    /// True if it shows more than ASCII.
    pub is_unicode: bool,
    /// True if it shows styles.
    pub has_colour: bool,
}

/// The style without any attributes.
pub(super) const PLAIN: Style = Style::new();

/// A grid of cells.
#[derive(Debug)]
pub(super) struct Canvas {
    shape: Shape,
    rows: Vec<Vec<(char, Style)>>,
}

impl Canvas {
    pub(super) const fn new(shape: Shape) -> Self {
        Self { shape, rows: Vec::new() }
    }

    /// Adds an empty line, and returns its number.
    pub(super) fn line(&mut self) -> usize {
        self.rows.push(vec![(' ', PLAIN); self.shape.width]);
        self.rows.len() - 1
    }

    /// Writes text from this column on, as far as there is room.
    pub(super) fn put(&mut self, row: usize, column: usize, text: &str, style: Style) {
        let cells = self.rows[row].iter_mut().skip(column);
        for (cell, character) in cells.zip(escape(text).chars()) {
            *cell = (character, style);
        }
    }

    /// Returns whether the cells from this column on exist and are empty.
    pub(super) fn is_free(&self, row: usize, column: usize, length: usize) -> bool {
        let cells = self.rows[row].get(column..column.saturating_add(length));
        cells.is_some_and(|cells| cells.iter().all(|cell| cell.0 == ' '))
    }

    /// Adds folded text. All lines but the first are indented by `hang`.
    pub(super) fn fold(&mut self, text: &str, hang: usize) {
        for line in fold(text, self.shape.width, hang) {
            let row = self.line();
            self.put(row, 0, &line, PLAIN);
        }
    }

    /// Returns the lines as text. Every line has a newline and no trailing spaces.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let length = row.iter().rposition(|cell| cell.0 != ' ').map_or(0, |last| last + 1);
            let mut style = PLAIN;
            for (character, its) in &row[..length] {
                if self.shape.has_colour && *its != style {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "{style:#}{its}");
                    style = *its;
                }
                text.push(*character);
            }
            let _ = write!(text, "{style:#}");
            text.push('\n');
        }
        text
    }
}

/// Returns the text in lines of at most this width. Every line has a newline.
pub(super) fn folded(text: &str, width: usize) -> String {
    fold(text, width, 0).into_iter().map(|line| line + "\n").collect()
}

/// Folds text into lines, of which all but the first begin with `hang` spaces. Breaks a word that is too long for a
/// line.
pub(super) fn fold(text: &str, width: usize, hang: usize) -> Vec<String> {
    let width = width.max(1);
    let hang = if hang * 2 < width { hang } else { 0 };
    let (mut lines, mut line) = (Vec::new(), String::new());
    let mut end = |line: &mut String| {
        let full = mem::replace(line, " ".repeat(hang));
        lines.push(full.trim_end().to_owned());
    };
    let (mut used, mut is_fresh) = (0, true);
    for word in escape(text).split(' ') {
        let word: Vec<char> = word.chars().collect();
        let gap = usize::from(!is_fresh);
        if used + gap + word.len() > width && used > hang {
            end(&mut line);
            (used, is_fresh) = (hang, true);
        }
        if !is_fresh {
            line.push(' ');
            used += 1;
        }
        let mut rest = word.as_slice();
        while used + rest.len() > width {
            let (now, later) = rest.split_at(width - used);
            line.extend(now);
            end(&mut line);
            (used, rest) = (hang, later);
        }
        line.extend(rest);
        (used, is_fresh) = (used + rest.len(), false);
    }
    end(&mut line);
    lines
}

/// Returns as much of the text as there is room for, escaped, with a sign that there is more.
pub(super) fn cut(text: &str, max: usize, is_unicode: bool) -> String {
    let text = escape(text);
    if text.chars().count() <= max {
        return text;
    }
    let more = if is_unicode { '…' } else { '~' };
    text.chars().take(max.saturating_sub(1)).chain((max > 0).then_some(more)).collect()
}

/// Returns the number of the cell, out of `cells`, at which this fraction of the whole lies.
pub(super) fn cell(fraction: f64, cells: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a column of a terminal, clamped"
    )]
    let place = (fraction.clamp(0.0, 1.0) * cells.saturating_sub(1) as f64).round() as usize;
    place
}

#[cfg(test)]
mod tests {
    use super::{fold, folded};

    #[test]
    fn words_go_to_the_next_line() {
        assert_eq!(folded("one two three", 8), "one two\nthree\n");
        assert_eq!(fold("a bb ccc", 6, 2), ["a bb", "  ccc"]);
        assert_eq!(fold("abcdefgh i", 3, 0), ["abc", "def", "gh", "i"]);
        assert_eq!(fold("", 3, 0), [""]);
        assert_eq!(fold("  two", 10, 0), ["  two"]);
        assert_eq!(fold("ab", 0, 7), ["a", "b"]);
        assert_eq!(fold("a\u{1b}", 9, 0), ["a\\u{1b}"]);
    }
}
