//! This file renders a page of the manual for a terminal, and as a man page.

use std::fmt::Write as _;

use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::markdown::{BOLD, Block, NORMAL, is_bold_after, plain, tidy};

/// The indent of text below a heading, in columns. Text that is shown unchanged is indented twice as far.
const INDENT: usize = 4;

/// The longest line that is easy to read, in columns.
const WIDEST: usize = 100;

/// The narrowest line that is set, in columns.
const NARROWEST: usize = 40;

/// Returns the blocks in lines of at most `width` columns, with bold text if `has_style`. Code keeps its lines, even if
/// they are longer.
pub(super) fn for_terminal(blocks: &[Block], width: usize, has_style: bool) -> String {
    let width = width.clamp(NARROWEST, WIDEST) - INDENT;
    let mut text = String::new();
    let mut last: Option<&Block> = None;
    for block in blocks {
        let is_list_going_on =
            matches!((last, block), (Some(Block::Item { .. }), Block::Item { .. }));
        if last.is_some() && !is_list_going_on {
            text.push('\n');
        }
        let (indent, lines) = lines_of(block, width);
        for line in lines {
            let indent = if line.is_empty() { 0 } else { indent };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
        last = Some(block);
    }
    let (bold, normal) = if has_style { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
    text.replace(BOLD, bold).replace(NORMAL, normal)
}

/// Returns the lines of a block, and their indent.
fn lines_of(block: &Block, width: usize) -> (usize, Vec<String>) {
    match block {
        Block::Heading { level, words } => {
            let bold = format!("{BOLD}{}{NORMAL}", plain(words));
            (if *level > 2 { INDENT / 2 } else { 0 }, wrap(&bold, width))
        }
        Block::Paragraph(words) => (INDENT, wrap(words, width)),
        Block::Item { mark, words } => {
            let hang = mark.len() + 1;
            let marks = [mark.as_str()].into_iter().chain(std::iter::repeat(""));
            let lines = marks.zip(wrap(words, width - hang));
            (INDENT, lines.map(|(mark, line)| format!("{mark:<hang$}{line}")).collect())
        }
        Block::Code(code) => (2 * INDENT, code.lines().map(str::to_owned).collect()),
        Block::Table(rows) => (INDENT, table(rows, width)),
    }
}

fn table(rows: &[Vec<String>], width: usize) -> Vec<String> {
    let widths = widths(rows, width);
    let wrapped = |row: &Vec<String>| -> Vec<Vec<String>> {
        row.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect()
    };
    let rows: Vec<_> = rows.iter().map(wrapped).collect();
    // An empty line separates rows of several lines.
    let is_spaced = rows.iter().flatten().any(|cell| cell.len() > 1);
    let mut lines = Vec::new();
    for row in &rows {
        if is_spaced && !lines.is_empty() {
            lines.push(String::new());
        }
        for part in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let piece = cell.get(part).map_or("", String::as_str);
                let rest = width.saturating_sub(columns(piece));
                let _ = write!(line, "{piece}{:rest$}  ", "");
            }
            lines.push(line.trim_end().to_owned());
        }
    }
    lines
}

/// Returns the words in lines of at most `width` columns. A longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(&word) <= width => line.extend([" ", &word]),
            _ => lines.push(word),
        }
    }
    // Adjacent words in bold are set off together.
    lines.iter().map(|line| line.replace(&format!("{NORMAL} {BOLD}"), " ")).collect()
}

/// Splits text at spaces into words, of which each has the signs of its own style.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut was_bold) = (Vec::new(), false);
    for word in text.split([' ', '\n']) {
        let is_bold = is_bold_after(word, was_bold);
        if columns(word) > 0 {
            let before = was_bold.then_some(BOLD).into_iter();
            let whole = before.chain(word.chars()).chain(is_bold.then_some(NORMAL));
            words.push(tidy(&whole.collect::<String>()));
        }
        was_bold = is_bold;
    }
    words
}

/// Returns the width of each column. A column is as wide as its widest cell. If the table is too wide, its widest
/// columns are narrowed.
fn widths(rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of = |measure: fn(&str) -> usize| -> Vec<usize> {
        let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
        let widest = |column| cells(column).map(|cell| measure(cell)).max().unwrap_or(0);
        (0..count).map(widest).collect()
    };
    let natural = of(columns);
    let least = of(|cell| words(cell).iter().map(|word| columns(word)).max().unwrap_or(0));
    let room = width.saturating_sub(2 * count.saturating_sub(1));
    let capped = |cap: usize| -> Vec<usize> {
        natural.iter().zip(&least).map(|(natural, least)| (*natural).min(cap).max(*least)).collect()
    };
    let fits = |cap: &usize| capped(*cap).iter().sum::<usize>() <= room;
    capped((1..=width).rev().find(fits).unwrap_or(1))
}

/// Returns the number of columns that words take, without the signs of their style.
fn columns(words: &str) -> usize {
    plain(words).chars().count()
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
        Block::Code(code) => as_it_is(roff, code.lines().map(str::to_owned)),
        Block::Table(rows) => {
            as_it_is(roff, table(rows, MAN_WIDTH).iter().map(|line| plain(line)));
        }
    }
}

fn inline(words: &str) -> Vec<Inline> {
    let pieces = words.split([BOLD, NORMAL]).enumerate().filter(|(_, piece)| !piece.is_empty());
    pieces.map(|(place, it)| if place % 2 == 0 { roman(it) } else { bold(it) }).collect()
}

fn as_it_is(roff: &mut Roff, lines: impl Iterator<Item = String>) {
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
