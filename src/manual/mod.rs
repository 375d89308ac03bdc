//! The manual has a Markdown page for each topic. `elect help` shows a page in a terminal, `elect man` shows it as a
//! man page, and the web shows it unchanged. The page of a store lies beside the store's code.
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
    /// The word by which users ask for it.
    pub name: &'static str,
    /// The text in Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($name:literal)*) => {
        [$(Topic { name: $name, text: include_str!(concat!($name, ".md")) }),*]
    };
}

/// The pages in this folder, in the reading order for a newcomer.
const PAGES: [Topic; 35] = pages![
    "install" "basics" "flock" "cron" "once" "daemon" "health" "divisions"
    "signals" "hooks" "exit-codes" "environment" "configuration" "operating" "priorities" "status"
    "monitors" "metrics" "systemd" "kubernetes" "kubernetes-service" "sidecar" "library" "guarantee"
    "containment" "leases" "fencing" "doctor" "selftest" "simulate" "security" "credentials"
    "stores" "refusals" "performance"
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

/// Returns the page with this name.
pub fn topic(name: &str) -> Option<Topic> {
    topics().find(|topic| topic.name == name)
}

/// Returns whether the word is the name of the page in the plural, or in the singular.
pub fn is_nearly(word: &str, page: &str) -> bool {
    let word = word.to_lowercase();
    word.strip_suffix('s') == Some(page) || page.strip_suffix('s') == Some(word.as_str())
}

/// Returns the places in the manual that have these words: the page, the heading, and the sentence. All of the words
/// must be in one section. Case does not matter.
///
/// If no section has the words as given, spaces and hyphens are ignored: "timezone" finds "time zone". If that fails
/// too, phrases are split into words: "disk full" finds "full disk".
///
/// The page whose name is the word in the plural, or in the singular, comes first, then sections with exactly this
/// heading. Next are sections with the words in their heading, then sections with the most matches. Matches inside
/// other words count only if no section has a word that begins with them.
pub fn search(words: &[String]) -> Vec<SearchHit> {
    let found = |words: &[String], form: fn(&str) -> String| {
        let words: Vec<String> = words.iter().map(|word| form(word)).collect();
        let sections = topics().flat_map(Topic::sections);
        let mut places: Vec<_> =
            sections.filter_map(|section| section.find(&words, form)).collect();
        places.sort_by_key(|(rank, _)| Reverse(*rank));
        let begins_a_word = |(rank, _): &(Fit, SearchHit)| rank.3.0 > 0;
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

/// Returns the letters and digits of a text, without what joins or separates its words.
fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A place in the manual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The name of the page.
    pub topic: &'static str,
    /// The heading above the place.
    pub heading: String,
    /// The sentence at the place.
    pub excerpt: String,
}

/// The text below a heading, with each block as plain text.
struct Section {
    topic: &'static str,
    heading: String,
    /// Whether the page begins with it.
    is_first: bool,
    texts: Vec<String>,
}

/// The rank of a section. It compares, in this order: whether the section begins the page of this name, whether its
/// heading equals the words, whether its heading has all of them, and how often they occur. The numbers count
/// occurrences at the beginning of a word, and occurrences anywhere.
type Fit = (bool, bool, bool, (usize, usize));

/// Returns how often `word` begins a word of the text, and how often it occurs at all.
fn times(text: &str, word: &str) -> (usize, usize) {
    let begins = |(at, _): &(usize, &str)| !text[..*at].ends_with(char::is_alphanumeric);
    (text.match_indices(word).filter(begins).count(), text.matches(word).count())
}

impl Section {
    /// Returns the best sentence with the words, in this form, and the rank of the section. Occurrences at the
    /// beginning of a word count before occurrences inside one: "lock" should not find "clock".
    fn find(self, words: &[String], form: fn(&str) -> String) -> Option<(Fit, SearchHit)> {
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
        let is_named = self.is_first && is_nearly(&words.concat(), self.topic);
        let rank = (is_named, is_it, has(&self.heading).0 == words.len(), least);
        let lines = self.texts.iter().flat_map(|text| text.lines());
        let sentences = lines.flat_map(|text| text.split_inclusive(". ")).enumerate();
        // Of equal sentences, the first one counts.
        let best = sentences.max_by_key(|(number, sentence)| (has(sentence), Reverse(*number)));
        let excerpt = best.map_or("", |(_, sentence)| sentence.trim()).to_owned();
        Some((rank, SearchHit { topic: self.topic, heading: self.heading, excerpt }))
    }
}

impl Topic {
    /// Returns the summary of the page, for a list of all pages.
    pub fn summary(self) -> &'static str {
        self.title().1
    }

    /// Returns the title and the summary.
    fn title(self) -> (&'static str, &'static str) {
        let line = self.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        line.split_once(": ").unwrap_or((line, ""))
    }

    /// Returns the page for a terminal of this width, with or without styles.
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

    /// Returns the page as a man page, `elect-NAME(7)`.
    pub fn man_page(self) -> String {
        render::man_page(self.name, self.summary(), &self.blocks(), &self.others())
    }

    /// Returns the blocks without the page's own list of other pages. Terminals and man pages get a list of all links
    /// instead.
    fn blocks(self) -> Vec<Block> {
        let mut blocks = blocks(self.text);
        blocks.retain(|block| !matches!(block, Block::Paragraph(words) if plain(words).starts_with("See also:")));
        blocks
    }

    /// Returns the other pages that the page links to.
    fn others(self) -> Vec<String> {
        let mut others = links(self.text);
        others.retain(|other| *other != self.name);
        others
    }

    fn sections(self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for block in self.blocks() {
            let is_first = sections.is_empty();
            match (&block, sections.last_mut()) {
                (Block::Heading { words, .. }, _) => {
                    sections.push(Section {
                        topic: self.name,
                        heading: plain(words),
                        is_first,
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
