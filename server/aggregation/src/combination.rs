use super::{Averages, CoordinateRule, random::normal_at};

/// The rule that combines n updates into one aggregate.
#[derive(Clone, Debug, PartialEq)]
pub enum Combination {
    /// Σ factorᵢ·xᵢ / divisor.
    Mean {
        /// One factor per update, at least 0. Updates with factor 0 need not be read.
        factors: Vec<f64>,
        /// The divisor, greater than 0.
        divisor: f64,
    },
    /// A rule that combines each coordinate independently.
    PerCoordinate(CoordinateRule),
    /// A rule that combines each coordinate of some updates independently.
    ChosenPerCoordinate {
        /// The indices of the updates.
        chosen: Vec<usize>,
        /// The rule.
        rule: CoordinateRule,
    },
    /// A rule that combines averages of updates.
    Averaged(Averages, Box<Combination>),
    /// A rule whose result gets independent noise from a normal distribution.
    Noised {
        /// The combination to whose result the noise is added.
        combination: Box<Combination>,
        /// The standard deviation of the noise.
        deviation: f64,
        /// The seed of the noise. The noise of a parameter depends on the seed and on the parameter's index alone.
        seed: u64,
    },
}

impl Combination {
    /// Returns the mean of updates with these factors. A divisor of 0 is replaced by 1, so the mean is 0.
    pub(super) fn mean(factors: Vec<f64>, divisor: f64) -> Self {
        Combination::Mean { factors, divisor: if divisor > 0.0 { divisor } else { 1.0 } }
    }

    /// Returns the mean with factors weight·attenuation, divided by the sum of the weights.
    pub(super) fn attenuated_mean(weights: impl Iterator<Item = u64> + Clone, attenuations: &[f64]) -> Self {
        let divisor = weights.clone().fold(0, u64::saturating_add) as f64;
        let factors = weights.zip(attenuations).map(|(weight, attenuation)| weight as f64 * attenuation);
        Self::mean(factors.collect(), divisor)
    }

    /// Combines one tile, which begins with the parameter of index `first`. `rows[i]` holds update i's values in the tile, and `out`
    /// has the tile's length.
    ///
    /// A mean is summed in float64, in the order of the updates.
    pub fn combine(&self, first: usize, rows: &[&[f32]], out: &mut [f64]) {
        let (factors, divisor) = match self {
            Combination::Mean { factors, divisor } => (factors, divisor),
            Combination::PerCoordinate(rule) => return rule.combine(rows, out),
            Combination::ChosenPerCoordinate { chosen, rule } => {
                let chosen: Vec<&[f32]> = chosen.iter().map(|index| rows[*index]).collect();
                return rule.combine(&chosen, out);
            }
            Combination::Averaged(averages, combination) => {
                return averages.average(rows, |averaged| combination.combine(first, averaged, out));
            }
            Combination::Noised { combination, .. } => {
                combination.combine(first, rows, out);
                self.add_noise(first, out);
                return;
            }
        };
        out.fill(0.0);
        for (row, &factor) in rows.iter().zip(factors).filter(|(_, factor)| **factor != 0.0) {
            for (sum, &value) in out.iter_mut().zip(*row) {
                *sum += factor * f64::from(value);
            }
        }
        out.iter_mut().for_each(|sum| *sum /= divisor);
    }

    /// Returns the combination without its noise.
    pub fn without_noise(&self) -> &Self {
        match self {
            Combination::Noised { combination, .. } => combination,
            other => other,
        }
    }

    /// Adds the combination's noise, if it has any, to a tile whose first parameter is `first`.
    pub fn add_noise(&self, first: usize, out: &mut [f64]) {
        let Combination::Noised { deviation, seed, .. } = self else { return };
        for (value, index) in out.iter_mut().zip(first as u64..) {
            *value += deviation * normal_at(*seed, index);
        }
    }
}
