//! This file puts a whole report into one file: its pictures as SVG, or everything as HTML.

use super::drawing::{Drawing, LINE, NARROW, PAGE, STYLE, Size, WIDE, lines, patterns, words};
use super::markup::{Element, pixels};
use super::{Report, Section, Table};

/// The style sheet of a page, beside the style sheet of its pictures.
const PAGE_STYLE: &str = include_str!("page.css");

/// The policy of the page: a browser runs no script in it, and makes no requests for it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The distance between two pictures.
const GAP: f64 = 26.0;

/// Returns all pictures of a report, one below the other.
pub(super) fn svg(report: &Report) -> String {
    let mut foot = Drawing::new("", String::new(), WIDE);
    let mut parts = Vec::new();
    let mut y = PAGE + LINE;
    parts.push(words("headline", PAGE, y, &report.title));
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
    y = lines(&mut foot, "quiet", &repeat, y) + PAGE;
    let size = format!("0 0 {} {}", pixels(WIDE.width), pixels(y));
    let paper = Element::new("rect").with("class", "paper");
    let root = Element::new("svg").with("xmlns", "http://www.w3.org/2000/svg");
    let root = root.with("class", "picture").with("viewBox", size);
    root.sized(&[("width", WIDE.width), ("height", y)])
        .child(Element::new("title").text(&report.title))
        .child(Element::new("desc").text(&repeat))
        .child(Element::new("style").ours(STYLE))
        .child(patterns())
        .child(paper.with("width", "100%").with("height", "100%"))
        .children(parts)
        .children(foot.elements())
        .to_string()
}

/// Returns the whole report.
pub(super) fn html(report: &Report) -> String {
    let meta = |name, content| Element::new("meta").with("name", name).with("content", content);
    let policy = Element::new("meta").with("http-equiv", "Content-Security-Policy");
    let head = Element::new("head")
        .child(Element::new("meta").with("charset", "utf-8"))
        .child(policy.with("content", POLICY))
        .child(meta("viewport", "width=device-width, initial-scale=1"))
        .child(meta("color-scheme", "light dark"))
        .child(Element::new("title").text(&report.title))
        .child(Element::new("style").ours(STYLE).ours(PAGE_STYLE));
    let shared = Element::new("svg").with("class", "shared").with("aria-hidden", "true");
    let main = Element::new("main")
        .child(Element::new("h1").text(&report.title))
        .children(report.sections.iter().flat_map(section))
        .child(repeat(report));
    let body = Element::new("body").child(shared.child(patterns())).child(main);
    let page = Element::new("html").with("lang", "en").child(head).child(body);
    format!("<!DOCTYPE html>\n{page}")
}

fn repeat(report: &Report) -> Element {
    let seed = format!("The seed is {}. On every machine this repeats it exactly:", report.seed);
    let command = Element::new("pre").with("tabindex", "0").text(&report.command_line);
    Element::new("section")
        .child(Element::new("h2").text("Repeat it"))
        .child(Element::new("p").text(&seed))
        .child(command)
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
    let class = |element: Element, column| {
        if is_number(column) { element.with("class", "number") } else { element }
    };
    let heading = |(column, text): (usize, &String)| {
        class(Element::new("th").with("scope", "col"), column).text(text)
    };
    let cell = |(column, text): (usize, &String)| class(Element::new("td"), column).text(text);
    let body = rows.iter().map(|row| Element::new("tr").children(row.iter().enumerate().map(cell)));
    let head = Element::new("tr").children(headings.iter().enumerate().map(heading));
    Element::new("table")
        .child(Element::new("thead").child(head))
        .child(Element::new("tbody").children(body))
}
