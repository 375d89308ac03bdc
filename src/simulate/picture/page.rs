//! This file puts a whole report into one file: its pictures as SVG, or everything as HTML.

use super::drawing::{Drawing, LINE, NARROW, PAGE, STYLE, Size, WIDE, lines, words};
use super::markup::{Element, harmless, pixels};
use super::{Report, Section, Table};

/// The style sheets of a page: of its pictures, and of all else.
const PAGE_STYLE: &str = concat!(include_str!("picture.css"), include_str!("page.css"));

/// The patterns that the styles refer to. With them, readers can tell states apart without colours, too.
const PATTERNS: &str = include_str!("patterns.svg");

/// The distance between two pictures.
const GAP: f64 = 26.0;

/// Returns all pictures of a report, one below the other.
pub(super) fn svg(report: &Report) -> String {
    let mut y = PAGE + LINE;
    let mut parts = vec![words("headline", PAGE, y, &report.title)];
    y += 8.0;
    for drawing in report.sections.iter().filter_map(|it| drawing(it, WIDE)) {
        y += GAP;
        parts.push(words("strong", PAGE, y, &drawing.title));
        y += 10.0;
        let height = drawing.height;
        parts.push(drawing.within(y));
        y += height;
    }
    let repeat = format!("Seed {}. Repeat: {}", report.seed, report.command_line);
    let mut foot = Drawing::new("", String::new(), WIDE);
    let height = lines(&mut foot, "quiet", &repeat, y) + PAGE;
    format!(
        include_str!("picture.svg"),
        title = harmless(&report.title),
        repeat = harmless(&repeat),
        style = STYLE,
        patterns = PATTERNS,
        parts = text(parts.into_iter().chain(foot.elements())),
        width = pixels(WIDE.width),
        height = pixels(height),
    )
}

/// Returns the whole report. A browser runs no script in the page, and makes no requests for it.
pub(super) fn html(report: &Report) -> String {
    format!(
        include_str!("page.html"),
        title = harmless(&report.title),
        style = PAGE_STYLE,
        patterns = PATTERNS,
        sections = text(report.sections.iter().flat_map(section)),
        seed = report.seed,
        command = harmless(&report.command_line),
    )
}

fn text(elements: impl Iterator<Item = Element>) -> String {
    elements.map(|element| element.to_string()).collect()
}

fn drawing(section: &Section, size: Size) -> Option<Drawing> {
    match section {
        Section::Timeline(it) => Some(it.drawing(size)),
        Section::Frontier(it) => Some(it.drawing(size)),
        Section::Distribution(it) => Some(it.drawing(size)),
        Section::Text(_) | Section::Table(..) => None,
    }
}

fn section(section: &Section) -> Vec<Element> {
    match section {
        Section::Text(text) => paragraphs(text),
        Section::Table(caption, it) => {
            let shown = Element::new("p").with("class", "caption").text(caption);
            vec![shown, scrolling(caption, table(it))]
        }
        Section::Timeline(_) | Section::Frontier(_) | Section::Distribution(_) => {
            // The page shows the drawing that fits its width.
            let drawings: Vec<_> =
                [WIDE, NARROW].into_iter().filter_map(|size| drawing(section, size)).collect();
            let heading = drawings.first().map(|it| Element::new("h2").text(&it.title));
            let figures = Element::new("section").children(heading);
            vec![figures.children(drawings.into_iter().map(Drawing::inline))]
        }
    }
}

fn paragraphs(text: &str) -> Vec<Element> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| Element::new("p").text(&lines.join(" "))).collect()
}

/// Puts content that is too wide for a narrow screen into a box that scrolls, also with the keyboard.
fn scrolling(name: &str, inside: Element) -> Element {
    let place = Element::new("div").with("class", "scrolls").with("tabindex", "0");
    place.with("role", "region").with("aria-label", name).child(inside)
}

fn table(table: &Table) -> Element {
    let Some((headings, rows)) = table.rows().split_first() else { return Element::new("table") };
    let is_number = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        cells.all(|cell| cell == "-" || cell.starts_with(|first: char| first.is_ascii_digit()))
    };
    let cell = |cell: Element, (column, text): (usize, &String)| {
        let cell = if is_number(column) { cell.with("class", "number") } else { cell };
        cell.text(text)
    };
    let heading = |it| cell(Element::new("th").with("scope", "col"), it);
    let row = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|it| cell(Element::new("td"), it));
        Element::new("tr").children(cells)
    };
    let body = rows.iter().map(row);
    let head = Element::new("tr").children(headings.iter().enumerate().map(heading));
    Element::new("table")
        .child(Element::new("thead").child(head))
        .child(Element::new("tbody").children(body))
}
