//! The mean over several seeds with its confidence interval, and the spread among the clients of one run.

mod fairness;
pub mod students_t;

pub use fairness::Fairness;
use serde::Serialize;

use self::students_t::half_width;

/// The mean and standard deviation over several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation (with n − 1); 0 for a single value.
    pub deviation: f64,
    /// The number of values.
    pub count: usize,
}

impl Spread {
    /// Computes mean and deviation; `None` if there are no values.
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

    /// Returns the half-width of the mean's 95 % t interval; `None` for a single value.
    pub fn half_width(&self) -> Option<f64> {
        half_width(self.deviation, self.count)
    }

    /// Formats the mean and the half-width of its interval with `decimals` decimals.
    pub fn show(&self, decimals: usize) -> String {
        self.scaled(1.0, decimals, "")
    }

    /// Formats the mean and the half-width in percent.
    pub fn percent(&self) -> String {
        self.scaled(100.0, 1, " %")
    }

    /// Formats the mean and the half-width in percentage points.
    pub fn points(&self) -> String {
        self.scaled(100.0, 1, "")
    }

    fn scaled(&self, factor: f64, decimals: usize, unit: &str) -> String {
        let mean = self.mean * factor;
        match self.half_width() {
            Some(half) => format!("{mean:.decimals$} ± {:.decimals$}{unit}", half * factor),
            None => format!("{mean:.decimals$}{unit} (one seed)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_mean_and_half_of_its_interval() {
        // The mean is 4. The sum of squares is 4 + 0 + 4 = 8, so the standard deviation is √(8 / 2) = 2. The quantile
        // of t with two degrees of freedom is 4.303.
        let spread = Spread::of(&[2.0, 4.0, 6.0]).unwrap();
        assert_eq!((spread.mean, spread.deviation, spread.count), (4.0, 2.0, 3));
        assert!((spread.half_width().unwrap() - 4.302_653 * 2.0 / 3f64.sqrt()).abs() < 1e-5);
        assert_eq!(spread.show(1), "4.0 ± 5.0");
        assert_eq!(Spread::of(&[0.5, 0.5]).unwrap().percent(), "50.0 ± 0.0 %");
        assert_eq!(Spread::of(&[]), None);
    }

    /// The extra sleep of ten patients with two drugs ("Student" 1908, "The probable error of a mean", section 9). The
    /// interval of the paired differences is that of
    /// `scipy.stats.ttest_rel(first, second).confidence_interval(0.95)`: -2.4598857633 to -0.7001142367.
    #[test]
    fn the_interval_of_paired_differences_is_that_of_a_published_example() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let differences: Vec<f64> = first.iter().zip(second).map(|(one, other)| one - other).collect();
        let spread = Spread::of(&differences).unwrap();
        let half = spread.half_width().unwrap();
        assert!((spread.mean - half - -2.459_885_763_3).abs() < 1e-9, "{}", spread.mean - half);
        assert!((spread.mean + half - -0.700_114_236_7).abs() < 1e-9, "{}", spread.mean + half);
    }

    #[test]
    fn one_seed_has_no_interval_and_says_so() {
        let one = Spread::of(&[0.5]).unwrap();
        assert_eq!((one.half_width(), one.percent()), (None, "50.0 % (one seed)".to_owned()));
    }
}
