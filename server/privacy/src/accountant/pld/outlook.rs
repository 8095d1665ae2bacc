//! A look ahead: where the composed loss will lie, so that the grid can be chosen.
//!
//! Nothing here needs to be exact: any choice of grid, window and tilt gives a sound answer, only not a tight one.

use super::pair::MixturePair;
use super::step::ln_moment;

/// Points at which the density is looked at.
const POINTS: usize = 2048;

/// Losses of one step with rough probabilities, and how often it is composed.
pub(super) struct Outlook {
    /// The losses with their rough probabilities.
    points: Vec<(f64, f64)>,
    /// Where the first point is, and how far apart they are.
    lattice: (f64, f64),
    steps: f64,
    ln_delta: f64,
}

impl Outlook {
    /// Looks at the pair between `x_low` and `x_high`.
    pub fn new(pair: &MixturePair, x_low: f64, x_high: f64, steps: u64, delta: f64) -> Self {
        let width = (x_high - x_low) / POINTS as f64;
        let lattice = (x_low + 0.5 * width, width);
        let points = (0..POINTS).map(|index| {
            let x = lattice.0 + index as f64 * lattice.1;
            (pair.loss(x), pair.ln_upper_density(x).exp() * width)
        });
        Self { points: points.collect(), lattice, steps: steps as f64, ln_delta: delta.ln() }
    }

    /// Derives the logarithm of the moment generating function of the composed loss.
    fn ln_moment(&self, tilt: f64) -> f64 {
        self.steps * ln_moment(self.points.iter().copied(), tilt)
    }

    /// Finds the tilt under which the losses that decide about epsilon are likely: the best Rényi order minus 1.
    pub fn tilt(&self) -> f64 {
        least(|tilt| {
            let order = tilt + 1.0;
            (self.ln_moment(tilt) - self.ln_delta - order.ln()) / tilt + (-1.0 / order).ln_1p()
        })
        .0
    }

    /// Derives the tilt of a Chernoff bound, and the loss exceeded with probability e^`ln_probability` at most.
    pub fn upper_quantile(&self, ln_probability: f64) -> (f64, f64) {
        least(|tilt| (self.ln_moment(tilt) - ln_probability) / tilt)
    }

    /// Derives a loss above which the composed loss is with probability e^`ln_probability` at most, when tilted.
    pub fn tilted_upper_quantile(&self, tilt: f64, ln_probability: f64) -> f64 {
        let tilted = self.ln_moment(tilt);
        least(|more| (self.ln_moment(tilt + more) - tilted - ln_probability) / more).1
    }

    /// Derives a loss below which the composed loss is with probability e^`ln_probability` at most, when tilted.
    pub fn lower_quantile(&self, tilt: f64, ln_probability: f64) -> f64 {
        let tilted = self.ln_moment(tilt);
        -least(|back| (self.ln_moment(tilt - back) - tilted - ln_probability) / back).1
    }

    /// Derives the standard deviation of one step's loss under the tilt.
    pub fn step_deviation(&self, tilt: f64) -> f64 {
        deviation(self.points.iter().copied(), tilt)
    }

    /// Derives the standard deviation of one step's loss without what happens rarely: |x| is at most `x_max`.
    ///
    /// With a small sampling rate a few large losses make the deviation, and the many small ones the sum.
    pub fn usual_step_deviation(&self, x_max: f64) -> f64 {
        let place = |index: usize| self.lattice.0 + index as f64 * self.lattice.1;
        let usual = self.points.iter().enumerate().filter(|(index, _)| place(*index).abs() <= x_max);
        deviation(usual.map(|(_, point)| *point), 0.0)
    }
}

/// Derives the standard deviation under the tilt.
fn deviation(points: impl Iterator<Item = (f64, f64)> + Clone, tilt: f64) -> f64 {
    let ln_total = ln_moment(points.clone(), tilt);
    let weight =
        |(loss, mass): (f64, f64)| if mass > 0.0 { mass * (tilt * loss - ln_total).exp() } else { 0.0 };
    let mean: f64 = points.clone().map(|point| weight(point) * point.0).sum();
    let square: f64 = points.map(|point| weight(point) * (point.0 - mean).powi(2)).sum();
    square.sqrt()
}

/// Finds the argument in [1e-6, 1e9] with the least value by a coarse search and a golden section of its logarithm.
///
/// Returns both. A value that is not a number counts as infinite.
fn least(value: impl Fn(f64) -> f64) -> (f64, f64) {
    let at = |ln: f64| Some(value(ln.exp())).filter(|value| !value.is_nan()).unwrap_or(f64::INFINITY);
    let (start, coarse) = (1e-6f64.ln(), 1.0);
    let mut best = (start, at(start));
    for index in 1..=34 {
        let ln = start + coarse * f64::from(index);
        let here = at(ln);
        if here < best.1 {
            best = (ln, here);
        }
    }
    let (mut low, mut high) = (best.0 - coarse, best.0 + coarse);
    for _ in 0..24 {
        let [left, right] = [0.382, 0.618].map(|share| low + share * (high - low));
        let (at_left, at_right) = (at(left), at(right));
        if at_left < at_right {
            high = right
        } else {
            low = left
        }
        for (ln, here) in [(left, at_left), (right, at_right)] {
            if here < best.1 {
                best = (ln, here);
            }
        }
    }
    (best.0.exp(), best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::pld::pair::AT_ZERO;

    #[test]
    fn a_gaussian_loss_is_foreseen() {
        // With q = 1 the loss is N(μ²/2, μ²) with μ = 1/z, composed N(kμ²/2, kμ²).
        let pair = MixturePair { upper: [0.0, 1.0], lower: AT_ZERO, z: 10.0 };
        let outlook = Outlook::new(&pair, -100.0, 101.0, 50, 1e-5);
        let (mean, deviation) = (0.25, 0.5f64.sqrt());
        let chernoff = mean + deviation * (2.0 * 1e9f64.ln()).sqrt();
        assert!((outlook.upper_quantile(-(1e9f64.ln())).1 - chernoff).abs() < 1e-3);
        assert!((outlook.step_deviation(3.0) - 0.1).abs() < 1e-3);
        let tilted_mean = mean + 3.0 * 0.5;
        let low = tilted_mean - deviation * (2.0 * 1e6f64.ln()).sqrt();
        assert!((outlook.lower_quantile(3.0, -(1e6f64.ln())) - low).abs() < 1e-3);
    }
}
