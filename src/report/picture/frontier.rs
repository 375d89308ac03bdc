//! What a choice costs, against what it gives: a point for each choice.

use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};

use super::axis::{Decades, Times, brief};
use super::canvas::{Canvas, PLAIN, Shape, cell, cut};
use super::drawing::{Drawing, LETTER, LINE, PAGE, WIDTH, lines, words};
use super::markup::{Element, count, pixels};

/// The lines of the field of points in a terminal.
const LINES: usize = 12;
/// The height of the field in a drawing.
const HEIGHT: f64 = 300.0;
/// The most characters of a label that are shown.
const LABEL: usize = 20;

/// A frontier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontier {
    /// What is chosen.
    pub title: String,
    /// What the times are.
    pub x_title: String,
    /// What the rates are, and per which time.
    pub y_title: String,
    /// The choices.
    pub points: Vec<Point>,
}

/// One choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The time that it gives, such as that of a fail-over.
    pub x: Duration,
    /// The rate that it costs. One that is not finite is not drawn.
    pub y: f64,
    /// The choice, such as a TTL.
    pub label: String,
    /// Whether it is the one to take.
    pub is_advised: bool,
}

impl Frontier {
    /// The points that can be drawn, by their times.
    fn seen(&self) -> Vec<&Point> {
        let mut seen: Vec<_> = self.points.iter().filter(|point| point.y.is_finite()).collect();
        seen.sort_by_key(|point| point.x);
        seen
    }

    fn axes(&self, most: usize) -> (Times, Decades) {
        let seen = self.seen();
        let times = Times::new(seen.iter().map(|point| point.x), most);
        (times, Decades::new(seen.iter().map(|point| point.y)))
    }

    /// What both axes are.
    fn legend(&self, times: &Times) -> String {
        let scale = if times.is_log { " (logarithmic)" } else { "" };
        format!("Across: {}{scale}. Up: {} (logarithmic).", self.x_title, self.y_title)
    }

    /// The frontier as text; every line ends, and none is wider than the shape.
    pub fn text(&self, shape: Shape) -> String {
        let mut canvas = Canvas::new(shape);
        canvas.fold(&self.title, 0);
        if self.seen().is_empty() {
            canvas.fold("(no points)", 0);
            return canvas.render();
        }
        let (times, rates) = self.axes(shape.width.saturating_sub(10) / 8);
        let ticks = rates.ticks(6);
        let gutter = ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(0) + 2;
        // A label at the right has room.
        let columns = shape.width.saturating_sub(gutter).max(1);
        let top = canvas.line();
        (1..LINES).for_each(|_| {
            canvas.line();
        });
        let row = |value: f64| top + LINES - 1 - cell(rates.at(value), LINES);
        let (bar, tick) = if shape.is_unicode { ("│", "┤") } else { ("|", "+") };
        (top..top + LINES).for_each(|row| canvas.put(row, gutter - 1, bar, PLAIN));
        for (value, label) in &ticks {
            canvas.put(row(*value), gutter - 2 - label.len(), label, PLAIN);
            canvas.put(row(*value), gutter - 1, tick, PLAIN);
        }
        self.put_points(&mut canvas, shape, |point| {
            (row(point.y), gutter + cell(times.at(point.x), columns))
        });
        put_times(&mut canvas, &times, gutter, columns, shape);
        canvas.fold(&self.legend(&times), 0);
        if let Some(advised) = self.points.iter().find(|point| point.is_advised) {
            let sign = sign(true, shape);
            canvas.fold(&format!("{sign} advised: {}", advised.label), 0);
        }
        canvas.render()
    }

    fn put_points(
        &self,
        canvas: &mut Canvas,
        shape: Shape,
        place: impl Fn(&Point) -> (usize, usize),
    ) {
        let mut seen = self.seen();
        // What is advised has its sign and its label whatever else is there.
        seen.sort_by_key(|point| point.is_advised);
        for point in &seen {
            let (row, column) = place(point);
            canvas.put(row, column, sign(point.is_advised, shape), style(point.is_advised));
        }
        for point in seen.iter().rev() {
            let (row, column) = place(point);
            let label = cut(&point.label, LABEL, shape.is_unicode);
            let length = label.chars().count();
            let right = Some(column + 2).filter(|at| canvas.is_free(row, at - 1, length + 2));
            let left = column.checked_sub(length + 1);
            let left = left.filter(|at| canvas.is_free(row, at.saturating_sub(1), length + 2));
            let edge = Some(column + 2)
                .filter(|at| at + length == shape.width && canvas.is_free(row, at - 1, length + 1));
            if let Some(at) = right.or(edge).or(left) {
                canvas.put(row, at, &label, style(point.is_advised));
            }
        }
    }

