//! This file shows the cost of choices against their benefit, with a point for each choice.

use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};

use super::axis::{Decades, Times, brief};
use super::canvas::{Canvas, PLAIN, Shape, cell, cut};
use super::drawing::{Drawing, LETTER, LINE, PAGE, Size, circle, line, lines, tick, titled, words};
use super::markup::{Element, count, pixels};

/// The number of lines in a terminal that the points take.
const LINES: usize = 12;
/// The height of the area with the points in a drawing.
const HEIGHT: f64 = 300.0;
/// The most characters of a label.
const LABEL: usize = 20;

/// A chart of choices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontier {
    /// The subject of the choice.
    pub title: String,
    /// The meaning of the times.
    pub x_title: String,
    /// The meaning of the rates, with their period.
    pub y_title: String,
    /// The choices.
    pub points: Vec<Point>,
}

/// One choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The time that the choice results in, such as the time of a fail-over.
    pub x: Duration,
    /// The rate that the choice costs. A point whose rate is not finite is not drawn.
    pub y: f64,
    /// The name of the choice, such as a TTL.
    pub label: String,
    /// True for the advised choice.
    pub is_advised: bool,
}

impl Frontier {
    /// Returns the points that can be drawn, sorted by time.
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

    /// Returns the meaning of both axes.
    fn legend(&self, times: &Times) -> String {
        let scale = if times.is_log { " (logarithmic)" } else { "" };
        format!("Across: {}{scale}. Up: {} (logarithmic).", self.x_title, self.y_title)
    }

    /// Returns the chart as text. Every line has a newline, and none is wider than the shape.
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
        // The columns leave room for a label at the right.
        let columns = shape.width.saturating_sub(gutter).max(1);
        let top = canvas.line();
        (1..LINES).for_each(|_| _ = canvas.line());
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
            canvas.fold(&format!("{} advised: {}", symbol(true, shape).0, advised.label), 0);
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
        // The advised point is drawn last, and its label first, so that both are always shown.
        seen.sort_by_key(|point| point.is_advised);
        for point in &seen {
            let (row, column) = place(point);
            let (sign, style) = symbol(point.is_advised, shape);
            canvas.put(row, column, sign, style);
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
                canvas.put(row, at, &label, symbol(point.is_advised, shape).1);
            }
        }
    }

    /// Returns the chart as a drawing.
    pub(super) fn drawing(&self, size: Size) -> Drawing {
        let mut drawing = Drawing::new(&self.title, self.description(), size);
        let (times, rates) = self.axes(size.ticks);
        let ticks = rates.ticks(8);
        let widest = ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
        let left = PAGE + LETTER * count(widest) + 12.0;
        let right = size.width - PAGE - if size.is_narrow { 30.0 } else { 60.0 };
        let up = format!("{} (logarithmic)", self.y_title);
        let top = lines(&mut drawing, "quiet", &up, -4.0) + 16.0;
        let foot = top + HEIGHT;
        for (value, label) in &ticks {
            let y = foot - HEIGHT * rates.at(*value);
            drawing.extend([
                line("grid", [left, y], [right, y]),
                words("quiet end", left - 8.0, y + 4.5, label),
            ]);
        }
        let x = |time| left + (right - left) * times.at(time);
        for time in &times.ticks {
            drawing.extend(tick(x(*time), (top, foot), &brief(*time), size));
        }
        let seen = self.seen();
        let places = seen.iter().map(|point| (x(point.x), foot - HEIGHT * rates.at(point.y)));
        let places: Vec<_> = places.collect();
        let path = places.iter().map(|(x, y)| format!("{} {}", pixels(*x), pixels(*y)));
        let path = path.collect::<Vec<_>>().join("L");
        if seen.len() > 1 {
            let curve = Element::new("path").with("class", "curve");
            drawing.extend([curve.with("d", format!("M{path}"))]);
        }
        let spots = spots(&seen, &places, [2.0, top - 12.0, size.width - 2.0, foot + 6.0]);
        let drawn = seen.iter().zip(&places).zip(&spots);
        drawing.extend(drawn.map(|((point, at), spot)| draw(point, *at, *spot, &self.x_title)));
        let scale = if times.is_log { " (logarithmic)" } else { "" };
        let across = format!("{}{scale}", self.x_title);
        let mut y = foot + LINE;
        if size.is_narrow {
            y = lines(&mut drawing, "quiet", &across, y);
        } else {
            drawing.extend([words("quiet end", right, y + LINE, &across)]);
        }
        if let Some(point) = self.points.iter().find(|point| point.is_advised) {
            y = lines(&mut drawing, "strong", &format!("Advised: {}", point.label), y);
        }
        y = y.max(foot + 2.0 * LINE);
        drawing.height = y + 8.0;
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

/// Formats a rate with few digits.
fn rate(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 0.1 || value == 0.0 => pixels(value),
        _ => format!("{value:.1e}"),
    }
}

