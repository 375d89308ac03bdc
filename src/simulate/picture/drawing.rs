//! This file has the parts that all drawings share: their size, their text, and their place in a file.

use super::canvas::fold;
use super::markup::{Element, count, pixels};

/// The size of drawings, in pixels. At their width, text of 13 pixels is easy to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) class: &'static str,
    pub(super) width: f64,
    /// The number of characters at which lines of text are folded.
    letters: usize,
    /// The most characters of a label at the left.
    pub(super) label: usize,
    /// The approximate number of ticks on an axis of times.
    pub(super) ticks: usize,
    pub(super) is_narrow: bool,
}

/// The size for files, paper, and screens of at least the width that `page.css` sets.
pub(super) const WIDE: Size = Size {
    class: "picture wide",
    width: 800.0,
    letters: 100,
    label: 24,
    ticks: 8,
    is_narrow: false,
};
/// The size for narrower screens.
pub(super) const NARROW: Size = Size {
    class: "picture narrow",
    width: 360.0,
    letters: 48,
    label: 10,
    ticks: 4,
    is_narrow: true,
};
/// The margin at each side.
pub(super) const PAGE: f64 = 14.0;
/// The distance between two lines of text.
pub(super) const LINE: f64 = 18.0;
/// The width of a character, with room to spare.
pub(super) const LETTER: f64 = 7.2;

/// The style sheet of all drawings.
pub(super) const STYLE: &str = include_str!("picture.css");

/// A drawing: the elements of one picture.
#[derive(Debug)]
pub(super) struct Drawing {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) height: f64,
    size: Size,
    elements: Vec<Element>,
}

impl Drawing {
    pub(super) fn new(title: &str, description: String, size: Size) -> Self {
        Self { title: title.to_owned(), description, height: 0.0, size, elements: Vec::new() }
    }

    pub(super) fn extend(&mut self, elements: impl IntoIterator<Item = Element>) {
        self.elements.extend(elements);
    }

    /// Returns the elements of the drawing.
    pub(super) fn elements(self) -> Vec<Element> {
        self.elements
    }

    /// Returns the drawing as a group within another one, `top` pixels from its top.
    pub(super) fn within(self, top: f64) -> Element {
        let group = Element::new("g").with("transform", format!("translate(0 {})", pixels(top)));
        self.fill(group)
    }

    /// Returns the drawing for a page that has the styles and patterns.
    pub(super) fn inline(self) -> Element {
        let size = format!("0 0 {} {}", pixels(self.size.width), pixels(self.height));
        let class = self.size.class;
        self.fill(Element::new("svg").with("class", class).with("viewBox", size))
    }

    fn fill(self, into: Element) -> Element {
        let into = into.with("role", "img").child(Element::new("title").text(&self.title));
        let into = into.child(Element::new("desc").text(&self.description));
        into.children(self.elements)
    }
}

/// Returns a line between two points, each of them given as x and y.
pub(super) fn line(class: &'static str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> Element {
    let line = Element::new("line").with("class", class);
    line.sized(&[("x1", x1), ("x2", x2), ("y1", y1), ("y2", y2)])
}

/// Returns a rectangle with this corner, width and height.
pub(super) fn rect(class: &'static str, [x, y]: [f64; 2], width: f64, height: f64) -> Element {
    let rect = Element::new("rect").with("class", class);
    rect.sized(&[("x", x), ("y", y), ("width", width), ("height", height)])
}

/// Returns a circle around a point.
pub(super) fn circle(class: &'static str, [x, y]: [f64; 2], radius: f64) -> Element {
    Element::new("circle").with("class", class).sized(&[("cx", x), ("cy", y), ("r", radius)])
}

/// Returns a group with a title, which a browser shows for its parts.
pub(super) fn titled(title: &str) -> Element {
    Element::new("g").child(Element::new("title").text(title))
}

/// Returns a line of text.
pub(super) fn words(class: &str, x: f64, y: f64, text: &str) -> Element {
    let element = Element::new("text");
    let element = if class.is_empty() { element } else { element.with("class", class) };
    element.sized(&[("x", x), ("y", y)]).text(text)
}

/// Adds folded text below the line at this height. Returns the height of the last line.
pub(super) fn lines(drawing: &mut Drawing, class: &str, text: &str, above: f64) -> f64 {
    let mut y = above;
    for line in fold(text, drawing.size.letters, 0) {
        y += LINE;
        drawing.extend([words(class, PAGE, y, &line)]);
    }
    y
}

/// Returns the width that labels of this length take at the left.
pub(super) fn label_width(letters: usize, size: Size) -> f64 {
    PAGE + LETTER * count(letters.min(size.label)) + 10.0
}

/// Returns a tick of an axis at `foot`: a line up to `top`, and a label that stays within the drawing.
pub(super) fn tick(x: f64, (top, foot): (f64, f64), label: &str, size: Size) -> [Element; 2] {
    let middle = x.min(size.width - LETTER * count(label.len()) / 2.0);
    [line("grid", [x, top], [x, foot + 4.0]), words("quiet middle", middle, foot + LINE, label)]
}
