use crate::accountant::special::normal_between;

/// A dominating pair: two mixtures of Gaussians that are at least as easy to tell apart as a mechanism's outputs on two
/// neighbours. `upper` belongs to one neighbour, `lower` to the other.
///
/// All components have the standard deviation `z`. The means of `upper` are 0 and 1, those of `lower` are 0 and −1.
/// Both mixtures have equal weights unless one of them is N(0, z²) alone. So the loss ln(upper(x) / lower(x)) rises in
/// x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MixturePair {
    /// The weights of the upper mixture's means 0 and 1.
    pub upper: [f64; 2],
    /// The weights of the lower mixture's means 0 and −1.
    pub lower: [f64; 2],
    /// The standard deviation of every component.
    pub z: f64,
}

/// The weights of N(0, z²) alone.
pub(super) const AT_ZERO: [f64; 2] = [1.0, 0.0];

/// A dominating pair, and the range of outputs that is evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CutPair {
    pub pair: MixturePair,
    /// The lower end of the range. Outputs below it are treated as equal to it.
    pub x_low: f64,
    /// The upper end of the range. Outputs above it have an unbounded loss.
    pub x_high: f64,
}

impl MixturePair {
    /// Computes the privacy loss at the output x.
    pub fn loss(&self, x: f64) -> f64 {
        self.ln_ratio(&self.upper, x) - self.ln_ratio(&self.lower, -x)
    }

    /// Computes the logarithm of a mixture's density at x over that of N(0, z²).
    fn ln_ratio(&self, weights: &[f64; 2], x: f64) -> f64 {
        let shift = (2.0 * x - 1.0) / (2.0 * self.z * self.z);
        if shift < 30.0 {
            return (weights[1] * shift.exp_m1()).ln_1p();
        }
        shift + (weights[0] * (-shift).exp() + weights[1]).ln()
    }

    /// Computes the logarithm of the density of `upper` at x.
    pub fn ln_upper_density(&self, x: f64) -> f64 {
        let ln_normal =
            -x * x / (2.0 * self.z * self.z) - (self.z * (2.0 * std::f64::consts::PI).sqrt()).ln();
        ln_normal + self.ln_ratio(&self.upper, x)
    }

    /// Finds the x at which the loss is `loss`; −∞ or +∞ if all losses are above or below it.
    ///
    /// Solved in a form in which nothing cancels, so that even a loss of 1e-9 has its x.
    pub fn x_at(&self, loss: f64) -> f64 {
        if self.lower == AT_ZERO {
            self.x_of_ratio(&self.upper, loss)
        } else if self.upper == AT_ZERO {
            -self.x_of_ratio(&self.lower, -loss)
        } else if loss < 0.0 {
            -self.x_of_symmetric(-loss)
        } else {
            self.x_of_symmetric(loss)
        }
    }

    /// Solves w_0 + w_1·e^((2x−1)/(2z²)) = e^loss for x.
    fn x_of_ratio(&self, weights: &[f64; 2], loss: f64) -> f64 {
        let above = loss.exp_m1() + weights[1];
        if above <= 0.0 {
            return f64::NEG_INFINITY;
        }
        0.5 + self.z * self.z * (above / weights[1]).ln()
    }

    /// Solves the loss between (1−q)N(0)+qN(1) and (1−q)N(0)+qN(−1), which is odd in x, for a loss ≥ 0.
    ///
    /// With y = e^(x/z²) and c = q·e^(−1/(2z²)): c·y² − (1 − q)(e^loss − 1)·y − c·e^loss = 0, in logarithms.
    fn x_of_symmetric(&self, loss: f64) -> f64 {
        let square = self.z * self.z;
        let ln_c = self.upper[1].ln() - 1.0 / (2.0 * square);
        let ln_linear = self.upper[0].ln() + loss.exp_m1().ln();
        let ln_constant = 2f64.ln() + ln_c + 0.5 * loss;
        let larger = ln_linear.max(ln_constant);
        let (linear, constant) = ((ln_linear - larger).exp(), (ln_constant - larger).exp());
        square * (larger + (0.5 * (linear + linear.hypot(constant))).ln() - ln_c)
    }

    /// Returns the probability of (low, high] under the upper and under the lower mixture.
    pub fn masses(&self, low: f64, high: f64) -> (f64, f64) {
        let mass = |weights: &[f64; 2], mean: f64| {
            let part = |weight: f64, mean: f64| {
                weight * normal_between((low - mean) / self.z, (high - mean) / self.z)
            };
            part(weights[0], 0.0) + if weights[1] > 0.0 { part(weights[1], mean) } else { 0.0 }
        };
        (mass(&self.upper, 1.0), mass(&self.lower, -1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Vec<MixturePair> {
        let mut pairs = Vec::new();
        for q in [1e-9, 0.01, 0.5, 0.999] {
            for z in [0.2, 1.0, 30.0] {
                let mixed = [1.0 - q, q];
                pairs.push(MixturePair { upper: mixed, lower: AT_ZERO, z });
                pairs.push(MixturePair { upper: AT_ZERO, lower: mixed, z });
                pairs.push(MixturePair { upper: mixed, lower: mixed, z });
            }
        }
        pairs
    }

    #[test]
    fn the_inverse_finds_the_x_of_a_loss() {
        for pair in pairs() {
            for x in [-3.0 * pair.z, -0.3, 0.0, 0.2, 1.0, 1.0 + 4.0 * pair.z] {
                let loss = pair.loss(x);
                let slope = (pair.loss(x + 1e-4 * pair.z) - loss) / (1e-4 * pair.z);
                let back = pair.loss(pair.x_at(loss).clamp(-40.0 * pair.z, 1.0 + 40.0 * pair.z));
                // Where the loss is nearly constant, the inverse recovers the loss but not x.
                let allowed = 1e-12 * loss.abs() + 1e-11 * slope.abs() * pair.z + 1e-15;
                assert!((back - loss).abs() <= allowed, "{pair:?} {x}: {loss} {back}");
            }
        }
    }

    #[test]
    fn the_loss_is_the_ratio_of_the_masses() {
        for pair in pairs() {
            for x in [-1.0, 0.0, 0.4, 2.0] {
                let (upper, lower) = pair.masses(x - 1e-6 * pair.z, x + 1e-6 * pair.z);
                assert!(((upper / lower).ln() - pair.loss(x)).abs() < 1e-9, "{pair:?} {x}");
            }
        }
    }
}
