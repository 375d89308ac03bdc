//! The Markdown of the manual's pages, read as the blocks that a terminal and a man page show.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

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
                    cells.join(" ")
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
    let mut reader = Reader::default();
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        reader.read(event);
    }
    reader.blocks
}

/// The topics that a page links to, in order, each once.
pub(super) fn links(page: &str) -> Vec<String> {
    let mut topics = Vec::new();
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        let topic = topic_of(&dest_url).map(str::to_owned);
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

#[derive(Debug, Default)]
struct Reader {
    blocks: Vec<Block>,
    /// The words of the block, or the cell, that has begun.
    words: Vec<Span>,
    style: Style,
    /// Where the link leads in which we are, if that is worth to be shown.
    address: Option<String>,
    /// The number of the next item of each list in which we are; `None` where items have dashes.
    lists: Vec<Option<u64>>,
    mark: Option<String>,
    is_code: bool,
    row: Vec<Vec<Span>>,
    rows: Vec<Vec<Vec<Span>>>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.say(&text, self.style),
            Event::Code(text) => self.say(&text, Style::Code),
            Event::SoftBreak | Event::HardBreak => self.say(" ", self.style),
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.style = Style::Strong,
            Tag::CodeBlock(_) => self.is_code = true,
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => self.mark = Some(self.next_mark()),
            Tag::Link { dest_url, .. } if dest_url.contains("://") => {
                self.address = Some(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.style = Style::Plain,
            TagEnd::Heading(level) => {
                let words = std::mem::take(&mut self.words);
                self.blocks.push(Block::Heading { level: number(level), words });
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                let text = plain(&std::mem::take(&mut self.words));
                self.is_code = false;
                self.blocks.push(Block::Code(text));
            }
            TagEnd::TableCell => self.row.push(std::mem::take(&mut self.words)),
            TagEnd::TableHead | TagEnd::TableRow => self.rows.push(std::mem::take(&mut self.row)),
            TagEnd::Table => self.blocks.push(Block::Table(std::mem::take(&mut self.rows))),
            TagEnd::Link => {
                if let Some(address) = self.address.take() {
                    self.say(&format!(" <{address}>"), Style::Plain);
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str, style: Style) {
        self.words.push(Span { text: text.to_owned(), style });
    }

    /// Ends a paragraph, or what an item says.
    fn flush(&mut self) {
        let words = std::mem::take(&mut self.words);
        let mark = self.mark.take();
        if words.is_empty() {
            return;
        }
        self.blocks.push(match mark {
            Some(mark) => Block::Item { mark, words },
            None => Block::Paragraph(words),
        });
    }

    fn next_mark(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(next)) => {
                *next += 1;
                format!("{}.", *next - 1)
            }
            _ => "-".to_owned(),
        }
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_blocks() {
        let page = "# Title: it\n\nSay `a` **b**\nc.\n\n## S\n\n- one\n- two\n\n3. x\n\n```sh\n  a\n```\n\n\
                    | h | i |\n|---|---|\n| 1 | `2` |\n";
        let blocks = blocks(page);
        let said: Vec<String> = blocks.iter().map(Block::plain).collect();
        assert_eq!(said, ["Title: it", "Say a b c.", "S", "one", "two", "x", "  a\n", "h i\n1 2"]);
        assert!(matches!(&blocks[3], Block::Item { mark, .. } if mark == "-"));
        assert!(matches!(&blocks[5], Block::Item { mark, .. } if mark == "3."));
        assert!(matches!(&blocks[7], Block::Table(rows) if rows.len() == 2));
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
