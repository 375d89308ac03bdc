//! The Markdown of the manual's pages, read as the blocks that a terminal and a man page show.
//!
//! Pages use a small part of Markdown, and this reads that part alone: a library that reads all of it would be a twentieth
//! of the program, and of each start. A test reads all pages with such a library as well.

/// What stands below the other on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The page's title has level 1.
    Heading {
        level: u8,
        words: Vec<Span>,
    },
    Paragraph(Vec<Span>),
    /// An entry of a list, and what stands before it: a dash or a number.
    Item {
        mark: String,
        words: Vec<Span>,
    },
    /// Lines that are shown as they are.
    Code(String),
    /// Rows of cells; the first row has the headings.
    Table(Vec<Vec<Vec<Span>>>),
}

impl Block {
    /// All that it says, without style.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Heading { words, .. } | Self::Paragraph(words) | Self::Item { words, .. } => {
                plain(words)
            }
            Self::Code(text) => text.clone(),
            Self::Table(rows) => {
                let cells = rows.iter().map(|row| {
                    let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
                    cells.join(" | ")
                });
                cells.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Text of one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// How a text is set off from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    #[default]
    Plain,
    /// To be typed, or printed by a program.
    Code,
    Strong,
}

/// What these spans say.
pub(super) fn plain(words: &[Span]) -> String {
    words.iter().map(|span| span.text.as_str()).collect()
}

/// The blocks of a page.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    read(page).0
}

/// The topics that a page links to, in order, each once.
pub(super) fn links(page: &str) -> Vec<String> {
    let mut topics: Vec<String> = Vec::new();
    for link in read(page).1 {
        let topic = topic_of(&link).map(str::to_owned);
        topics.extend(topic.filter(|topic| !topics.contains(topic)));
    }
    topics
}

/// The topic behind a link to a page: `hooks` of `hooks.md#signals`, and `etcd` of `../../backends/etcd/src/manual.md`.
pub(super) fn topic_of(link: &str) -> Option<&str> {
    let path = link.split('#').next().unwrap_or_default();
    if let Some(store) = path.strip_suffix("/src/manual.md") {
        return store.rsplit('/').next();
    }
    let topic = path.strip_suffix(".md")?;
    let topic = topic.rsplit_once("/src/manual/").map_or(topic, |(_, topic)| topic);
    (!topic.contains('/')).then_some(topic)
}

/// The blocks of a page, and where its links lead.
fn read(page: &str) -> (Vec<Block>, Vec<String>) {
    let (mut blocks, mut targets) = (Vec::new(), Vec::new());
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let mut inline = |text: &str| words(text, Style::Plain, &mut targets);
        if line.trim().is_empty() {
            continue;
        }
        blocks.push(if line.starts_with(FENCE) {
            let code = lines.by_ref().take_while(|line| !line.starts_with(FENCE));
            Block::Code(code.flat_map(|line| [line, "\n"]).collect())
        } else if line.starts_with('#') {
            let text = line.trim_start_matches('#');
            let level = u8::try_from(line.len() - text.len()).unwrap_or(u8::MAX).min(3);
            Block::Heading { level, words: inline(text.trim()) }
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(line));
            }
            // The second row only says that the first one has the headings.
            rows.drain(1..rows.len().min(2));
            let row = |row: Vec<String>| row.iter().map(|cell| inline(cell)).collect();
            Block::Table(rows.into_iter().map(row).collect())
        } else {
            let (mark, text) = item(line).unzip();
            let mut text = text.unwrap_or(line).to_owned();
            while let Some(line) = lines.next_if(|line| goes_on(line)) {
                text = format!("{text} {}", line.trim());
            }
            match mark {
                Some(mark) => Block::Item { mark: mark.to_owned(), words: inline(&text) },
                None => Block::Paragraph(inline(&text)),
            }
        });
    }
    (blocks, targets)
}

const FENCE: &str = "```";

/// Whether a line goes on with what stands before it.
fn goes_on(line: &str) -> bool {
    let begins = line.starts_with(FENCE) || line.starts_with(['#', '|']) || item(line).is_some();
    !begins && !line.trim().is_empty()
}

/// The mark of an item, and what it says, if a line begins one.
fn item(line: &str) -> Option<(&str, &str)> {
    let (mark, text) = line.split_once(' ')?;
    // Lists are short: a line that begins with a larger number goes on with a sentence.
    let is_number = |number: &str| matches!(number.as_bytes(), [b'1'..=b'9']);
    let is_mark = mark == "-" || mark.strip_suffix('.').is_some_and(is_number);
    is_mark.then_some((mark, text.trim()))
}

/// The cells of a row. `\|` is no end of a cell.
fn cells(line: &str) -> Vec<String> {
    const BAR: &str = "\u{0}";
    let line = line.trim().trim_matches('|').replace("\\|", BAR);
    line.split('|').map(|cell| cell.trim().replace(BAR, "|")).collect()
}

