//! Texts that come from a store: whoever may write there may write anything, of any length.
//!
//! They are cleaned where they are read, in one way: what a terminal, a log, an environment or a line of text would
//! obey instead of showing is written out, and what is too long is cut, with a mark. What is clean already stays as it
//! is, so that a clean id equals itself after any number of round trips. [`crate::Entry::new`] cleans what a survey
//! shows, and [`crate::Error`] what went wrong; documents of the engine's own name [`name`] or [`words`] to serde.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// How many characters an id, a host or another name may have.
pub const NAME: usize = 256;

/// How many characters a reason, or a command, may have.
pub const WORDS: usize = 1024;

/// What shows that a text was cut.
const MARK: char = '\u{2026}';

/// The text with everything written out that is obeyed instead of shown, and of at most so many characters.
pub fn clean(text: String, most: usize) -> String {
    // What has no more bytes than that has no more characters.
    if text.len() <= most && !text.contains(is_obeyed) {
        return text;
    }
    // What is beyond that is cut off in any case.
    let beginning =
        text.char_indices().nth(most + 1).map_or(text.as_str(), |(end, _)| &text[..end]);
    let mut clean = escape(beginning);
    if let Some((end, _)) = clean.char_indices().nth(most) {
        clean.truncate(end);
        clean.pop();
        clean.push(MARK);
    }
    clean
}

/// The text with everything written out that a terminal would obey instead of showing: none of it may move a cursor,
/// start a line, end a variable or turn the order of letters round.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a terminal obeys this character instead of showing it.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || turns_text(c)
}

/// Characters of no width that break lines or change the direction of writing.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// What serde reads of a store's names: a text, one that may be missing, or what is kept under texts.
///
/// # Errors
/// As serde has it.
pub fn name<'de, D: Deserializer<'de>, T: Texts + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(from)?.clean(NAME))
}

/// The same of what people or programs say at length.
///
/// # Errors
/// As serde has it.
pub fn words<'de, D: Deserializer<'de>, T: Texts + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(from)?.clean(WORDS))
}

/// What has texts in it that come from a store.
pub trait Texts {
    /// The same with each of them [clean](clean()), and of at most so many characters.
    #[must_use]
    fn clean(self, most: usize) -> Self;
}

impl Texts for String {
    fn clean(self, most: usize) -> Self {
        clean(self, most)
    }
}

impl<T: Texts> Texts for Option<T> {
    fn clean(self, most: usize) -> Self {
        self.map(|text| text.clean(most))
    }
}

/// Its keys are.
impl<T> Texts for BTreeMap<String, T> {
    fn clean(self, most: usize) -> Self {
        self.into_iter().map(|(key, value)| (clean(key, most), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_obeyed_is_written_out() {
        assert_eq!(escape("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(escape("a\nb\r\tc\0d"), "a\\nb\\r\\tc\\u{0}d");
        assert_eq!(escape("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn what_people_write_stays() {
        let text = "web-1 \"käse\" 日本 \\o/";
        assert_eq!(escape(text), text);
        assert_eq!(clean(text.to_owned(), NAME), text);
        let longest = "\u{FC}".repeat(NAME);
        assert_eq!(clean(longest.clone(), NAME), longest);
    }

    #[test]
    fn what_is_too_long_is_cut_with_a_mark() {
        for long in ["x".repeat(NAME + 1), "\u{FC}".repeat(1 << 20), "\0".repeat(NAME)] {
            let cut = clean(long, NAME);
            assert_eq!(cut.chars().count(), NAME);
            assert!(cut.ends_with(MARK));
        }
    }

    #[test]
    fn what_is_clean_stays_as_it_is() {
        let mut chance = fastrand::Rng::with_seed(7);
        for _ in 0..1000 {
            let length = chance.usize(..40);
            let text: String = (0..length)
                .map(|_| if chance.bool() { chance.char('\0'..='\u{a0}') } else { chance.char(..) })
                .collect();
            let most = chance.usize(1..60);
            let once = clean(text, most);
            assert!(once.chars().count() <= most && !once.contains(is_obeyed), "{once:?}");
            assert_eq!(clean(once.clone(), most), once);
        }
    }
}
