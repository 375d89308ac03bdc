//! This file renders a page of the manual for a terminal, and as a man page.

use std::fmt::Write as _;

use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::markdown::{Block, Span, Style, plain};

/// The indent of text below a heading, in columns. Text that is shown unchanged is indented twice as far.
const INDENT: usize = 4;

/// The longest line that is easy to read, in columns.
const WIDEST: usize = 100;

/// The narrowest line that is set, in columns.
const NARROWEST: usize = 40;

const BOLD: &str = "\u{1b}[1m";
const NORMAL: &str = "\u{1b}[0m";

/// Returns the blocks in lines of at most `width` columns, with bold text if `has_style`. Code keeps its lines, even if
/// they are longer.
pub(super) fn for_terminal(blocks: &[Block], width: usize, has_style: bool) -> String {
    let setter = Setter { width: width.clamp(NARROWEST, WIDEST) - INDENT, has_style };
    let mut text = String::new();
    let mut last: Option<&Block> = None;
    for block in blocks {
        let is_list_going_on =
            matches!((last, block), (Some(Block::Item { .. }), Block::Item { .. }));
        if last.is_some() && !is_list_going_on {
            text.push('\n');
        }
        setter.set(block, &mut text);
        last = Some(block);
    }
    text
}

struct Setter {
    /// The width of a line, in columns.
    width: usize,
    has_style: bool,
}

impl Setter {
    fn set(&self, block: &Block, text: &mut String) {
        match block {
            Block::Heading { level, words } => {
                let strong: Vec<Span> = words
                    .iter()
                    .map(|span| Span { style: Style::Strong, ..span.clone() })
                    .collect();
                let indent = if *level > 2 { INDENT / 2 } else { 0 };
                add(text, indent, &self.wrap(&strong, self.width));
            }
            Block::Paragraph(words) => add(text, INDENT, &self.wrap(words, self.width)),
            Block::Item { mark, words } => {
                let hang = mark.len() + 1;
                let mut lines = self.wrap(words, self.width - hang);
                for (number, line) in lines.iter_mut().enumerate() {
                    let before = if number == 0 { mark.as_str() } else { "" };
                    *line = format!("{before:<hang$}{line}");
                }
                add(text, INDENT, &lines);
            }
            Block::Code(code) => {
                let lines: Vec<String> = code.lines().map(str::to_owned).collect();
                add(text, 2 * INDENT, &lines);
            }
            Block::Table(rows) => add(text, INDENT, &self.table(rows)),
        }
    }

    fn table(&self, rows: &[Vec<Vec<Span>>]) -> Vec<String> {
        let widths = widths(rows, self.width);
        let is_tight = |row: &Vec<Vec<String>>| row.iter().all(|cell| cell.len() <= 1);
        let set: Vec<Vec<Vec<String>>> = rows
            .iter()
            .map(|row| {
                row.iter().zip(&widths).map(|(cell, width)| self.wrap(cell, *width)).collect()
            })
            .collect();
        // An empty line separates rows of several lines.
        let is_spaced = !set.iter().all(is_tight);
        let mut lines = Vec::new();
        for (number, row) in set.iter().enumerate() {
            if is_spaced && number > 0 {
                lines.push(String::new());
            }
            let height = row.iter().map(Vec::len).max().unwrap_or(0);
            for part in 0..height {
                let mut line = String::new();
                for (cell, width) in row.iter().zip(&widths) {
                    let piece = cell.get(part).map_or("", String::as_str);
                    let rest = width - columns(piece).min(*width);
                    // Writing to a String cannot fail.
                    let _ = write!(line, "{piece}{:rest$}  ", "");
                }
                line.truncate(line.trim_end().len());
                lines.push(line);
            }
        }
        lines
    }

    /// Returns the words in lines of at most `width` columns. A longer word has a line of its own.
    fn wrap(&self, spans: &[Span], width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut line, mut taken) = (String::new(), 0);
        for word in words(spans) {
            let long: usize = word.iter().map(|span| span.text.chars().count()).sum();
            if taken > 0 && taken + 1 + long > width {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            }
            if taken > 0 {
                line.push(' ');
                taken += 1;
            }
            for span in &word {
                self.style(span, &mut line);
            }
            taken += long;
        }
        if taken > 0 {
            lines.push(line);
        }
        // Adjacent words of one style are set off together.
        let between = format!("{NORMAL} {BOLD}");
        lines.iter().map(|line| line.replace(&between, " ")).collect()
    }

    fn style(&self, span: &Span, line: &mut String) {
        if self.has_style && span.style != Style::Plain {
            line.extend([BOLD, &span.text, NORMAL]);
        } else {
            line.push_str(&span.text);
        }
    }
}

/// Splits text at spaces into words, and each word into the pieces of its styles.
fn words(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut words: Vec<Vec<Span>> = Vec::new();
    let mut is_inside = false;
    for span in spans {
        for (number, piece) in span.text.split([' ', '\n']).enumerate() {
            is_inside &= number == 0;
            if piece.is_empty() {
                continue;
            }
            let piece = Span { text: piece.to_owned(), style: span.style };
            match words.last_mut() {
                Some(word) if is_inside => word.push(piece),
                _ => words.push(vec![piece]),
            }
            is_inside = true;
        }
    }
    words
}

