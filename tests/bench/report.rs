//! What was measured, for people and programs, and whether it is within the bounds.

use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::sample::Sample;

/// The bounds that --check holds a run to.
const BOUNDS: &str = include_str!("bounds.json");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Megabytes,
    Percent,
}

/// One figure of elect's, beside those of others.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    name: &'static str,
    of: String,
    unit: Unit,
    samples: Vec<(&'static str, Sample)>,
    /// Of medians: elect's over that of the contender with this name.
    ratios: Vec<(&'static str, f64)>,
}

/// All figures of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

/// What elect's median, or its ratio to that of another, may be at most.
#[derive(Clone, Debug, Deserialize)]
struct Bound {
    figure: String,
    of: String,
    /// The contender; without one the figure itself is meant.
    over: Option<String>,
    most: f64,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milliseconds => "ms",
            Self::Megabytes => "MB",
            Self::Percent => "%",
        })
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

    fn median(&self, who: &str) -> Option<f64> {
        self.samples.iter().find(|(name, _)| *name == who).map(|(_, sample)| sample.median())
    }

    fn value(&self, over: Option<&str>) -> Option<f64> {
        match over {
            None => self.median("elect"),
            Some(who) => self.ratios.iter().find(|(name, _)| *name == who).map(|(_, it)| *it),
        }
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

impl Report {
    pub(crate) fn figure(&mut self, name: &'static str, of: &str, unit: Unit) -> &mut Figure {
        let (samples, ratios) = (Vec::new(), Vec::new());
        self.figures.push(Figure { name, of: of.to_owned(), unit, samples, ratios });
        let last = self.figures.len() - 1;
        &mut self.figures[last]
    }

    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        for figure in &self.figures {
            let _ = write!(text, "{:<12} {:<16}", figure.name, figure.of);
            for (who, sample) in &figure.samples {
                let (low, high) = sample.quartiles();
                let unit = figure.unit;
                let _ =
                    write!(text, "  {who} {:.2} {unit} ({low:.2} to {high:.2})", sample.median());
            }
            for (who, ratio) in &figure.ratios {
                let _ = write!(text, "  {ratio:.2} x {who}");
            }
            text.push('\n');
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let figures: Vec<Value> = self.figures.iter().map(Figure::to_json).collect();
        format!("{:#}\n", json!({"version": env!("CARGO_PKG_VERSION"), "figures": figures}))
    }

    /// Whether all that was measured is within its bounds; says what is not.
    pub(crate) fn check(&self) -> bool {
        let bounds: Vec<Bound> = serde_json::from_str(BOUNDS).expect("bounds.json is read");
        let mut is_within = true;
        for Bound { figure, of, over, most } in bounds {
            // Not every run measures every figure.
            let Some(found) = self.figures.iter().find(|it| it.name == figure && it.of == of)
            else {
                continue;
            };
            let value = found.value(over.as_deref()).expect("bounds.json names what is measured");
            if value > most {
                is_within = false;
                let over = over.map(|over| format!(" x {over}")).unwrap_or_default();
                println!("beyond its bound: {figure}, {of}: {value:.2}{over}, at most {most}");
            }
        }
        is_within
    }
}
