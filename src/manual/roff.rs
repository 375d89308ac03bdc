//! A page of the manual as a man page.

use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::markdown::{Block, Span, Style, plain};
use super::terminal;

/// The columns of a table in a man page.
const WIDTH: usize = 72;

/// The page of this topic, in section 7. Its blocks begin with its title.
pub(super) fn page(name: &str, summary: &str, blocks: &[Block], others: &[String]) -> String {
    let mut roff = Roff::new();
    let source = concat!("elect ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [&format!("elect-{name}"), "7", "", source, "elect"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("elect-{name} - {summary}"))]);
    roff.control("SH", ["DESCRIPTION"]);
    for block in blocks.iter().skip(1) {
        add(&mut roff, block);
    }
    roff.control("SH", ["SEE ALSO"]);
    let pages = others.iter().map(|other| format!("elect-{other}(7)"));
    let pages: Vec<String> = ["elect(1)".to_owned()].into_iter().chain(pages).collect();
    roff.text([roman(pages.join(", "))]);
    roff.to_roff()
}

fn add(roff: &mut Roff, block: &Block) {
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
            as_it_is(roff, terminal::table(rows, WIDTH).iter().map(String::as_str));
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
