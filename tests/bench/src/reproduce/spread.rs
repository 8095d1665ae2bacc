use std::fmt;

use serde::Serialize;

/// The mean of several seeds, and how far they lie apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub mean: f64,
    /// The sample's standard deviation (with n − 1); 0 of one value.
    pub deviation: f64,
    pub count: usize,
}

impl Spread {
    /// Sums values up; `None` of no value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { mean, deviation, count })
    }

    /// Writes both with so many decimals.
    pub fn show(&self, decimals: usize) -> String {
        format!("{:.decimals$} ± {:.decimals$}", self.mean, self.deviation)
    }

    /// Writes both in percent.
    pub fn percent(&self) -> String {
        format!("{:.1} ± {:.1} %", self.mean * 100.0, self.deviation * 100.0)
    }
}

/// When a target was reached, seed by seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reached {
    /// Of the seeds that reached it.
    pub values: Vec<f64>,
    /// How many seeds there were.
    pub of: usize,
}

impl Reached {
    /// Returns the mean, if every seed reached the target: a mean of the lucky ones would flatter.
    pub fn mean(&self) -> Option<f64> {
        let all = self.of > 0 && self.values.len() == self.of;
        all.then(|| Spread::of(&self.values).map(|spread| spread.mean)).flatten()
    }

    /// Returns how many times as much this is as `other`.
    pub fn times(&self, other: &Reached) -> Option<f64> {
        Some(self.mean()? / other.mean()?)
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(spread) = Spread::of(&self.values) else { return f.write_str("not reached") };
        f.write_str(&spread.show(if spread.mean < 10.0 { 1 } else { 0 }))?;
        if self.values.len() < self.of {
            write!(f, " ({} of {})", self.values.len(), self.of)?;
        }
        Ok(())
    }
}

/// Writes a factor: "3.5×"; a dash where there is none.
pub fn times(factor: Option<f64>) -> String {
    factor.map_or_else(|| "–".to_owned(), |factor| format!("{factor:.1}×"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_mean_and_the_samples_deviation() {
        // Mean 4; squares 4 + 0 + 4 = 8, over 2 is 4, its root is 2.
        let spread = Spread::of(&[2.0, 4.0, 6.0]).unwrap();
        assert_eq!((spread.mean, spread.deviation, spread.count), (4.0, 2.0, 3));
        assert_eq!(spread.show(1), "4.0 ± 2.0");
        assert_eq!(Spread::of(&[0.5]).unwrap().percent(), "50.0 ± 0.0 %");
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn a_target_that_one_seed_missed_has_no_mean() {
        let all = Reached { values: vec![10.0, 30.0], of: 2 };
        let some = Reached { values: vec![5.0], of: 2 };
        assert_eq!((all.mean(), some.mean()), (Some(20.0), None));
        assert_eq!(all.times(&Reached { values: vec![4.0, 6.0], of: 2 }), Some(4.0));
        assert_eq!(some.times(&all), None);
        assert_eq!(some.to_string(), "5.0 ± 0.0 (1 of 2)");
        assert_eq!(Reached { values: vec![], of: 2 }.to_string(), "not reached");
        assert_eq!((times(Some(3.46)), times(None)), ("3.5×".to_owned(), "–".to_owned()));
    }
}
