//! This file shows how times spread. Each row has a box from the 5th to the 95th percentile, a line on to the 99th, and
//! a mark for the longest time.

use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};

use super::axis::{Times, brief};
use super::canvas::{Canvas, PLAIN, Shape, cell, cut};
use super::drawing::{
    Drawing, LETTER, LINE, PAGE, Size, circle, label_width, line, lines, rect, tick, titled, words,
};
use super::frontier::put_times;
use super::markup::{Element, count};
use crate::simulate::report::Percentiles;

/// The distance between two rows of a drawing, and the height of a box.
const ROW: f64 = 30.0;
const BOX: f64 = 16.0;

/// Distributions on one axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// The meaning of the times.
    pub title: String,
    /// The rows.
    pub rows: Vec<Quantiles>,
}

/// The spread of the times of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// The name of the row.
    pub label: String,
    /// The times.
    pub times: Percentiles,
}

impl Quantiles {
    fn words(&self) -> String {
        let [p5, median, p95, p99, max] = self.times.ranks().map(brief);
        format!(
            "{}: 5th percentile {p5}, median {median}, 95th {p95}, 99th {p99}, longest {max}",
            self.label
        )
    }

    fn figures(&self) -> String {
        let [_, median, _, p99, max] = self.times.ranks().map(brief);
        format!("{median} | {p99} | {max}")
    }
}

impl Distribution {
    fn times(&self, most: usize) -> Times {
        let all: Vec<Duration> = self.rows.iter().flat_map(|row| row.times.ranks()).collect();
        Times::new(all.into_iter(), most)
    }

    /// Returns the distributions as text. Every line has a newline, and none is wider than the shape.
    pub fn text(&self, shape: Shape) -> String {
        let mut canvas = Canvas::new(shape);
        canvas.fold(&self.title, 0);
        let longest = self.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let gutter = longest.min(shape.width / 4) + 2;
        let columns = shape.width.saturating_sub(gutter).max(1);
        let times = self.times(columns / 8);
        for row in &self.rows {
            let line = canvas.line();
            let label = cut(&row.label, gutter - 2, shape.is_unicode);
            canvas.put(line, 0, &label, PLAIN);
            put_row(&mut canvas, line, row, |time| gutter + cell(times.at(time), columns), shape);
        }
        put_times(&mut canvas, &times, gutter, columns, shape);
        let scale = if times.is_log { "Logarithmic. " } else { "" };
        let [from, bar, median, on, max] = signs(shape);
        canvas.fold(
            &format!(
                "{scale}{from}{bar} 5th to 95th percentile   {median} median   {on} to the 99th   \
                 {max} longest"
            ),
            0,
        );
        canvas.render()
    }

    /// Returns the distributions as a drawing.
    pub(super) fn drawing(&self, size: Size) -> Drawing {
        let mut drawing = Drawing::new(&self.title, self.description(), size);
        let letters = self.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let figures = self.rows.iter().map(|row| row.figures().len()).max().unwrap_or(0);
        let heading = "median | 99th | longest";
        let (mut left, mut right) = (label_width(letters, size), size.width - PAGE);
        let (mut class, mut label, mut line) = ("end", left - 8.0, 0.0);
        if size.is_narrow {
            // On a narrow screen the text of a row stands above it.
            (left, class, label, line) = (PAGE, "", PAGE, LINE);
        } else {
            right -= LETTER * count(figures.max(heading.len())) + 18.0;
        }
        let times = self.times(size.ticks - 1);
        let x = |time| left + (right - left) * times.at(time);
        let top = LINE + 6.0;
        let foot = top + (ROW + line) * count(self.rows.len());
        for time in &times.ticks {
            drawing.extend(tick(x(*time), (top, foot), &brief(*time), size));
        }
        let edge = size.width - PAGE;
        drawing.extend([words("quiet end", edge, LINE - 4.0, heading)]);
        for (number, row) in self.rows.iter().enumerate() {
            let middle = top + (ROW + line) * count(number) + line + ROW / 2.0;
            let said = middle + 4.5 - if size.is_narrow { ROW / 2.0 + 6.0 } else { 0.0 };
            drawing.extend([
                words(class, label, said, &cut(&row.label, 24, true)),
                draw_row(row, middle, x),
                words("end", edge, said, &row.figures()),
            ]);
        }
        let scale = if times.is_log { "The axis is logarithmic. " } else { "" };
        let legend = format!(
            "{scale}Box: 5th to 95th percentile, with the median. Line: to the 99th. Circle: the longest."
        );
        drawing.height = lines(&mut drawing, "quiet", &legend, foot + LINE + 6.0) + 8.0;
        drawing
    }

    fn description(&self) -> String {
        let rows = self.rows.iter().map(|row| row.words() + ".");
        rows.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the signs for the left end of a box, its filling, the median, the line, and the longest time.
const fn signs(shape: Shape) -> [&'static str; 5] {
    if shape.is_unicode { ["▐", "▒", "┃", "─", "○"] } else { ["[", "=", "M", "-", "o"] }
}

fn put_row(
    canvas: &mut Canvas,
    line: usize,
    row: &Quantiles,
    column: impl Fn(Duration) -> usize,
    shape: Shape,
) {
    let [from, bar, median, on, max] = signs(shape);
    let (right, cap) = if shape.is_unicode { ("▌", "┤") } else { ("]", "|") };
    let [p5, middle, p95, p99, longest] = row.times.ranks().map(column);
    let blue = AnsiColor::Cyan.on_default();
    canvas.put(line, p95, &on.repeat(p99.saturating_sub(p95)), blue);
    if p99 > p95 {
        canvas.put(line, p99, cap, blue);
    }
    canvas.put(line, p5, &bar.repeat(p95.saturating_sub(p5)), blue);
    if p95 > p5 {
        canvas.put(line, p5, from, blue);
        canvas.put(line, p95, right, blue);
    }
    if longest > p99 {
        canvas.put(line, longest, max, AnsiColor::Red.on_default());
    }
    canvas.put(line, middle, median, Style::new().bold());
}

fn draw_row(row: &Quantiles, middle: f64, x: impl Fn(Duration) -> f64) -> Element {
    let [left, median, right, end, max] = row.times.ranks().map(x);
    let half = BOX / 2.0;
    titled(&row.words()).children([
        line("whisker", [right, middle], [end, middle]),
        rect("box", [left, middle - half], (right - left).max(1.0), BOX),
        line("whisker", [end, middle - 5.0], [end, middle + 5.0]),
        line("median", [median, middle - half - 2.0], [median, middle + half + 2.0]),
        circle("greatest", [max, middle], 4.0),
    ])
}
