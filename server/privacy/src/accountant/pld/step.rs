//! The privacy loss of one step on a grid, by the connect-the-dots method.
//!
//! Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots: tighter discrete approximations of privacy
//! loss distributions". The mass between two points of the grid is split so that both distributions keep their mass.
//! Among all distributions on the grid that dominate the true one, the result has the smallest hockey-stick divergence.

use super::pair::CutPair;
use crate::accountant::special::exp_or_nothing;

/// A distribution of losses at multiples of `interval`, and the probability of an unbounded loss.
#[derive(Clone, Debug)]
pub(super) struct GridLoss {
    /// The distance between neighbouring losses.
    pub interval: f64,
    /// The multiple of `interval` at which `masses` begin.
    pub first: i64,
    /// The probabilities under the upper distribution.
    pub masses: Vec<f64>,
    /// The probability of an unbounded loss.
    pub infinity: f64,
}

/// Puts a step's loss on the grid.
///
/// Mass below `x_low` moves up to the grid loss above it. Mass above `x_high` becomes an unbounded loss. Both
/// changes can only raise the privacy curve.
pub(super) fn connect_the_dots(step: &CutPair, interval: f64) -> GridLoss {
    let CutPair { pair, x_low, x_high } = *step;
    let first = (pair.loss(x_low) / interval).floor() as i64;
    let last = ((pair.loss(x_high) / interval).ceil() as i64).max(first + 1);
    let mut masses = vec![0.0; (last - first + 1) as usize];
    let mut below = x_low;
    masses[1] += pair.masses(f64::NEG_INFINITY, x_low).0;
    for index in 0..masses.len() - 1 {
        let loss = (first + index as i64) as f64 * interval;
        let above = pair.x_at((first + index as i64 + 1) as f64 * interval).clamp(below, x_high);
        let (upper, lower) = pair.masses(below, above);
        let share = share_below(interval, loss, upper, lower);
        masses[index] += share;
        masses[index + 1] += upper - share;
        below = above;
    }
    GridLoss { interval, first, masses, infinity: pair.masses(below, f64::INFINITY).0 }
}

/// Computes the part of `upper` that goes to the grid's loss l; the rest goes to the next grid loss. The parts a and b
/// satisfy a + b = upper and a·e^-l + b·e^-(l + interval) = lower.
fn share_below(interval: f64, loss: f64, upper: f64, lower: f64) -> f64 {
    let scaled = lower * loss.exp();
    ((scaled - upper * (-interval).exp()) / -(-interval).exp_m1()).clamp(0.0, upper)
}

impl GridLoss {
    /// Returns the losses with their probabilities.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.masses.iter().enumerate().map(|(index, mass)| (self.loss(index), *mass))
    }

    /// Returns the loss at an index.
    pub fn loss(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.interval
    }

    /// Computes ln Σ p·e^(tilt·loss) over the finite losses.
    pub fn ln_moment(&self, tilt: f64) -> f64 {
        ln_moment(self.points(), tilt)
    }
}

/// Computes ln Σ p·e^(tilt·loss).
pub(super) fn ln_moment(points: impl Iterator<Item = (f64, f64)> + Clone, tilt: f64) -> f64 {
    let present = points.filter(|(_, mass)| *mass > 0.0);
    let largest = present.clone().map(|(loss, _)| tilt * loss).fold(f64::NEG_INFINITY, f64::max);
    largest + present.map(|(loss, mass)| mass * exp_or_nothing(tilt * loss - largest)).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::pld::pair::{AT_ZERO, MixturePair};

    #[test]
    fn both_distributions_keep_their_mass() {
        let mixed = [0.9, 0.1];
        for (upper, lower) in [(mixed, AT_ZERO), (AT_ZERO, mixed), (mixed, mixed)] {
            let pair = MixturePair { upper, lower, z: 0.8 };
            let grid = connect_the_dots(&CutPair { pair, x_low: -8.0, x_high: 9.0 }, 1e-3);
            let total: f64 = grid.masses.iter().sum::<f64>() + grid.infinity;
            assert!((total - 1.0).abs() < 1e-12, "{total}");
            let other: f64 = grid.points().map(|(loss, mass)| mass * (-loss).exp()).sum();
            assert!((other - 1.0).abs() < 1e-9, "{other}");
        }
    }

    #[test]
    fn the_grid_is_above_the_true_curve_and_near_it() {
        let pair = MixturePair { upper: [0.0, 1.0], lower: AT_ZERO, z: 1.3 };
        let grid = connect_the_dots(&CutPair { pair, x_low: -9.0, x_high: 12.0 }, 0.05);
        for epsilon in [0.0, 0.33, 1.0, 2.02] {
            let exact = crate::accountant::gaussian::profile(1.0 / 1.3, epsilon);
            let stick = |(loss, mass): (f64, f64)| mass * -(epsilon - loss).min(0.0).exp_m1();
            let delta: f64 = grid.points().map(stick).sum::<f64>() + grid.infinity;
            assert!(delta >= exact * (1.0 - 1e-12) && delta < exact * 1.01, "{epsilon}: {delta} {exact}");
        }
    }
}
