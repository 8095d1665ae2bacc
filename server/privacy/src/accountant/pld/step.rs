//! The privacy loss of one step on a grid, by connecting the dots.
//!
//! Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots: tighter discrete approximations of
//! privacy loss distributions": the mass between two points of the grid is split so that both distributions keep
//! their mass. Among all distributions on the grid that dominate the true one it has the least hockey-stick curve.

use super::pair::MixturePair;

/// A distribution of losses at multiples of `interval`, and what lies above.
#[derive(Clone, Debug)]
pub(super) struct GridLoss {
    /// The distance of two losses.
    pub interval: f64,
    /// The multiple at which `masses` begin.
    pub first: i64,
    /// The probabilities under the upper distribution.
    pub masses: Vec<f64>,
    /// The probability of an unbounded loss.
    pub infinity: f64,
}

/// Puts the pair's loss on the grid. What is below `x_low` is moved up to the point above `x_low`, what is above `x_high`
/// counts as an unbounded loss: both only ever raise the privacy curve.
pub(super) fn connect_the_dots(pair: &MixturePair, interval: f64, x_low: f64, x_high: f64) -> GridLoss {
    let first = (pair.loss(x_low) / interval).floor() as i64;
    let last = ((pair.loss(x_high) / interval).ceil() as i64).max(first + 1);
    let mut masses = vec![0.0; (last - first + 1) as usize];
    let shrink = (-interval).exp();
    let mut below = x_low;
    masses[1] = pair.masses(f64::NEG_INFINITY, x_low).0;
    for index in 0..masses.len() - 1 {
        let above = pair.x_at((first + index as i64 + 1) as f64 * interval).clamp(below, x_high);
        let (upper, lower) = pair.masses(below, above);
        // a + b = upper and a·e^-l + b·e^-(l + interval) = lower, l being the loss at this point.
        let scaled = lower * ((first + index as i64) as f64 * interval).exp();
        let share = ((scaled - upper * shrink) / -(-interval).exp_m1()).clamp(0.0, upper);
        masses[index] += share;
        masses[index + 1] += upper - share;
        below = above;
    }
    GridLoss { interval, first, masses, infinity: pair.masses(below, f64::INFINITY).0 }
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

    /// Derives ln Σ p·e^(tilt·loss) over the finite losses.
    pub fn ln_moment(&self, tilt: f64) -> f64 {
        ln_moment(self.points(), tilt)
    }
}

/// Derives ln Σ p·e^(tilt·loss).
pub(super) fn ln_moment(points: impl Iterator<Item = (f64, f64)> + Clone, tilt: f64) -> f64 {
    let present = points.filter(|(_, mass)| *mass > 0.0);
    let largest = present.clone().map(|(loss, _)| tilt * loss).fold(f64::NEG_INFINITY, f64::max);
    largest + present.map(|(loss, mass)| mass * (tilt * loss - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::pld::pair::AT_ZERO;

    #[test]
    fn both_distributions_keep_their_mass() {
        let mixed = [0.9, 0.1];
        for (upper, lower) in [(mixed, AT_ZERO), (AT_ZERO, mixed), (mixed, mixed)] {
            let pair = MixturePair { upper, lower, z: 0.8 };
            let grid = connect_the_dots(&pair, 1e-3, -8.0, 9.0);
            let total: f64 = grid.masses.iter().sum::<f64>() + grid.infinity;
            assert!((total - 1.0).abs() < 1e-12, "{total}");
            let other: f64 = grid.points().map(|(loss, mass)| mass * (-loss).exp()).sum();
            assert!((other - 1.0).abs() < 1e-9, "{other}");
        }
    }

    #[test]
    fn the_grid_is_above_the_true_curve_and_near_it() {
        let pair = MixturePair { upper: [0.0, 1.0], lower: AT_ZERO, z: 1.3 };
        let grid = connect_the_dots(&pair, 0.05, -9.0, 12.0);
        for epsilon in [0.0, 0.33, 1.0, 2.02] {
            let exact = crate::accountant::gaussian::profile(1.0 / 1.3, epsilon);
            let stick = |(loss, mass): (f64, f64)| mass * -(epsilon - loss).min(0.0).exp_m1();
            let delta: f64 = grid.points().map(stick).sum::<f64>() + grid.infinity;
            assert!(delta >= exact * (1.0 - 1e-12) && delta < exact * 1.01, "{epsilon}: {delta} {exact}");
        }
    }
}
