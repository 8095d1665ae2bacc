//! A rough forecast of the range of the composed loss, from which the grid is chosen.
//!
//! Nothing here needs to be exact. Any choice of grid, window and tilt gives a sound answer, though perhaps not a tight
//! one.

use super::pair::CutPair;
use super::step::ln_moment;

/// The number of outputs at which the pair's density is evaluated.
const POINTS: usize = 2048;

/// A loss with its approximate probability.
struct Point {
    /// The position of the loss, in standard deviations of the noise.
    x_per_z: f64,
    loss: f64,
    /// The approximate probability of the loss.
    mass: f64,
}

/// The losses of one step with their approximate probabilities, and the number of steps that are composed.
pub(super) struct Outlook {
    points: Vec<Point>,
    steps: f64,
    ln_delta: f64,
}

impl Outlook {
    /// Evaluates the pair of a step at [`POINTS`] points between its two ends.
    pub fn new(step: &CutPair, steps: u64, delta: f64) -> Self {
        let CutPair { pair, x_low, x_high } = *step;
        let width = (x_high - x_low) / POINTS as f64;
        let points = (0..POINTS).map(|index| {
            let x = x_low + (index as f64 + 0.5) * width;
            Point { x_per_z: x / pair.z, loss: pair.loss(x), mass: pair.ln_upper_density(x).exp() * width }
        });
        Self { points: points.collect(), steps: steps as f64, ln_delta: delta.ln() }
    }

    /// Returns the losses with their probabilities.
    fn losses(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.points.iter().map(|point| (point.loss, point.mass))
    }

    /// Computes the logarithm of the moment generating function of the composed loss.
    fn ln_moment(&self, tilt: f64) -> f64 {
        self.steps * ln_moment(self.losses(), tilt)
    }

    /// Finds the tilt under which the losses that decide epsilon are likely: the best Rényi order minus 1.
    pub fn tilt(&self) -> f64 {
        least(|tilt| {
            let order = tilt + 1.0;
            (self.ln_moment(tilt) - self.ln_delta - order.ln()) / tilt + (-1.0 / order).ln_1p()
        })
        .0
    }

    /// Returns the best tilt of a Chernoff bound, and a loss that the composed loss exceeds with a probability of at
    /// most e^`ln_probability`.
    pub fn upper_quantile(&self, ln_probability: f64) -> (f64, f64) {
        least(|tilt| (self.ln_moment(tilt) - ln_probability) / tilt)
    }

    /// Returns a loss that the tilted composed loss exceeds with a probability of at most e^`ln_probability`.
    pub fn tilted_upper_quantile(&self, tilt: f64, ln_probability: f64) -> f64 {
        let tilted = self.ln_moment(tilt);
        least(|more| (self.ln_moment(tilt + more) - tilted - ln_probability) / more).1
    }

    /// Returns a loss such that the tilted composed loss is below it with a probability of at most e^`ln_probability`.
    pub fn lower_quantile(&self, tilt: f64, ln_probability: f64) -> f64 {
        let tilted = self.ln_moment(tilt);
        -least(|back| (self.ln_moment(tilt - back) - tilted - ln_probability) / back).1
    }

    /// Computes the standard deviation of one step's loss under the tilt.
    pub fn step_deviation(&self, tilt: f64) -> f64 {
        deviation(self.losses(), tilt)
    }

    /// Computes the standard deviation of one step's loss without rare events: outputs with |x| above `deviations`
    /// standard deviations of the noise are left out.
    ///
    /// With a small sampling rate, a few large losses dominate the deviation, while the many small ones make up the
    /// sum.
    pub fn usual_step_deviation(&self, deviations: f64) -> f64 {
        let usual = self.points.iter().filter(|point| point.x_per_z.abs() <= deviations);
        deviation(usual.map(|point| (point.loss, point.mass)), 0.0)
    }
}

/// Computes the standard deviation of the losses when each probability is multiplied by e^(tilt·loss) and normalised.
fn deviation(points: impl Iterator<Item = (f64, f64)> + Clone, tilt: f64) -> f64 {
    let ln_total = ln_moment(points.clone(), tilt);
    let weight =
        |(loss, mass): (f64, f64)| if mass > 0.0 { mass * (tilt * loss - ln_total).exp() } else { 0.0 };
    let mean: f64 = points.clone().map(|point| weight(point) * point.0).sum();
    let square: f64 = points.map(|point| weight(point) * (point.0 - mean).powi(2)).sum();
    square.sqrt()
}

/// Minimises `value` over [1e-6, 1e9], by a coarse search and then a golden-section search of the logarithm.
///
/// Returns the minimising argument and the minimum. A value that is NaN is treated as infinite.
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
    use crate::accountant::pld::pair::{AT_ZERO, MixturePair};

    #[test]
    fn a_gaussian_loss_is_foreseen() {
        // With q = 1 the loss of one step is N(μ²/2, μ²) with μ = 1/z; after k steps it is N(kμ²/2, kμ²).
        let pair = MixturePair { upper: [0.0, 1.0], lower: AT_ZERO, z: 10.0 };
        let outlook = Outlook::new(&CutPair { pair, x_low: -100.0, x_high: 101.0 }, 50, 1e-5);
        let (mean, deviation) = (0.25, 0.5f64.sqrt());
        let chernoff = mean + deviation * (2.0 * 1e9f64.ln()).sqrt();
        assert!((outlook.upper_quantile(-(1e9f64.ln())).1 - chernoff).abs() < 1e-3);
        assert!((outlook.step_deviation(3.0) - 0.1).abs() < 1e-3);
        let tilted_mean = mean + 3.0 * 0.5;
        let low = tilted_mean - deviation * (2.0 * 1e6f64.ln()).sqrt();
        assert!((outlook.lower_quantile(3.0, -(1e6f64.ln())) - low).abs() < 1e-3);
    }
}