/// A text in its pieces, each of one style; where its links lead is added to the others.
fn words(text: &str, style: Style, links: &mut Vec<String>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((code, after)) = between(rest, "`", "`") {
            spans.push(Span { text: code.to_owned(), style: Style::Code });
            rest = after;
        } else if let Some((strong, after)) = between(rest, "**", "**") {
            spans.extend(words(strong, Style::Strong, links));
            rest = after;
        } else if let Some((said, (address, after))) =
            between(rest, "[", "](").and_then(|(said, rest)| Some((said, rest.split_once(')')?)))
        {
            spans.extend(words(said, style, links));
            if address.contains("://") {
                spans.push(Span { text: format!(" <{address}>"), style: Style::Plain });
            }
            links.push(address.to_owned());
            rest = after;
        } else {
            let next = rest.char_indices().skip(1).find(|(_, c)| "`*[".contains(*c));
            let (plain, after) = rest.split_at(next.map_or(rest.len(), |(at, _)| at));
            spans.push(Span { text: plain.to_owned(), style });
            rest = after;
        }
    }
    spans
}

/// What stands between these marks, and what stands behind, if a text begins with the first one.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(open)?.split_once(close)
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use super::*;

    #[test]
    fn a_page_is_read_as_blocks() {
        let page = "# Title: it\n\nSay `a` **b**\nc.\n\n## S\n\n- one\n- two\n\n3. x\n\n```sh\n  a\n```\n\n\
                    | h | i |\n|---|---|\n| 1 | `2` |\n";
        let blocks = blocks(page);
        let said: Vec<String> = blocks.iter().map(Block::plain).collect();
        assert_eq!(
            said,
            ["Title: it", "Say a b c.", "S", "one", "two", "x", "  a\n", "h | i\n1 | 2"]
        );
        assert!(matches!(&blocks[3], Block::Item { mark, .. } if mark == "-"));
        assert!(matches!(&blocks[5], Block::Item { mark, .. } if mark == "3."));
        assert!(matches!(&blocks[7], Block::Table(rows) if rows.len() == 2));
    }

    /// What a library that knows all of Markdown makes of a page: each block without style, but for what is code.
    fn by_a_library(page: &str) -> Vec<String> {
        let mut blocks = Vec::new();
        let (mut text, mut address) = (String::new(), None);
        let mut flush = |text: &mut String| {
            blocks.extend(Some(std::mem::take(text)).filter(|text| !text.trim().is_empty()));
        };
        for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
            match event {
                Event::Text(said) => text += &said,
                Event::Code(said) => text.extend(["`", &said, "`"]),
                Event::SoftBreak => text.push(' '),
                Event::Start(Tag::Link { dest_url, .. }) if dest_url.contains("://") => {
                    address = Some(dest_url);
                }
                Event::End(TagEnd::Link) => {
                    text += &address.take().map(|it| format!(" <{it}>")).unwrap_or_default();
                }
                Event::Start(Tag::List(_))
                | Event::End(
                    TagEnd::Heading(_)
                    | TagEnd::Paragraph
                    | TagEnd::Item
                    | TagEnd::CodeBlock
                    | TagEnd::TableCell,
                ) => flush(&mut text),
                Event::Start(
                    Tag::Strong
                    | Tag::Link { .. }
                    | Tag::Item
                    | Tag::Paragraph
                    | Tag::Heading { .. }
                    | Tag::CodeBlock(_)
                    | Tag::Table(_)
                    | Tag::TableHead
                    | Tag::TableRow
                    | Tag::TableCell,
                )
                | Event::End(_) => {}
                other => panic!("pages have no {other:?}"),
            }
        }
        blocks
    }

    /// The same as this module reads it.
    fn by_us(page: &str) -> Vec<String> {
        let said = |words: &[Span]| -> String {
            let of = |span: &Span| match span.style {
                Style::Code => format!("`{}`", span.text),
                _ => span.text.clone(),
            };
            words.iter().map(of).collect()
        };
        let of = |block: Block| match block {
            Block::Heading { words, .. } | Block::Paragraph(words) | Block::Item { words, .. } => {
                vec![said(&words)]
            }
            Block::Code(code) => vec![code],
            Block::Table(rows) => rows.concat().iter().map(|cell| said(cell)).collect(),
        };
        let texts = blocks(page).into_iter().flat_map(of);
        texts.filter(|text| !text.trim().is_empty()).collect()
    }

    #[test]
    fn pages_say_what_a_library_reads_in_them() {
        for topic in super::super::topics() {
            assert_eq!(by_us(topic.text), by_a_library(topic.text), "{}", topic.name);
        }
    }

    #[test]
    fn a_link_shows_its_text_and_an_address_elsewhere() {
        let said = blocks("See [hooks](hooks.md), [it](https://example.com/a).")[0].plain();
        assert_eq!(said, "See hooks, it <https://example.com/a>.");
    }

    #[test]
    fn links_to_pages_are_topics() {
        let page = "[a](hooks.md#signals) [b](../../backends/etcd/src/manual.md) [c](hooks.md) [d](https://x.org/y.md) \
                    [e](../../../src/manual/cron.md)";
        assert_eq!(links(page), ["hooks", "etcd", "cron"]);
        assert_eq!(topic_of("/tests/faults.md"), None);
    }
}
