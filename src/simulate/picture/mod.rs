//! Pictures of simulated runs: time lines and charts, as text for a terminal, as SVG, and as an HTML page.
//!
//! The functions here turn data into text, without any input or output. The same data give the same bytes on every
//! machine.
//!
//! One place for each output escapes text from users: `canvas` for terminals, `markup` for SVG and HTML. The markup
//! that is always the same is in templates, which `page` fills: `page.html`, `picture.svg` and `patterns.svg`.
//!
//! No drawing library is used. No SVG library also writes HTML, and no chart library leaves the choice of light and
//! dark to the reader.
//!
//! Each picture is a file or folder with its data, its text and its drawing. `axis` has the round ticks that all of
//! them share.

mod axis;
mod canvas;
mod distribution;
mod drawing;
mod frontier;
mod markup;
mod page;
#[cfg(test)]
mod tests;
mod timeline;

pub use canvas::Shape;
pub use distribution::{Distribution, Quantiles};
pub use frontier::{Frontier, Point};
pub use timeline::{Lane, Mark, Role, Span, State, Timeline};

use crate::report::{Table, escape};

/// The result of a simulation, in reading order.
#[derive(Clone, Debug)]
pub struct Report {
    /// The headline.
    pub title: String,
    /// The command line that repeats the simulation exactly, with its seed, quoted for a shell.
    pub command_line: String,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The parts of the report.
    pub sections: Vec<Section>,
}

/// A part of a [`Report`].
#[derive(Clone, Debug)]
pub enum Section {
    /// Sentences; an empty line ends a paragraph.
    Text(String),
    /// A table, with its caption.
    Table(String, Table),
    /// A time line of the run.
    Timeline(Timeline),
    /// A chart of costs against benefits.
    Frontier(Frontier),
    /// The spread of times, in several rows.
    Distribution(Distribution),
}

impl Report {
    /// Returns the report for a terminal. Every line has a newline. Only the command line may be wider than the shape,
    /// so that it can be copied.
    pub fn text(&self, shape: Shape) -> String {
        let mut text = canvas::folded(&self.title, shape.width);
        for section in &self.sections {
            text.push('\n');
            text.push_str(&section.text(shape));
        }
        let repeat = format!("Seed {}. This repeats it exactly:", self.seed);
        text.push('\n');
        text.push_str(&canvas::folded(&repeat, shape.width));
        text.push_str(&escape(&self.command_line));
        text.push('\n');
        text
    }

    /// Returns all pictures of the report, one below the other, as one SVG file. It has no text and no tables.
    pub fn svg(&self) -> String {
        page::svg(self)
    }

    /// Returns the report as one HTML file, which needs no script and no other file.
    pub fn html(&self) -> String {
        page::html(self)
    }
}

impl Section {
    fn text(&self, shape: Shape) -> String {
        match self {
            Self::Text(text) => {
                let lines = text.lines().map(|line| canvas::folded(line, shape.width));
                lines.collect()
            }
            Self::Table(caption, table) => {
                let rows = table.render(Some(shape.width));
                format!("{}{rows}", canvas::folded(caption, shape.width))
            }
            Self::Timeline(it) => it.text(shape),
            Self::Frontier(it) => it.text(shape),
            Self::Distribution(it) => it.text(shape),
        }
    }
}
