//! This file shows a time line in a terminal: a line for each lane, and a column for each piece of time.

use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};

use super::{Lane, Span, State, Timeline};
use crate::simulate::picture::axis::{brief, ticks};
use crate::simulate::picture::canvas::{Canvas, PLAIN, Shape, cut};

/// The most lines for the numbers of marks.
const MARK_LINES: usize = 3;
/// The name of the line that shows overlaps.
const OVERLAP: &str = "OVERLAP";

/// The times that the columns stand for.
struct Columns {
    gutter: usize,
    count: usize,
    end: Duration,
}

impl Timeline {
    /// Returns the time line as text. Every line has a newline, and none is wider than the shape.
    pub fn text(&self, shape: Shape) -> String {
        let mut canvas = Canvas::new(shape);
        canvas.fold(&self.title, 0);
        let columns = self.columns(shape);
        self.put_marks(&mut canvas, &columns);
        for lane in self.ordered() {
            let row = canvas.line();
            put_lane(&mut canvas, row, lane, &columns, shape);
        }
        self.put_overlaps(&mut canvas, &columns, shape);
        put_axis(&mut canvas, &columns, shape);
        self.put_legend(&mut canvas, shape);
        canvas.render()
    }

    fn columns(&self, shape: Shape) -> Columns {
        let labels = self.lanes.iter().map(|lane| lane.label.chars().count());
        let own = if self.overlaps().is_empty() { 0 } else { OVERLAP.len() };
        let longest = labels.max().unwrap_or(0).max(own);
        let gutter = longest.min(shape.width / 4) + 2;
        let count = shape.width.saturating_sub(gutter).max(1);
        Columns { gutter, count, end: self.end() }
    }

    fn put_marks(&self, canvas: &mut Canvas, columns: &Columns) {
        let mut rows: Vec<usize> = Vec::new();
        let within = self.marks.iter().enumerate().filter(|(_, mark)| mark.at <= columns.end);
        for (number, mark) in within {
            let number = (number + 1).to_string();
            let column = columns.gutter + columns.of(mark.at);
            let before = column.saturating_sub(1);
            let is_free = |canvas: &Canvas, row| canvas.is_free(row, before, number.len() + 1);
            let mut row = rows.iter().copied().find(|row| is_free(canvas, *row));
            if row.is_none() && rows.len() < MARK_LINES {
                rows.push(canvas.line());
                row = rows.last().copied();
            }
            if let Some(row) = row {
                canvas.put(row, column, &number, Style::new().bold());
            }
        }
    }

    fn put_overlaps(&self, canvas: &mut Canvas, columns: &Columns, shape: Shape) {
        let overlaps = self.overlaps();
        if overlaps.is_empty() {
            return;
        }
        let style = AnsiColor::Red.on_default().bold();
        let row = canvas.line();
        let label = cut(OVERLAP, columns.gutter.saturating_sub(2), shape.is_unicode);
        canvas.put(row, 0, &label, style);
        for (from, until) in overlaps.iter().filter(|(from, _)| *from <= columns.end) {
            let last = columns.of(until.saturating_sub(Duration::from_nanos(1)));
            for column in columns.of(*from)..=last {
                canvas.put(row, columns.gutter + column, "!", style);
            }
        }
    }

    fn put_legend(&self, canvas: &mut Canvas, shape: Shape) {
        let has_tokens =
            self.lanes.iter().flat_map(|lane| &lane.spans).any(|it| it.token.is_some());
        let signs = self.seen().map(|it| format!("{} {}", sign(it, shape), it.appearance().words));
        let token = has_tokens.then(|| "number in a bar: token".to_owned());
        canvas.fold(&signs.chain(token).collect::<Vec<_>>().join("   "), 0);
        let digits = self.marks.len().to_string().len();
        for (number, mark) in self.marks.iter().enumerate() {
            let what = format!("{:>digits$}  {}  {}", number + 1, brief(mark.at), mark.text);
            canvas.fold(&what, digits + 2);
        }
        if let Some(verdict) = self.verdict() {
            canvas.fold(&verdict, 0);
        }
    }
}

