//! The report of what was measured, for people and programs, and the check against the bounds.
//!
//! People get a table in Markdown. Programs get JSON with these keys:
//!
//! - `version`: elect's.
//! - `machine`: `processor` (its model), `processors` (how many), `memory`, `kernel`.
//! - `figures`: what was measured, each with
//!   - `figure`: its name (`hand-over`); `of`: what it is a figure of (`etcd`; `etcd, 1000 waiting`);
//!   - `unit`: `ms`, `MB`, `%`, `times` (a count), or `per minute`;
//!   - `samples`: by the name of each contender (`elect`, `flock`, `floor`, `2 waiting`, ...) the `median` of its
//!     runs, the quartiles `low` and `high`, and the number of `runs`;
//!   - `ratios`: elect's median as a `ratio` to the median of `over`, which is another contender; null over nothing.
//! - `left_out`: what this run should have measured and did not: `figure`, `of`, and `why`.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::machine;
use crate::sample::Sample;

/// The bounds that --check holds a run to.
const BOUNDS: &str = include_str!("bounds.json");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Megabytes,
    Percent,
    Times,
    PerMinute,
}

/// One figure of elect's, beside those of others.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    name: &'static str,
    of: String,
    unit: Unit,
    samples: Vec<(&'static str, Sample)>,
    /// The ratio of elect's median to the median of the contender with this name.
    ratios: Vec<(&'static str, f64)>,
}

/// A figure that this run should have measured and did not.
#[derive(Clone, Debug)]
struct Gap {
    figure: &'static str,
    of: String,
    why: String,
}

/// All figures of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
    gaps: Vec<Gap>,
}

/// The most that elect's median may be, or its ratio to another contender's median.
#[derive(Clone, Debug, Deserialize)]
struct Bound {
    figure: String,
    of: String,
    /// The contender; without one the figure itself is meant.
    over: Option<String>,
    most: f64,
    /// The bound that is kept instead, if the first one is not met yet.
    missed: Option<Missed>,
}

#[derive(Clone, Debug, Deserialize)]
struct Missed {
    /// The most that the value may be until then.
    most: f64,
    /// The obstacle.
    why: String,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milliseconds => "ms",
            Self::Megabytes => "MB",
            Self::Percent => "%",
            Self::Times => "times",
            Self::PerMinute => "per minute",
        })
    }
}

impl Unit {
    /// Behind the point, for people.
    const fn digits(self) -> usize {
        match self {
            Self::Milliseconds | Self::Megabytes | Self::Percent => 2,
            Self::PerMinute => 1,
            Self::Times => 0,
        }
    }
}

impl Figure {
    pub(crate) fn of(&mut self, who: &'static str, sample: Sample) -> &mut Self {
        self.samples.push((who, sample));
        self
    }

    /// Compares elect with `who`.
    pub(crate) fn ratio(&mut self, who: &'static str) -> &mut Self {
        if let (Some(ours), Some(theirs)) = (self.median("elect"), self.median(who)) {
            self.ratios.push((who, ours / theirs));
        }
        self
    }

    /// A contender, with which elect is compared.
    pub(crate) fn beside(&mut self, who: &'static str, sample: Sample) {
        self.of(who, sample);
        if who != "elect" {
            self.ratio(who);
        }
    }

    fn median(&self, who: &str) -> Option<f64> {
        self.samples.iter().find(|(name, _)| *name == who).map(|(_, sample)| sample.median())
    }

    fn value(&self, over: Option<&str>) -> Option<f64> {
        match over {
            None => self.median("elect"),
            Some(who) => self.ratios.iter().find(|(name, _)| *name == who).map(|(_, it)| *it),
        }
    }

