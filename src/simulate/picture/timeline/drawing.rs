//! This file draws a time line as SVG.

use std::time::Duration;

use super::{Lane, Role, Span, State, Timeline};
use crate::simulate::picture::axis::{brief, ticks};
use crate::simulate::picture::canvas::cut;
use crate::simulate::picture::drawing::{
    Drawing, LETTER, LINE, PAGE, Size, circle, label_width, line, lines, rect, tick, titled, words,
};
use crate::simulate::picture::markup::{Element, count};

/// The height of a lane, and of its bars.
const LANE: f64 = 26.0;
const BAR: f64 = 18.0;
/// The height of a store's bar, which is thin because the store is less important to the reader.
const THIN_BAR: f64 = 10.0;
/// The distance between candidates and the store.
const GAP: f64 = 8.0;
/// The radius of the disc with the number of a mark.
const DISC: f64 = 8.5;
/// The least width of a bar, even for a very short time.
const THINNEST: f64 = 1.5;

/// The area of the lanes.
struct Field {
    left: f64,
    width: f64,
    top: f64,
    bottom: f64,
    end: Duration,
    size: Size,
}

impl Field {
    fn x(&self, at: Duration) -> f64 {
        self.left + self.width * (at.as_secs_f64() / self.end.as_secs_f64()).clamp(0.0, 1.0)
    }
}

impl Timeline {
    /// Returns the time line as a drawing.
    pub(in super::super) fn drawing(&self, size: Size) -> Drawing {
        let labels = self.lanes.iter().map(|lane| lane.label.chars().count());
        let left = label_width(labels.chain(["overlap".len()]).max().unwrap_or(0), size);
        let width = size.width - left - PAGE;
        let mut field = Field { left, width, top: 0.0, bottom: 0.0, end: self.end(), size };
        let mark_rows = self.mark_places(&mut field);
        let top = field.top;
        let mut drawing = Drawing::new(&self.title, self.description(), size);
        let mut lanes = Vec::new();
        let mut role = Role::Candidate;
        let mut candidates_end = top;
        for lane in self.ordered() {
            if lane.role != role {
                (role, field.bottom) = (lane.role, field.bottom + GAP);
            }
            lanes.extend(draw_lane(lane, field.bottom, &field));
            field.bottom += LANE;
            if role == Role::Candidate {
                candidates_end = field.bottom;
            }
        }
        let overlaps = self.draw_overlaps(candidates_end, &mut field);
        drawing.extend(draw_axis(&field));
        drawing.extend(lanes);
        drawing.extend(overlaps);
        drawing.extend(self.draw_marks(&mark_rows, &field));
        self.draw_legend(&mut drawing, &field);
        drawing
    }

    /// Returns the height of each mark's number above the lanes, so that no number covers another. The lanes begin
    /// below.
    fn mark_places(&self, field: &mut Field) -> Vec<f64> {
        let mut ends: Vec<f64> = Vec::new();
        let place = |at| {
            let x = field.x(at);
            let free = ends.iter().position(|end| x - DISC > *end).unwrap_or(ends.len());
            if free == ends.len() {
                ends.push(0.0);
            }
            ends[free] = x + DISC + 1.0;
            count(free) * 2.0 * (DISC + 1.0) + DISC + 1.0
        };
        let rows = self.marks.iter().map(|mark| mark.at).map(place).collect();
        field.top = count(ends.len()) * 2.0 * (DISC + 1.0) + 4.0;
        field.bottom = field.top;
        rows
    }

    fn draw_marks(&self, rows: &[f64], field: &Field) -> Vec<Element> {
        let marks = self.marks.iter().zip(rows).enumerate();
        let draw = |(number, (mark, y)): (usize, (&super::Mark, &f64))| {
            let x = field.x(mark.at);
            titled(&at_time(mark)).children([
                line("fault", [x, *y], [x, field.bottom]),
                circle("disc", [x, *y], DISC),
                words("on-disc middle", x, y + 4.0, &(number + 1).to_string()),
            ])
        };
        marks.map(draw).collect()
    }

    fn draw_overlaps(&self, candidates_end: f64, field: &mut Field) -> Vec<Element> {
        let overlaps = self.overlaps();
        if overlaps.is_empty() {
            return Vec::new();
        }
        let y = field.bottom;
        field.bottom += LANE;
        let bars = overlaps.iter().flat_map(|(from, until)| {
            let (x, width) = extent(*from, *until, field);
            [
                rect("overlap-band", [x, field.top], width, candidates_end - field.top),
                rect("overlap", [x, y + (LANE - BAR) / 2.0], width, BAR),
            ]
        });
        let label = words("overlap-word end", field.left - 8.0, y + LANE / 2.0 + 4.5, "overlap");
        bars.chain([label]).collect()
    }