impl Columns {
    /// Returns the column of an instant.
    fn of(&self, at: Duration) -> usize {
        let count = self.count as u128;
        let column = at.as_nanos().saturating_mul(count) / self.end.as_nanos().max(1);
        usize::try_from(column).unwrap_or(usize::MAX).min(self.count - 1)
    }

    /// Returns the first column whose middle lies in the span, and the first column behind them; `None` if there is
    /// none. Columns count by their middles, so two adjacent spans never share a column.
    fn within(&self, span: &Span) -> Option<(usize, usize)> {
        let (end, count) = (self.end.as_nanos().max(1), self.count as u128);
        // The first column whose middle, (2c + 1) / 2n of the whole, is not before the instant.
        let first_from = |at: Duration| {
            let halves = at.as_nanos().saturating_mul(2 * count).div_ceil(end);
            usize::try_from(halves / 2).unwrap_or(usize::MAX).min(self.count)
        };
        let (first, behind) = (first_from(span.from), first_from(span.until));
        (first < behind).then_some((first, behind))
    }
}

fn put_lane(canvas: &mut Canvas, row: usize, lane: &Lane, columns: &Columns, shape: Shape) {
    let label = cut(&lane.label, columns.gutter.saturating_sub(2), shape.is_unicode);
    canvas.put(row, 0, &label, PLAIN);
    for span in lane.shown(columns.end) {
        let style = span.state.appearance().style;
        let Some((first, behind)) = columns.within(span) else {
            // A span without a column is still shown, with a sign of its own.
            let sign = brief_sign(span.state, shape);
            canvas.put(row, columns.gutter + columns.of(span.from), &sign.to_string(), style);
            continue;
        };
        let bar = sign(span.state, shape).to_string().repeat(behind - first);
        canvas.put(row, columns.gutter + first, &bar, style);
        let token = span.token.map(|token| token.to_string()).unwrap_or_default();
        if token.len() + 2 <= behind - first {
            canvas.put(row, columns.gutter + first + 1, &token, style);
        }
    }
}

fn put_axis(canvas: &mut Canvas, columns: &Columns, shape: Shape) {
    let (line, tick) = if shape.is_unicode { ("─", "┴") } else { ("-", "+") };
    let row = canvas.line();
    canvas.put(row, columns.gutter, &line.repeat(columns.count), PLAIN);
    // The axis has as many ticks as their labels leave room for.
    let mut most = columns.count / 6;
    let times = loop {
        let times = ticks(columns.end, most);
        let longest = times.iter().map(|time| brief(*time).len()).max().unwrap_or(0);
        let distance = times.get(1).map_or(usize::MAX, |second| columns.of(*second));
        if most <= 1 || distance > longest + 2 {
            break times;
        }
        most -= 1;
    };
    let labels = canvas.line();
    for time in times {
        let column = columns.gutter + columns.of(time);
        canvas.put(row, column, tick, PLAIN);
        let label = brief(time);
        // The last label stays left of the edge.
        let column = column.min((columns.gutter + columns.count).saturating_sub(label.len()));
        if canvas.is_free(labels, column.saturating_sub(1), label.len()) {
            canvas.put(labels, column, &label, PLAIN);
        }
    }
}

/// Returns the sign of a state.
fn sign(state: State, shape: Shape) -> char {
    let [unicode, ascii] = state.appearance().signs;
    if shape.is_unicode { unicode } else { ascii }
}

/// Returns the sign for a span without a column. The sign of a run fills only half of the column, because another run
/// may stand beside it.
fn brief_sign(state: State, shape: Shape) -> char {
    match (state, shape.is_unicode) {
        (State::Runs, true) => '▌',
        (State::Runs, false) => ':',
        _ => sign(state, shape),
    }
}
