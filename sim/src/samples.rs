//! Small statistics over samples.

use serde_json::{Value, json};

/// Samples of one figure.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Creates samples of whole milliseconds.
    pub fn of_ms(ms: &[u64]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "times of a call, far below 2^52 ms")]
        ms.iter().map(|ms| *ms as f64).collect()
    }

    /// Adds a sample.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value that `share` (0 to 1) of the samples do not exceed (nearest rank), or `None` without samples.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank within a short list"
        )]
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    }

    /// Returns the 50th, 95th and 99th percentile as JSON; null without samples.
    pub fn json(&self) -> Value {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| self.percentile(share));
        json!({ "p50": p50, "p95": p95, "p99": p99, "samples": self.len() })
    }

    /// Returns `p50 / p95 / p99` as text in whole units, or a dash without samples.
    pub fn summary(&self) -> String {
        match [0.5, 0.95, 0.99].map(|share| self.percentile(share)) {
            [Some(p50), Some(p95), Some(p99)] => format!("{p50:.0} / {p95:.0} / {p99:.0}"),
            _ => "–".into(),
        }
    }

    /// Adds the samples of `other`.
    pub fn join(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }
}

impl Extend<f64> for Samples {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        self.0.extend(values);
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<T: IntoIterator<Item = f64>>(iter: T) -> Self {
        Self(iter.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let samples: Samples = (1..=100).map(f64::from).collect();
        assert_eq!(samples.percentile(0.5), Some(50.0));
        assert_eq!(samples.percentile(0.99), Some(99.0));
        assert_eq!(samples.percentile(1.0), Some(100.0));
        assert_eq!(Samples::default().percentile(0.5), None);
        assert_eq!([7.0].into_iter().collect::<Samples>().percentile(0.0), Some(7.0));
    }
}
