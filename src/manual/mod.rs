//! The manual: a page for each topic, in Markdown, which `elect help` shows in a terminal, `elect man` as a man page, and
//! the web as it is. The page of a store lies beside the store's code.
//!
//! A page begins with `# Title: summary`. Its links to other pages are relative, as the web wants them.

mod markdown;
mod render;

use std::cmp::Reverse;

use elect_api::StoreKind;

use markdown::{Block, blocks, links, plain};

use crate::stores;

/// A page of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The word that it is asked for by.
    pub name: &'static str,
    /// Its Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($name:literal)*) => {
        [$(Topic { name: $name, text: include_str!(concat!($name, ".md")) }),*]
    };
}

/// The pages in this folder, in the order in which a newcomer reads them.
const PAGES: [Topic; 34] = pages![
    "install" "basics" "flock" "cron" "once" "daemon" "health" "divisions"
    "signals" "hooks" "exit-codes" "environment" "configuration" "operating" "priorities" "status"
    "monitors" "metrics" "systemd" "kubernetes" "kubernetes-service" "sidecar" "library" "guarantee"
    "containment" "leases" "fencing" "doctor" "selftest" "simulate" "security" "credentials"
    "stores" "performance"
];

/// Returns the pages of this build in that order, those of stores last.
pub fn topics() -> impl Iterator<Item = Topic> {
    let of_stores =
        stores::kinds().map(|StoreKind { manual: (name, text), .. }| Topic { name, text });
    PAGES.into_iter().chain(of_stores).filter(|topic| match topic.name {
        "selftest" => cfg!(feature = "selftest"),
        "simulate" => cfg!(feature = "simulate"),
        // The simulated store of tests has none.
        name => !name.is_empty(),
    })
}

/// The page of this name.
pub fn topic(name: &str) -> Option<Topic> {
    topics().find(|topic| topic.name == name)
}

/// Where these words stand in the manual: the page, the heading, and the sentence. Case does not matter, nor, if nothing has
/// them as they are, how they are joined: "timezone" finds "time zone", and "disk full" finds "full disk". All of them have
/// to stand in one section. Sections that are called so come first, then those with the words in their heading, then those
/// that have them most often; those that have them within other words only if no section begins a word with them.
pub fn search(words: &[String]) -> Vec<Place> {
    let found = |words: &[String], form: fn(&str) -> String| {
        let words: Vec<String> = words.iter().map(|word| form(word)).collect();
        let sections = topics().flat_map(Topic::sections);
        let mut places: Vec<_> =
            sections.filter_map(|section| section.find(&words, form)).collect();
        places.sort_by_key(|(rank, _)| Reverse(*rank));
        let begins_a_word = |(rank, _): &(Fit, Place)| rank.2.0 > 0;
        if places.iter().any(begins_a_word) {
            places.retain(begins_a_word);
        }
        places.into_iter().map(|(_, place)| place).collect::<Vec<_>>()
    };
    let apart: Vec<String> = words.iter().flat_map(|it| it.split(' ')).map(String::from).collect();
    let ways =
        [(words, str::to_lowercase as fn(&str) -> String), (words, letters), (&apart, letters)];
    ways.into_iter()
        .map(|(words, form)| found(words, form))
        .find(|it| !it.is_empty())
        .unwrap_or_default()
}

/// A text without what joins and parts its words.
fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Where something stands in the manual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The page.
    pub topic: &'static str,
    /// The heading above it.
    pub heading: String,
    /// The text around it.
    pub excerpt: String,
}

/// What stands below a heading, each block without style.
struct Section {
    topic: &'static str,
    heading: String,
    texts: Vec<String>,
}

/// Whether the heading is just these words, whether it has them all, and how often they come: beginning a word, and
/// anywhere.
type Fit = (bool, bool, (usize, usize));

/// How often `word` begins a word of the text, and how often it comes at all.
fn times(text: &str, word: &str) -> (usize, usize) {
    let begins = |(at, _): &(usize, &str)| !text[..*at].ends_with(char::is_alphanumeric);
    (text.match_indices(word).filter(begins).count(), text.matches(word).count())
}

impl Section {
    /// Where the words are in it, in this form, and how well it fits: whether its heading is or has them, and how
    /// often they come. Those that begin a word count before those within one: "lock" is not meant by "clock".
    fn find(self, words: &[String], form: fn(&str) -> String) -> Option<(Fit, Place)> {
        let has = |text: &str| {
            let text = form(text);
            let fits = words.iter().map(|word| times(&text, word));
            fits.fold((0, 0), |(begin, any), fit| {
                (begin + usize::from(fit.0 > 0), any + usize::from(fit.1 > 0))
            })
        };
        let whole = form(&format!("{} {}", self.heading, self.texts.join(" ")));
        let least =
            words.iter().map(|word| times(&whole, word)).min().filter(|least| least.1 > 0)?;
        let is_it = letters(&self.heading) == letters(&words.concat());
        let rank = (is_it, has(&self.heading).0 == words.len(), least);
        let lines = self.texts.iter().flat_map(|text| text.lines());
        let sentences = lines.flat_map(|text| text.split_inclusive(". ")).enumerate();
        // Of equals the first one.
        let best = sentences.max_by_key(|(number, sentence)| (has(sentence), Reverse(*number)));
        let excerpt = best.map_or("", |(_, sentence)| sentence.trim()).to_owned();
        Some((rank, Place { topic: self.topic, heading: self.heading, excerpt }))
    }
}

impl Topic {
    /// What it is about, for a list of all.
    pub fn summary(self) -> &'static str {
        self.title().1
    }

    /// Its title, and its summary.
    fn title(self) -> (&'static str, &'static str) {
        let line = self.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        line.split_once(": ").unwrap_or((line, ""))
    }

    /// The page for a terminal of so many columns, with styles or without.
    pub fn for_terminal(self, width: usize, has_style: bool) -> String {
        let mut page = render::for_terminal(&self.blocks(), width, has_style);
        let others = self.others();
        if !others.is_empty() {
            let others: Vec<String> =
                others.iter().map(|other| format!("`elect help {other}`")).collect();
            let more = format!("## See also\n\n{}\n", others.join(", "));
            page.push('\n');
            page.push_str(&render::for_terminal(&blocks(&more), width, has_style));
        }
        page
    }

    /// The page as a man page, `elect-NAME(7)`.
    pub fn man_page(self) -> String {
        render::man_page(self.name, self.summary(), &self.blocks(), &self.others())
    }

    /// The blocks, but for its own list of other pages: terminals and man pages are given one of all links.
    fn blocks(self) -> Vec<Block> {
        let mut blocks = blocks(self.text);
        blocks.retain(|block| !matches!(block, Block::Paragraph(words) if plain(words).starts_with("See also:")));
        blocks
    }

    /// The other pages that it links to.
    fn others(self) -> Vec<String> {
        let mut others = links(self.text);
        others.retain(|other| *other != self.name);
        others
    }

    fn sections(self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for block in self.blocks() {
            match (&block, sections.last_mut()) {
                (Block::Heading { words, .. }, _) => {
                    sections.push(Section {
                        topic: self.name,
                        heading: plain(words),
                        texts: Vec::new(),
                    });
                }
                (_, Some(section)) => section.texts.push(block.plain()),
                (_, None) => {}
            }
        }
        sections
    }
}