    /// One row of the table: what, elect's, those of others, and the ratios.
    fn row(&self) -> String {
        let told = |sample: &Sample| {
            let (unit, digits) = (self.unit, self.unit.digits());
            let (median, (low, high)) = (sample.median(), sample.quartiles());
            match sample.runs() {
                1 => format!("{median:.digits$} {unit}"),
                _ => format!("{median:.digits$} {unit} ({low:.digits$} to {high:.digits$})"),
            }
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            self.samples.iter().partition(|(who, _)| *who == "elect");
        let ours = ours.into_iter().map(|(_, sample)| told(sample)).collect::<Vec<_>>().join("; ");
        let others: Vec<String> =
            others.into_iter().map(|(who, sample)| format!("{who}: {}", told(sample))).collect();
        // Over nothing there is no ratio.
        let ratios = self.ratios.iter().filter(|(_, ratio)| ratio.is_finite());
        let ratios: Vec<String> =
            ratios.map(|(who, ratio)| format!("{ratio:.2} x {who}")).collect();
        row(&[self.name, &self.of, &ours, &others.join("; "), &ratios.join("; ")])
    }

    fn to_json(&self) -> Value {
        let named = |(who, sample): &(&'static str, Sample)| ((*who).to_owned(), sample.to_json());
        let ratios: Vec<Value> =
            self.ratios.iter().map(|(over, ratio)| json!({"over": over, "ratio": ratio})).collect();
        let samples: serde_json::Map<String, Value> = self.samples.iter().map(named).collect();
        let unit = self.unit.to_string();
        json!({"figure": self.name, "of": self.of, "unit": unit, "samples": samples, "ratios": ratios})
    }
}

fn row(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

impl Report {
    pub(crate) fn figure(&mut self, name: &'static str, of: &str, unit: Unit) -> &mut Figure {
        let (samples, ratios) = (Vec::new(), Vec::new());
        self.figures.push(Figure { name, of: of.to_owned(), unit, samples, ratios });
        let last = self.figures.len() - 1;
        &mut self.figures[last]
    }

    /// Says that a figure is not measured in this run, and why.
    pub(crate) fn leave_out(&mut self, figure: &'static str, of: &str, why: String) {
        eprintln!("bench: left out: {figure}, {of}: {why}");
        self.gaps.push(Gap { figure, of: of.to_owned(), why });
    }

    /// In Markdown.
    pub(crate) fn table(&self) -> String {
        let mut text = row(&["figure", "of", "elect", "others", "ratio"]);
        text.push_str("|---|---|---|---|---|\n");
        self.figures.iter().for_each(|figure| text.push_str(&figure.row()));
        for Gap { figure, of, why } in &self.gaps {
            text.push_str(&row(&[figure, of, &format!("left out: {why}"), "", ""]));
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let figures: Vec<Value> = self.figures.iter().map(Figure::to_json).collect();
        let told = |Gap { figure, of, why }: &Gap| json!({"figure": figure, "of": of, "why": why});
        let left_out: Vec<Value> = self.gaps.iter().map(told).collect();
        let version = env!("CARGO_PKG_VERSION");
        let machine = machine::told();
        let all = json!({"version": version, "machine": machine, "figures": figures, "left_out": left_out});
        format!("{all:#}\n")
    }

    /// Returns true if all that was measured is within its bounds, and prints what is not.
    pub(crate) fn check(&self) -> bool {
        let bounds: Vec<Bound> = serde_json::from_str(BOUNDS).expect("bounds.json is read");
        let mut is_within = true;
        for Bound { figure, of, over, most, missed } in bounds {
            // Not every run measures every figure.
            let Some(found) = self.figures.iter().find(|it| it.name == figure && it.of == of)
            else {
                continue;
            };
            let value = found.value(over.as_deref()).expect("bounds.json names what is measured");
            let over = over.map(|over| format!(" x {over}")).unwrap_or_default();
            let told = format!("{figure}, {of}: {value:.2}{over}");
            if value > missed.as_ref().map_or(most, |missed| missed.most) {
                is_within = false;
                println!("beyond its bound: {told}, at most {most}");
            } else if let Some(Missed { why, .. }) = missed {
                if value > most {
                    println!("not met yet, at most {most}: {told}: {why}");
                } else {
                    println!("met by now, at most {most}: {told}");
                }
            }
        }
        is_within
    }
}