/// Returns the sign of a point, and the style of the sign and of its label.
fn symbol(is_advised: bool, shape: Shape) -> (&'static str, Style) {
    let [advised, other] = if shape.is_unicode { ["◆", "○"] } else { ["@", "o"] };
    if is_advised { (advised, AnsiColor::Green.on_default().bold()) } else { (other, PLAIN) }
}

/// Adds a line with the ticks of times, and a line with their labels.
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

/// The left, top, right and bottom edges of an area.
type Area = [f64; 4];

/// Returns the start and the base line of each point's label. Labels stay within the field, and cover no point and no
/// other label. A label that finds no such place is only in the description.
fn spots(seen: &[&Point], places: &[(f64, f64)], field: Area) -> Vec<Option<(f64, f64)>> {
    let mut taken: Vec<Area> =
        places.iter().map(|(x, y)| [x - 7.0, y - 7.0, x + 7.0, y + 7.0]).collect();
    let mut spots = vec![None; seen.len()];
    // The order is from the right to the left, so that the poles of points at the left have room. The advised point
    // comes first.
    let mut order: Vec<_> = (0..seen.len()).rev().collect();
    order.sort_by_key(|number| !seen[*number].is_advised);
    for number in order {
        let length = LETTER * count(cut(&seen[number].label, LABEL, true).chars().count());
        let is_free = |area: &Area| {
            let mut others = taken.iter().enumerate().filter(|(other, _)| *other != number);
            others.all(|(_, other)| {
                area[0] >= other[2]
                    || other[0] >= area[2]
                    || area[1] >= other[3]
                    || other[1] >= area[3]
            })
        };
        let all = (0..30).map(|step| spot(step, places[number], length, field[2]));
        let free = all.into_iter().find(|(_, label, pole)| {
            let is_within = label[0] >= field[0] && label[1] >= field[1];
            is_within
                && label[2] <= field[2]
                && label[3] <= field[3]
                && is_free(label)
                && is_free(pole)
        });
        if let Some((at, label, pole)) = free {
            taken.extend([label, pole]);
            spots[number] = Some(at);
        }
    }
    spots
}

/// Returns a place for the label of a point. The first places are beside the point, above or below it. Later steps are
/// farther away, on a pole.
fn spot(step: u32, (x, y): (f64, f64), length: f64, edge: f64) -> ((f64, f64), Area, Area) {
    let far = 14.0 * f64::from(step / 2);
    let (base, foot) =
        if step.is_multiple_of(2) { (y - 7.0 - far, y - 8.0) } else { (y + 16.0 + far, y + 8.0) };
    let gap = if step < 2 { 11.0 } else { 3.0 };
    let left = if x + gap + length > edge { x - gap - length } else { x + gap };
    let mut label = [left, base - 11.0, left + length, base + 3.0];
    if step < 2 {
        // The area is widened so that no other point lies between the label and its own point.
        label = [left, label[1].min(y - 6.0), label[2], label[3].max(y + 6.0)];
    }
    ((left, base), label, [x - 0.5, base.min(foot), x + 0.5, base.max(foot)])
}

fn draw(point: &Point, (x, y): (f64, f64), spot: Option<(f64, f64)>, x_title: &str) -> Element {
    let what = format!("{}: {} {}, rate {}", point.label, x_title, brief(point.x), rate(point.y));
    let mut group = titled(&what);
    if let Some((left, base)) = spot {
        if (base - y).abs() > 20.0 {
            let end = if base < y { base - 9.0 } else { base };
            group = group.child(line("axis", [x, y], [x, end]));
        }
        let class = if point.is_advised { "label strong" } else { "label" };
        group = group.child(words(class, left, base, &cut(&point.label, LABEL, true)));
    }
    if point.is_advised {
        let at = |dx: f64, dy: f64| format!("{} {}", pixels(x + dx), pixels(y + dy));
        let corners = [at(0.0, -9.0), at(9.0, 0.0), at(0.0, 9.0), at(-9.0, 0.0)].join("L");
        let diamond = Element::new("path").with("class", "advised");
        return group.child(diamond.with("d", format!("M{corners}Z")));
    }
    group.child(circle("point", [x, y], 5.0))
}
