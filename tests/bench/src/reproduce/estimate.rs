//! Confidence intervals over seeds.
//!
//! The interval of a difference of means is Welch's t interval (Welch 1947, "The generalization of 'Student's' problem
//! when several different population variances are involved", equation 27). A contrast of more than two means uses the
//! same interval with the degrees of freedom of Satterthwaite (1946, "An approximate distribution of estimates of
//! variance components"). A factor is estimated as a difference of logarithms. It is a ratio of geometric means with an
//! asymmetric interval.

use std::fmt;

use serde::{Deserialize, Serialize};
use statrs::distribution::ContinuousCDF;

use super::{
    spread::Spread,
    students_t::{quantile, students_t},
};

/// A standard error below this share of the compared values is only a rounding error: all seeds have the same result.
const ROUNDING: f64 = 1e-12;

/// One figure of one arm, measured once for each seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The name of the arm.
    pub name: String,
    /// The figures in the order of the seeds. Seeds without a figure are left out.
    pub values: Vec<f64>,
    /// The number of seeds that were run.
    pub seeds: usize,
}

impl Sample {
    /// Creates a sample in which every seed has one of these figures.
    #[cfg(test)]
    pub fn of(values: &[f64]) -> Self {
        Self { name: "sample".to_owned(), values: values.to_vec(), seeds: values.len() }
    }

    /// Returns the mean; `None` unless every seed has a figure.
    pub fn mean(&self) -> Option<f64> {
        let spread = self.whole().ok()?;
        Some(spread.mean)
    }

    /// Returns the mean and spread of the figures. Every seed must have a figure: a mean over only the seeds that
    /// reached a target would be biased.
    ///
    /// # Errors
    /// If some seeds have no figure, returns a text with the number of seeds that have one.
    fn whole(&self) -> Result<Spread, String> {
        let Self { name, values, seeds } = self;
        match Spread::of(values) {
            Some(spread) if values.len() == *seeds => Ok(spread),
            _ => Err(format!("{name}: {} of {seeds} seeds have a figure", values.len())),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(spread) = Spread::of(&self.values) else { return f.write_str("not reached") };
        let decimals = if spread.mean < 10.0 { 1 } else { 0 };
        if self.values.len() < self.seeds {
            let (count, seeds) = (self.values.len(), self.seeds);
            return write!(f, "{:.decimals$} (reached by {count} of {seeds} seeds)", spread.mean);
        }
        f.write_str(&spread.show(decimals))
    }
}

/// An interval that contains the true value with the probability [`super::students_t::CONFIDENCE`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Returns `true` if the interval contains a value.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The scale on which means are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Values as measured.
    Plain,
    /// Means of logarithms, whose difference is the logarithm of a factor.
    Factor,
}

impl Scale {
    fn to(self, value: f64) -> f64 {
        match self {
            Scale::Plain => value,
            Scale::Factor => value.ln(),
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Scale::Plain => value,
            Scale::Factor => value.exp(),
        }
    }
}

/// A contrast of means with its interval: a difference, a factor, or one mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Kept")]
pub struct Estimate {
    pub value: f64,
    /// The confidence interval; `None` if an arm has only one seed.
    pub interval: Option<Interval>,
    pub scale: Scale,
    /// The standard error, on the scale. It is 0 if all seeds have the same figure, and `None` if an arm has only one
    /// seed.
    pub standard_error: Option<f64>,
    /// The degrees of freedom; `None` if the standard error is 0 or unknown.
    pub degrees_of_freedom: Option<f64>,
    /// The samples, each with its coefficient in the contrast.
    pub samples: Vec<(f64, Sample)>,
}

/// The stored form of an estimate. The other values are computed from it.
#[derive(Deserialize)]
struct Kept {
    scale: Scale,
    samples: Vec<(f64, Sample)>,
}

impl TryFrom<Kept> for Estimate {
    type Error = String;

    fn try_from(kept: Kept) -> Result<Self, Self::Error> {
        Self::contrast(kept.scale, kept.samples)
    }
}

impl Estimate {
    /// Estimates the difference `one − other`.
    ///
    /// # Errors
    /// Returns a text that names an arm with a seed that has no figure.
    pub fn difference(one: &Sample, other: &Sample) -> Result<Self, String> {
        Self::contrast(Scale::Plain, vec![(1.0, one.clone()), (-1.0, other.clone())])
    }

    /// Estimates the ratio `one / other`.
    ///
    /// # Errors
    /// As for [`difference`](Self::difference). Also fails if a figure is not above 0.
    pub fn factor(one: &Sample, other: &Sample) -> Result<Self, String> {
        Self::contrast(Scale::Factor, vec![(1.0, one.clone()), (-1.0, other.clone())])
    }

    /// Estimates the mean of one sample.
    ///
    /// # Errors
    /// As for [`difference`](Self::difference).
    pub fn mean(of: &Sample) -> Result<Self, String> {
        Self::contrast(Scale::Plain, vec![(1.0, of.clone())])
    }

