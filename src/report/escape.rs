/// The text with everything written out that a terminal would obey instead of showing.
///
/// Ids and commands come from other machines: none of them may move our cursor, start a line or
/// turn the order of letters round.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || turns_text(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Characters of no width that break lines or change the direction of writing.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(escape("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(escape("a\nb\r\tc"), "a\\nb\\r\\tc");
        assert_eq!(escape("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn what_people_write_stays() {
        assert_eq!(escape("web-1 \"käse\" 日本 \\o/"), "web-1 \"käse\" 日本 \\o/");
    }
}