    fn draw_legend(&self, drawing: &mut Drawing, field: &Field) {
        let (mut x, mut y) = (PAGE, field.bottom + 3.0 * LINE);
        for appearance in self.seen().map(State::appearance) {
            let width = 34.0 + 8.0 * count(appearance.words.len()) + 14.0;
            if x + width > field.size.width - PAGE {
                (x, y) = (PAGE, y + LINE + 2.0);
            }
            drawing.extend([
                rect(appearance.class, [x, y - 11.0], 26.0, 13.0),
                words("", x + 34.0, y, appearance.words),
            ]);
            x += width;
        }
        for (number, mark) in self.marks.iter().enumerate() {
            let text = format!("{}. {}", number + 1, at_time(mark));
            y = lines(drawing, "", &text, y);
        }
        if let Some(verdict) = self.verdict() {
            let class = if self.overlaps().is_empty() { "quiet" } else { "overlap-word" };
            y = lines(drawing, class, &verdict, y);
        }
        drawing.height = y + 8.0;
    }

    /// Returns the picture in words, for people who use a screen reader.
    fn description(&self) -> String {
        let of = |role| self.lanes.iter().filter(|lane| lane.role == role).count();
        let mut said = vec![format!(
            "A time line of lanes from 0s to {}: candidates {}, members of the store {}.",
            brief(self.end()),
            of(Role::Candidate),
            of(Role::Store)
        )];
        for lane in self.ordered() {
            let run = |(from, until)| format!("{} to {}", brief(from), brief(until));
            let runs: Vec<_> = lane.runs().into_iter().map(run).collect();
            if !runs.is_empty() {
                let runs = runs.join(", from ");
                said.push(format!("The command of {} runs from {runs}.", lane.label));
            }
        }
        said.extend(self.marks.iter().map(|mark| format!("{}.", at_time(mark))));
        said.extend(self.verdict());
        said.join(" ")
    }
}

fn at_time(mark: &super::Mark) -> String {
    format!("{}: {}", brief(mark.at), mark.text)
}

/// Returns the left end of a time span, and its width.
fn extent(from: Duration, until: Duration, field: &Field) -> (f64, f64) {
    let (x, end) = (field.x(from), field.x(until));
    (x, (end - x).max(THINNEST))
}

fn draw_lane(lane: &Lane, y: f64, field: &Field) -> Vec<Element> {
    let middle = y + LANE / 2.0;
    let shown = cut(&lane.label, field.size.label, true);
    let label = words("end", field.left - 8.0, middle + 4.5, &shown);
    let mut drawn = vec![titled(&lane.label).child(label)];
    let height = if lane.role == Role::Store { THIN_BAR } else { BAR };
    let spans = lane.shown(field.end);
    drawn.extend(spans.map(|span| draw_span(span, lane, middle, height, field)));
    drawn
}

fn draw_span(span: &Span, lane: &Lane, middle: f64, height: f64, field: &Field) -> Element {
    let (x, width) = extent(span.from, span.until, field);
    let (from, until) = (brief(span.from), brief(span.until));
    let (token, appearance) = (span.token.map(|token| token.to_string()), span.state.appearance());
    let suffix = token.as_ref().map(|token| format!(", token {token}")).unwrap_or_default();
    let what = format!("{}: {}, {from} to {until}{suffix}", lane.label, appearance.words);
    let bar = rect(appearance.class, [x, middle - height / 2.0], width, height);
    let token = token.filter(|_| span.state == State::Runs);
    let forms = token.into_iter().flat_map(|token| [format!("token {token}"), token]);
    let word = forms.into_iter().find(|it| LETTER * count(it.len()) + 8.0 < width);
    let word = word.map(|word| words("on-bar", x + 5.0, middle + 4.5, &word));
    titled(&what).child(bar).children(word)
}

fn draw_axis(field: &Field) -> Vec<Element> {
    let mut drawn = Vec::new();
    for time in ticks(field.end, field.size.ticks) {
        let height = (field.top, field.bottom);
        drawn.extend(tick(field.x(time), height, &brief(time), field.size));
    }
    let (right, foot) = (field.left + field.width, field.bottom);
    drawn.push(line("axis", [field.left, foot], [right, foot]));
    drawn
}
