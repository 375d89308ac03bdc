//! The results of many runs of one thing.

use std::time::Duration;

use serde_json::{Value, json};

/// Figures of one kind, in the unit of the code that pushed them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// One that was measured once.
    pub(crate) fn once(value: f64) -> Self {
        Self(vec![value])
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// In milliseconds.
    pub(crate) fn push_time(&mut self, time: Duration) {
        self.push(time.as_secs_f64() * 1e3);
    }

    pub(crate) const fn runs(&self) -> usize {
        self.0.len()
    }

    fn quantile(&self, part: usize, of: usize) -> f64 {
        self.0.get((self.0.len() - 1) * part / of).copied().unwrap_or(f64::NAN)
    }

    /// The one in the middle; of an even number the lower of the two.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(1, 2)
    }

    /// A quarter is less than the first, and a quarter greater than the second.
    pub(crate) fn quartiles(&self) -> (f64, f64) {
        (self.quantile(1, 4), self.quantile(3, 4))
    }

    pub(crate) fn to_json(&self) -> Value {
        let (low, high) = self.quartiles();
        json!({"median": self.median(), "low": low, "high": high, "runs": self.runs()})
    }
}
