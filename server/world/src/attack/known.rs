use super::Agreed;

/// The clients of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cohort {
    /// The number of clients.
    pub clients: usize,
    /// The number of hostile clients among them.
    pub hostile: usize,
}

/// The knowledge of hostile clients that collude: honest updates of some of them, all trained from the same version,
/// and their statistics for each parameter. They are estimates for the updates of the honest clients, which no attacker
/// sees.
pub struct Known {
    updates: Vec<Vec<f32>>,
    /// The mean of the updates.
    pub(super) mean: Vec<f64>,
    /// The standard deviation of the updates, with the divisor count − 1; 0 for a single update.
    pub(super) deviation: Vec<f64>,
    pub(super) cohort: Cohort,
}

/// The position of an update relative to the mean, seen along a direction.
pub(super) struct Residual {
    /// ⟨direction, mean − update⟩.
    pub along: f64,
    /// ‖mean − update‖².
    pub squared_norm: f64,
}

impl Known {
    /// Computes the statistics of at least one update. All updates must have the same length.
    pub fn of(updates: Vec<Vec<f32>>, cohort: Cohort) -> Self {
        let (count, length) = (updates.len() as f64, updates.first().map_or(0, Vec::len));
        let mut mean = vec![0.0; length];
        for update in &updates {
            mean.iter_mut().zip(update).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        mean.iter_mut().for_each(|sum| *sum /= count);
        let mut deviation = vec![0.0; length];
        for update in &updates {
            for ((sum, value), mean) in deviation.iter_mut().zip(update).zip(&mean) {
                *sum += (f64::from(*value) - mean).powi(2);
            }
        }
        let divisor = (count - 1.0).max(1.0);
        deviation.iter_mut().for_each(|sum: &mut f64| *sum = (*sum / divisor).sqrt());
        Self { updates, mean, deviation, cohort }
    }

    /// Returns mean + factor·direction, which all hostile clients then upload.
    pub(super) fn shifted(&self, direction: &[f64], factor: f64) -> Agreed {
        let values = self.mean.iter().zip(direction);
        Agreed::Same(values.map(|(mean, along)| (mean + factor * along) as f32).collect())
    }

    /// Returns the position of every update relative to the mean.
    pub(super) fn residuals(&self, direction: &[f64]) -> Vec<Residual> {
        let residual = |update: &Vec<f32>| {
            let mut residual = Residual { along: 0.0, squared_norm: 0.0 };
            for ((value, mean), along) in update.iter().zip(&self.mean).zip(direction) {
                let difference = mean - f64::from(*value);
                residual.along += along * difference;
                residual.squared_norm += difference * difference;
            }
            residual
        };
        self.updates.iter().map(residual).collect()
    }

    /// Returns the largest squared L2 distance between two updates.
    pub(super) fn squared_diameter(&self) -> f64 {
        let mut largest: f64 = 0.0;
        for (index, one) in self.updates.iter().enumerate() {
            for other in &self.updates[..index] {
                let differences =
                    one.iter().zip(other).map(|(one, other)| f64::from(*one) - f64::from(*other));
                largest = largest.max(differences.map(|difference| difference * difference).sum());
            }
        }
        largest
    }
}
