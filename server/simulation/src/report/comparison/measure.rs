use serde::Serialize;

use crate::{report::quantity, spread::Spread};

/// A quantity that was measured once for each seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measure {
    /// The mean; `None` unless every seed has a value, because a mean over only the seeds that reached a target would be
    /// biased.
    pub mean: Option<f64>,
    /// The half-width of the mean's 95 % t interval; `None` without a mean, or with a single seed.
    pub half_width: Option<f64>,
    /// The value of each seed.
    pub values: Vec<Option<f64>>,
}

impl Measure {
    /// Computes the mean and its interval.
    pub fn of(values: impl Iterator<Item = Option<f64>>) -> Self {
        let values: Vec<Option<f64>> = values.collect();
        let whole: Option<Vec<f64>> = values.iter().copied().collect();
        let spread = whole.and_then(|values| Spread::of(&values));
        let half_width = spread.and_then(|spread| spread.half_width());
        Self { mean: spread.map(|spread| spread.mean), half_width, values }
    }

    /// Returns the differences to the other measure, seed by seed.
    ///
    /// Both variants of a seed see the same world, so the interval of the differences is that of paired samples
    /// ("Student" 1908, "The probable error of a mean", section 9). It is usually narrower than the intervals of the two
    /// means suggest.
    pub fn minus(&self, other: &Self) -> Self {
        let pairs = self.values.iter().zip(&other.values);
        Self::of(pairs.map(|(one, other)| Some((*one)? - (*other)?)))
    }

    /// Formats the mean and the half-width, in units of `size`. If some seeds have no value, says how many have one.
    pub fn show(&self, size: f64, unit: &str) -> Option<String> {
        let found = self.values.iter().flatten().count();
        match self.mean {
            Some(mean) => {
                let shown = quantity::mean(mean / size, self.half_width.map(|half| half / size));
                Some(if unit.is_empty() { shown } else { format!("{shown} {unit}") })
            }
            None if found > 0 => Some(format!("{found} of {} seeds", self.values.len())),
            None => None,
        }
    }
}