/// Returns the width of each column. A column is as wide as its widest cell. If the table is too wide, its widest
/// columns are narrowed.
fn widths(rows: &[Vec<Vec<Span>>], width: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of = |measure: fn(&[Span]) -> usize| -> Vec<usize> {
        let widest = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| measure(cell)).max()
        };
        (0..count).map(|column| widest(column).unwrap_or(0)).collect()
    };
    let natural = of(|cell| cell.iter().map(|span| span.text.chars().count()).sum());
    let least = of(|cell| {
        let long = |word: &Vec<Span>| word.iter().map(|span| span.text.chars().count()).sum();
        words(cell).iter().map(long).max().unwrap_or(0)
    });
    let room = width.saturating_sub(2 * count.saturating_sub(1));
    let capped = |cap: usize| -> Vec<usize> {
        natural.iter().zip(&least).map(|(natural, least)| (*natural).min(cap).max(*least)).collect()
    };
    let fits = |cap: &usize| capped(*cap).iter().sum::<usize>() <= room;
    capped((1..=width).rev().find(fits).unwrap_or(1))
}

/// Returns the number of columns that a piece takes, without its style codes.
fn columns(piece: &str) -> usize {
    piece.replace(BOLD, "").replace(NORMAL, "").chars().count()
}

fn add(text: &mut String, indent: usize, lines: &[String]) {
    for line in lines {
        if !line.is_empty() {
            text.extend(std::iter::repeat_n(' ', indent));
            text.push_str(line);
        }
        text.push('\n');
    }
}

/// The width of a table in a man page, in columns.
const MAN_WIDTH: usize = 72;

/// Returns the man page of this topic, in section 7. The first block is the title.
pub(super) fn man_page(name: &str, summary: &str, blocks: &[Block], others: &[String]) -> String {
    let mut roff = Roff::new();
    let source = concat!("elect ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [&format!("elect-{name}"), "7", "", source, "elect"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("elect-{name} - {summary}"))]);
    roff.control("SH", ["DESCRIPTION"]);
    for block in blocks.iter().skip(1) {
        add_to_man(&mut roff, block);
    }
    roff.control("SH", ["SEE ALSO"]);
    let pages = others.iter().map(|other| format!("elect-{other}(7)"));
    let pages: Vec<String> = ["elect(1)".to_owned()].into_iter().chain(pages).collect();
    roff.text([roman(pages.join(", "))]);
    roff.to_roff()
}

fn add_to_man(roff: &mut Roff, block: &Block) {
    match block {
        Block::Heading { level, words } => {
            let tag = if *level > 2 { "SS" } else { "SH" };
            let words = if *level > 2 { plain(words) } else { plain(words).to_uppercase() };
            roff.control(tag, [words.as_str()]);
        }
        Block::Paragraph(words) => {
            roff.control("PP", []);
            roff.text(inline(words));
        }
        Block::Item { mark, words } => {
            roff.control("IP", [mark.as_str(), "4"]);
            roff.text(inline(words));
        }
        Block::Code(code) => as_it_is(roff, code.lines()),
        Block::Table(rows) => {
            let lines = Setter { width: MAN_WIDTH, has_style: false }.table(rows);
            as_it_is(roff, lines.iter().map(String::as_str));
        }
    }
}

fn inline(words: &[Span]) -> Vec<Inline> {
    let of = |span: &Span| match span.style {
        Style::Plain => roman(span.text.as_str()),
        Style::Code | Style::Strong => bold(span.text.as_str()),
    };
    words.iter().map(of).collect()
}

fn as_it_is<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("PP", []);
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

#[cfg(test)]
mod tests {
    use super::super::markdown::blocks;
    use super::*;

    #[test]
    fn no_line_but_code_is_wider_than_the_terminal() {
        let text = "# T: a\n\nsome words that go on and on until they need a second line of their own\n\n- an item that \
                    goes on as well, for longer than a line\n\n| a | b |\n|---|---|\n| `--flag` | what it does, in more \
                    words than fit beside it on such a narrow terminal |\n\n```sh\nelect run --with words -- that are kept as they are\n```\n";
        let page = for_terminal(&blocks(text), 50, false);
        for line in page.lines().filter(|line| !line.starts_with("        ")) {
            assert!(line.chars().count() <= 50, "{line:?}");
        }
        assert!(
            page.contains("        elect run --with words -- that are kept as they are\n"),
            "{page}"
        );
        assert!(
            page.contains("    - an item that goes on as well, for longer\n      than a line\n"),
            "{page}"
        );
        assert!(
            page.contains("    a       b\n\n    --flag  what it does, in more words than fit\n"),
            "{page}"
        );
    }

    #[test]
    fn styles_are_for_terminals() {
        let blocks = blocks("Say **it** with `-v`.");
        assert_eq!(for_terminal(&blocks, 80, false), "    Say it with -v.\n");
        assert_eq!(
            for_terminal(&blocks, 80, true),
            "    Say \u{1b}[1mit\u{1b}[0m with \u{1b}[1m-v\u{1b}[0m.\n"
        );
    }
}
