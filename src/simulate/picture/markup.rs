//! This file makes elements of SVG and HTML. Their tags are balanced, and no text or attribute can break out of its
//! element.

use std::fmt::{self, Display, Write as _};

use crate::report::escape;

/// An element with its content.
#[derive(Debug)]
pub(super) struct Element {
    name: &'static str,
    attributes: String,
    inside: String,
}

impl Element {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, attributes: String::new(), inside: String::new() }
    }

    /// Adds an attribute.
    pub(super) fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        // Writing to a String cannot fail.
        let _ = write!(self.attributes, " {key}=\"{}\"", harmless(&value.into()));
        self
    }

    /// Adds lengths as attributes, in pixels with one digit.
    pub(super) fn sized(self, lengths: &[(&'static str, f64)]) -> Self {
        lengths.iter().fold(self, |it, (key, length)| it.with(key, pixels(*length)))
    }

    /// Appends text to the content.
    pub(super) fn text(mut self, text: &str) -> Self {
        self.inside.push_str(&harmless(text));
        self
    }

    /// Appends an element to the content.
    #[expect(clippy::needless_pass_by_value, reason = "reads like the tree that it makes")]
    pub(super) fn child(mut self, child: Self) -> Self {
        let _ = write!(self.inside, "{child}");
        self
    }

    /// Appends these elements to the content.
    pub(super) fn children(self, children: impl IntoIterator<Item = Self>) -> Self {
        children.into_iter().fold(self, Self::child)
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, attributes, inside } = self;
        // These elements may close themselves if they are empty. HTML requires an end tag for all others.
        let is_void = ["rect", "line", "circle", "path"].contains(name);
        if is_void && inside.is_empty() {
            return writeln!(f, "<{name}{attributes}/>");
        }
        writeln!(f, "<{name}{attributes}>{inside}</{name}>")
    }
}

/// Escapes text so that it is safe in an element or an attribute.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in escape(text).chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            // XML forbids these characters.
            '\u{fffe}' | '\u{ffff}' => shown.push('\u{fffd}'),
            other => shown.push(other),
        }
    }
    shown
}

/// Formats a length with one digit, and drops a digit that is zero.
pub(super) fn pixels(length: f64) -> String {
    let length = format!("{length:.1}");
    let length = length.strip_suffix(".0").unwrap_or(&length);
    if length == "-0" { "0".to_owned() } else { length.to_owned() }
}

/// Converts a count to a length.
pub(super) fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::Element;

    #[test]
    fn nothing_breaks_out() {
        let hostile = "\"'></p><script>&\u{1b}\u{ffff}\u{202e}";
        let shown = Element::new("p").with("title", hostile).text(hostile).to_string();
        let clean = "&quot;&#39;&gt;&lt;/p&gt;&lt;script&gt;&amp;\\u{1b}\u{fffd}\\u{202e}";
        assert_eq!(shown, format!("<p title=\"{clean}\">{clean}</p>\n"));
    }

    #[test]
    fn lengths_are_short() {
        let line = Element::new("line").sized(&[("x1", 1.0), ("x2", 2.25), ("y1", -0.01)]);
        assert_eq!(line.to_string(), "<line x1=\"1\" x2=\"2.2\" y1=\"0\"/>\n");
    }
}
