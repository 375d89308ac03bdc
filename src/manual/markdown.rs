//! This file reads the Markdown of a manual page as blocks, which the terminal and the man page show.

use std::fmt::Write as _;
use std::mem;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The sign before words in bold: those that the user types or a program prints, and those that are strong. No page
/// has this character.
pub(super) const BOLD: char = '\u{2}';
/// The sign after words in bold.
pub(super) const NORMAL: char = '\u{3}';

/// A block of a page. Its words have the signs around what is bold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The page's title has level 1.
    Heading {
        level: u8,
        words: String,
    },
    Paragraph(String),
    /// An entry of a list, with the dash or number before it.
    Item {
        mark: String,
        words: String,
    },
    /// Lines that are shown unchanged.
    Code(String),
    /// Rows of cells; the first row has the headings.
    Table(Vec<Vec<String>>),
}

impl Block {
    /// Returns the text of the block, without styles.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Heading { words, .. } | Self::Paragraph(words) | Self::Item { words, .. } => {
                plain(words)
            }
            Self::Code(text) => text.clone(),
            Self::Table(rows) => {
                let rows = rows.iter().map(|row| plain(&row.join(" | ")));
                rows.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Returns the words without the signs of their style.
pub(super) fn plain(words: &str) -> String {
    words.replace([BOLD, NORMAL], "")
}

/// Returns whether what follows these words is bold, if what comes before them `is_bold`.
pub(super) fn is_bold_after(words: &str, is_bold: bool) -> bool {
    words.chars().rfind(|c| [BOLD, NORMAL].contains(c)).map_or(is_bold, |last| last == BOLD)
}

/// Returns the words without signs that have nothing between them.
pub(super) fn tidy(words: &str) -> String {
    words.replace(&format!("{BOLD}{NORMAL}"), "")
}

/// Returns the blocks of a page.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    read(page).0
}

/// Returns the topics that a page links to, in order and without repetition.
pub(super) fn links(page: &str) -> Vec<String> {
    let mut topics: Vec<String> = Vec::new();
    for link in read(page).1 {
        let topic = topic_of(&link).map(str::to_owned);
        topics.extend(topic.filter(|topic| !topics.contains(topic)));
    }
    topics
}

/// Returns the topic behind a link to a page: `hooks` for `hooks.md#signals`, and `etcd` for
/// `../../backends/etcd/src/manual.md`. Two stores have pages with names of their own.
pub(super) fn topic_of(link: &str) -> Option<&str> {
    let path = link.split('#').next().unwrap_or_default();
    if let Some(store) = path.strip_suffix("/src/manual.md") {
        return store.rsplit('/').next().map(|store| match store {
            "kubernetes" => "kubernetes-store",
            "objects" => "s3",
            other => other,
        });
    }
    let topic = path.strip_suffix(".md")?;
    let topic = topic.rsplit_once("/src/manual/").map_or(topic, |(_, topic)| topic);
    (!topic.contains('/')).then_some(topic)
}

/// Returns the blocks of a page, and the targets of its links.
fn read(page: &str) -> (Vec<Block>, Vec<String>) {
    let mut reader = Reader::default();
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        reader.take(event);
    }
    (reader.blocks, reader.targets)
}

/// The state of the reader.
#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    targets: Vec<String>,
    /// The words of the present block or cell.
    words: String,
    /// The number of the next item, if the list has numbers.
    number: Option<u64>,
    /// The mark of the present item.
    mark: Option<String>,
    rows: Vec<Vec<String>>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.words.push_str(&text),
            Event::Code(text) => {
                let is_bold = is_bold_after(&self.words, false);
                self.words.extend(is_bold.then_some(NORMAL));
                // Writing to a String cannot fail.
                let _ = write!(self.words, "{BOLD}{text}{NORMAL}");
                self.words.extend(is_bold.then_some(BOLD));
            }
            Event::SoftBreak => self.words.push(' '),
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            other => debug_assert!(false, "pages have no {other:?}"),
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.words.push(BOLD),
            Tag::Link { dest_url, .. } => self.targets.push(dest_url.into_string()),
            Tag::List(first) => self.number = first,
            Tag::Item => {
                let mark = self.number.map_or("-".to_owned(), |number| format!("{number}."));
                self.mark = Some(mark);
                self.number = self.number.map(|number| number + 1);
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        let block = match tag {
            TagEnd::Strong => return self.words.push(NORMAL),
            TagEnd::Link => {
                if let Some(address) = self.targets.last().filter(|target| target.contains("://")) {
                    self.words.extend([" <", address, ">"]);
                }
                return;
            }
            TagEnd::TableCell => {
                let cell = self.take_words();
                return self.rows.last_mut().expect("a row has begun").push(cell);
            }
            TagEnd::Heading(level) => {
                Block::Heading { level: level as u8, words: self.take_words() }
            }
            TagEnd::Paragraph if self.mark.is_none() => Block::Paragraph(self.take_words()),
            TagEnd::Item => {
                let mark = self.mark.take().unwrap_or_default();
                Block::Item { mark, words: self.take_words() }
            }
            TagEnd::CodeBlock => Block::Code(self.take_words()),
            TagEnd::Table => Block::Table(mem::take(&mut self.rows)),
            _ => return,
        };
        self.blocks.push(block);
    }

    fn take_words(&mut self) -> String {
        tidy(&mem::take(&mut self.words))
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
        assert_eq!(
            said,
            ["Title: it", "Say a b c.", "S", "one", "two", "x", "  a\n", "h | i\n1 | 2"]
        );
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
                    [e](../../../src/manual/cron.md) [f](../../objects/src/manual.md)";
        assert_eq!(links(page), ["hooks", "etcd", "cron", "s3"]);
        assert_eq!(topic_of("/tests/faults.md"), None);
    }
}