    /// The frontier as a drawing.
    pub(super) fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, self.description());
        let (times, rates) = self.axes(8);
        let ticks = rates.ticks(8);
        let widest = ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
        let left = PAGE + LETTER * count(widest) + 12.0;
        let (right, top) = (WIDTH - PAGE - 60.0, LINE + 12.0);
        let x = |time| left + (right - left) * times.at(time);
        let y = |value| top + HEIGHT * (1.0 - rates.at(value));
        drawing.extend([words(
            "quiet",
            PAGE,
            LINE - 4.0,
            &format!("{} (logarithmic)", self.y_title),
        )]);
        for (value, label) in &ticks {
            let line = Element::new("line").with("class", "grid");
            drawing.extend([
                line.sized(&[("x1", left), ("x2", right), ("y1", y(*value)), ("y2", y(*value))]),
                words("quiet end", left - 8.0, y(*value) + 4.5, label),
            ]);
        }
        for time in &times.ticks {
            let line = Element::new("line").with("class", "grid");
            let foot = top + HEIGHT;
            drawing.extend([
                line.sized(&[("x1", x(*time)), ("x2", x(*time)), ("y1", top), ("y2", foot + 4.0)]),
                words("quiet middle", x(*time), foot + LINE, &brief(*time)),
            ]);
        }
        let seen = self.seen();
        let path =
            seen.iter().map(|point| format!("{} {}", pixels(x(point.x)), pixels(y(point.y))));
        let path = path.collect::<Vec<_>>().join("L");
        if seen.len() > 1 {
            drawing.extend([Element::new("path")
                .with("class", "curve")
                .with("d", format!("M{path}"))]);
        }
        drawing.extend(seen.iter().map(|point| draw(point, x(point.x), y(point.y), &self.x_title)));
        let scale = if times.is_log { " (logarithmic)" } else { "" };
        let foot = top + HEIGHT + 2.0 * LINE;
        let across = format!("{}{scale}", self.x_title);
        drawing.extend([words("quiet end", right, foot, &across)]);
        drawing.height = match self.points.iter().find(|point| point.is_advised) {
            Some(point) => {
                lines(&mut drawing, "strong", &format!("Advised: {}", point.label), foot - LINE)
            }
            None => foot,
        } + 8.0;
        drawing
    }

    fn description(&self) -> String {
        let mut said = vec![format!("{} across, {} up.", self.x_title, self.y_title)];
        said.extend(self.seen().iter().map(|point| {
            let advised = if point.is_advised { " (advised)" } else { "" };
            format!("{}{advised}: {}, {}.", point.label, brief(point.x), rate(point.y))
        }));
        said.join(" ")
    }
}

/// A rate in a few digits.
fn rate(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 0.1 || value == 0.0 => pixels(value),
        _ => format!("{value:.1e}"),
    }
}

const fn sign(is_advised: bool, shape: Shape) -> &'static str {
    match (is_advised, shape.is_unicode) {
        (true, true) => "◆",
        (true, false) => "@",
        (false, true) => "○",
        (false, false) => "o",
    }
}

fn style(is_advised: bool) -> Style {
    if is_advised { AnsiColor::Green.on_default().bold() } else { PLAIN }
}

/// A line with the ticks of times, and one with their labels.
pub(super) fn put_times(
    canvas: &mut Canvas,
    times: &Times,
    gutter: usize,
    columns: usize,
    shape: Shape,
) {
    let (corner, line, tick) =
        if shape.is_unicode { ("└", "─", "┴") } else { ("+", "-", "+") };
    let [row, labels] = [canvas.line(), canvas.line()];
    canvas.put(row, gutter - 1, corner, PLAIN);
    canvas.put(row, gutter, &line.repeat(columns), PLAIN);
    let mut free_from = 0;
    for time in &times.ticks {
        let label = brief(*time);
        let column = gutter + cell(times.at(*time), columns);
        canvas.put(row, column, tick, PLAIN);
        let at = column.min((gutter + columns).saturating_sub(label.len()));
        if at >= free_from {
            canvas.put(labels, at, &label, PLAIN);
            free_from = at + label.len() + 1;
        }
    }
}

fn draw(point: &Point, x: f64, y: f64, x_title: &str) -> Element {
    let what = format!("{}: {} {}, rate {}", point.label, x_title, brief(point.x), rate(point.y));
    let group = Element::new("g").child(Element::new("title").text(&what));
    let label = cut(&point.label, LABEL, true);
    if point.is_advised {
        let at = |dx: f64, dy: f64| format!("{} {}", pixels(x + dx), pixels(y + dy));
        let corners = [at(0.0, -9.0), at(9.0, 0.0), at(0.0, 9.0), at(-9.0, 0.0)].join("L");
        let diamond =
            Element::new("path").with("class", "advised").with("d", format!("M{corners}Z"));
        return group.child(diamond).child(words("strong", x + 13.0, y - 7.0, &label));
    }
    let disc = Element::new("circle").with("class", "point");
    let disc = disc.sized(&[("cx", x), ("cy", y), ("r", 5.0)]);
    group.child(disc).child(words("", x + 9.0, y - 7.0, &label))
}
