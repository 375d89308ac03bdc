//! Cleans texts that come from a store. Every program with write access to a store may write anything, of any length.
//!
//! All texts are cleaned in one way, where they are read. Characters that a terminal, a log, an environment or a line
//! of text would interpret are escaped. A text that is too long is cut, with a mark at its end. A clean text stays as
//! it is, so that a clean id equals itself after any number of round trips. [`crate::Entry::new`] cleans the texts of
//! a survey, and [`crate::Error`] the texts of a failure. The engine's own documents name [`name`] or [`words`] to
//! serde.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// The greatest length of an id, a host or another name, in characters.
pub const NAME: usize = 256;

/// The greatest length of a reason or a command, in characters.
pub const WORDS: usize = 1024;

/// The mark at the end of a text that was cut.
const MARK: char = '\u{2026}';

/// The text with all interpreted characters escaped, and cut to at most `most` characters.
pub fn clean(text: String, most: usize) -> String {
    // A text with no more bytes than that has no more characters either.
    if text.len() <= most && !text.contains(is_obeyed) {
        return text;
    }
    // The rest would be cut off in any case.
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

/// The text with every character escaped that a terminal would interpret. No character of the result moves a cursor,
/// starts a line, ends a variable or reverses the order of letters.
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

/// Returns whether a terminal interprets this character instead of showing it.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || turns_text(c)
}

/// Returns whether this is a character without width that breaks lines or changes the direction of writing.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Deserializes names from a store: a text, an optional text, or a map whose keys are texts.
///
/// # Errors
/// The errors of serde.
pub fn name<'de, D: Deserializer<'de>, T: Texts + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(from)?.clean(NAME))
}

/// Deserializes longer texts of people or programs, cut at [`WORDS`] characters.
///
/// # Errors
/// The errors of serde.
pub fn words<'de, D: Deserializer<'de>, T: Texts + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(from)?.clean(WORDS))
}

/// A value with texts in it that come from a store.
pub trait Texts {
    /// The same value with each text [clean](clean()), and cut to at most `most` characters.
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

/// Cleans the keys only.
impl<T> Texts for BTreeMap<String, T> {
    fn clean(self, most: usize) -> Self {
        self.into_iter().map(|(key, value)| (clean(key, most), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escape("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(escape("a\nb\r\tc\0d"), "a\\nb\\r\\tc\\u{0}d");
        assert_eq!(escape("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn ordinary_text_stays_unchanged() {
        let text = "web-1 \"käse\" 日本 \\o/";
        assert_eq!(escape(text), text);
        assert_eq!(clean(text.to_owned(), NAME), text);
        let longest = "\u{FC}".repeat(NAME);
        assert_eq!(clean(longest.clone(), NAME), longest);
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_with_a_mark() {
        for long in ["x".repeat(NAME + 1), "\u{FC}".repeat(1 << 20), "\0".repeat(NAME)] {
            let cut = clean(long, NAME);
            assert_eq!(cut.chars().count(), NAME);
            assert!(cut.ends_with(MARK));
        }
    }

    #[test]
    fn a_cleaned_text_stays_unchanged_when_cleaned_again() {
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
