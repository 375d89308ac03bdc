//! Pictures of what was simulated: time lines and charts, as text for a terminal, as SVG, and as a page of HTML.
//!
//! Nothing here reads or writes anything: functions make text of data. The same data give the same bytes on every
//! machine. What comes from users is made harmless in one place for each output: `canvas` for terminals, `markup` for
//! SVG and HTML. No library draws these: of those for SVG none writes HTML too, and none that draws charts can leave
//! light and dark to the reader.
//!
//! Each picture is a file or folder with its data, its text and its drawing. `axis` has the round ticks that all share.

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

/// What a simulation has to show, in the order in which it is read.
#[derive(Clone, Debug)]
pub struct Report {
    /// The headline.
    pub title: String,
    /// The command line that repeats it exactly, with its seed, quoted for a shell.
    pub command_line: String,
    /// The seed of the random numbers.
    pub seed: u64,
    /// What it is made of.
    pub sections: Vec<Section>,
}

/// A part of a [`Report`].
#[derive(Clone, Debug)]
pub enum Section {
    /// Sentences; an empty line ends a paragraph.
    Text(String),
    /// A table, with the line above it.
    Table(String, Table),
    /// Who did what when.
    Timeline(Timeline),
    /// What a choice costs, against what it gives.
    Frontier(Frontier),
    /// How times spread, for each of several.
    Distribution(Distribution),
}

impl Report {
    /// The report for a terminal; every line ends. Only the command line may be wider than the shape, so that it can
    /// be copied.
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

    /// All pictures of the report, one below the other, as one file of SVG. Text and tables are not in it.
    pub fn svg(&self) -> String {
        page::svg(self)
    }

    /// The report as one file of HTML, which needs no script and no other file.
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