    /// Estimates the sum of the means, each multiplied by its coefficient.
    ///
    /// # Errors
    /// Returns a text that names an arm with a seed that has no figure, or with a figure that has no logarithm.
    pub fn contrast(scale: Scale, samples: Vec<(f64, Sample)>) -> Result<Self, String> {
        let (mut sum, mut variance, mut per_freedom) = (0.0, 0.0, 0.0);
        let (mut size, mut is_single) = (0.0, false);
        for (coefficient, sample) in &samples {
            sample.whole()?;
            let values: Vec<f64> = sample.values.iter().map(|value| scale.to(*value)).collect();
            if let Some(value) = values.iter().position(|value| !value.is_finite()) {
                return Err(format!(
                    "{}: {} has no logarithm, so no factor can be computed",
                    sample.name, sample.values[value]
                ));
            }
            let spread = Spread::of(&values).unwrap_or_default();
            sum += coefficient * spread.mean;
            size += (coefficient * spread.mean).abs();
            is_single |= spread.count < 2;
            let count = spread.count as f64;
            let part = (coefficient * spread.deviation).powi(2) / count;
            variance += part;
            per_freedom += if spread.count > 1 { part.powi(2) / (count - 1.0) } else { 0.0 };
        }
        let error = variance.sqrt();
        let (standard_error, degrees_of_freedom) = match () {
            () if is_single => (None, None),
            () if error <= ROUNDING * size => (Some(0.0), None),
            () => (Some(error), Some(variance.powi(2) / per_freedom)),
        };
        let interval = standard_error.map(|error| {
            let half = degrees_of_freedom.map_or(0.0, |freedom| quantile(freedom) * error);
            Interval { low: scale.back(sum - half), high: scale.back(sum + half) }
        });
        Ok(Self { value: scale.back(sum), interval, scale, standard_error, degrees_of_freedom, samples })
    }

    /// Returns the two-sided p-value: the probability of an estimate at least as far from `bound` as this one, if
    /// `bound` is the true value. Returns `None` if the standard error is 0 or unknown.
    pub fn p_value(&self, bound: f64) -> Option<f64> {
        let away = (self.scale.to(self.value) - self.scale.to(bound)).abs();
        Some(2.0 * students_t(self.degrees_of_freedom?).sf(away / self.standard_error?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::students_t::{CONFIDENCE, half_width};

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-4 * other.abs().max(1.0)
    }

    /// The sleep of ten patients with two drugs ("Student" 1908). R's `t.test(extra ~ group, data = sleep)` gives
    /// t = -1.8608, df = 17.776, p-value = 0.07939, 95 percent confidence interval -3.3654832 to 0.2054832.
    #[test]
    fn welchs_interval_is_that_of_a_published_example() {
        let one = Sample::of(&[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]);
        let other = Sample::of(&[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]);
        let estimate = Estimate::difference(&one, &other).unwrap();
        let interval = estimate.interval.unwrap();
        assert!(is_near(interval.low, -3.365_483_2) && is_near(interval.high, 0.205_483_2), "{interval:?}");
        assert!(is_near(estimate.degrees_of_freedom.unwrap(), 17.776));
        assert!(is_near(estimate.p_value(0.0).unwrap(), 0.07939));
    }

    #[test]
    fn a_mean_of_five_seeds_has_the_tabulated_t_of_four_degrees() {
        // The standard deviation of the five values is √2.5, and the quantile of t is 2.776.
        let estimate = Estimate::mean(&Sample::of(&[1.0, 2.0, 3.0, 4.0, 5.0])).unwrap();
        let half = 2.776_445 * (2.5f64 / 5.0).sqrt();
        assert!(is_near(estimate.interval.unwrap().high - 3.0, half));
        assert!(is_near(half_width(2.5f64.sqrt(), 5).unwrap(), half));
    }

    #[test]
    fn a_factor_is_of_geometric_means_and_its_interval_is_asymmetric() {
        let estimate = Estimate::factor(&Sample::of(&[8.0, 32.0]), &Sample::of(&[2.0, 2.0])).unwrap();
        let interval = estimate.interval.unwrap();
        assert!(is_near(estimate.value, 8.0));
        assert!(is_near(interval.low * interval.high, 64.0), "{interval:?}");
        assert!(Estimate::factor(&Sample::of(&[0.0, 1.0]), &Sample::of(&[1.0, 2.0])).is_err());
    }

    #[test]
    fn an_interval_excludes_what_its_p_value_does() {
        let estimate = Estimate::difference(&Sample::of(&[1.0, 2.0, 4.0]), &Sample::of(&[0.0, 0.5])).unwrap();
        let interval = estimate.interval.unwrap();
        for end in [interval.low, interval.high] {
            assert!(is_near(estimate.p_value(end).unwrap(), 1.0 - CONFIDENCE));
        }
    }

    #[test]
    fn one_seed_has_no_interval_and_seeds_that_agree_have_no_p_value() {
        let one = Estimate::difference(&Sample::of(&[3.0]), &Sample::of(&[1.0])).unwrap();
        assert_eq!((one.value, one.interval, one.p_value(0.0)), (2.0, None, None));
        let same = Estimate::difference(&Sample::of(&[0.1; 5]), &Sample::of(&[0.3; 5])).unwrap();
        let interval = same.interval.unwrap();
        assert_eq!((interval.low, interval.high), (same.value, same.value));
        assert_eq!(same.p_value(0.0), None);
    }

    #[test]
    fn a_seed_without_a_figure_leaves_no_estimate() {
        let some = Sample { values: vec![5.0], seeds: 2, ..Sample::of(&[]) };
        let error = Estimate::factor(&some, &Sample::of(&[1.0, 2.0])).unwrap_err();
        assert_eq!(error, "sample: 1 of 2 seeds have a figure");
        assert_eq!((some.mean(), some.to_string()), (None, "5.0 (reached by 1 of 2 seeds)".to_owned()));
    }
}
