use folkmoot_engine::{Examples, Labels};
use serde::{Deserialize, Serialize};

use super::{Dataset, SyntheticError, expect_size};
use crate::{
    CLIENTS_MAX,
    chance::{Stream, standard_normal},
    setting::Check,
};

/// The purposes of random streams.
const OPTIMUM: u64 = 1;
const SHIFT: u64 = 2;
const EXAMPLE: u64 = 3;

/// Linear regression: y = ⟨w + u_k, x⟩ + noise. Entries of w and x are drawn from N(0, 1), and entries of client k's
/// shift u_k from N(0, optimum_deviation²).
///
/// The least-squares solution is known in closed form. So this data set shows how far clients drift from the common
/// optimum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearRegression {
    /// The number of groups, one for each client.
    pub clients: usize,
    /// The number of examples of each group.
    pub examples_per_client: usize,
    /// The number of features of an example.
    pub features: usize,
    /// The standard deviation of the noise on y.
    pub noise_deviation: f64,
    /// The standard deviation of the entries of the clients' shifts u_k.
    pub optimum_deviation: f64,
}

impl Default for LinearRegression {
    fn default() -> Self {
        Self {
            clients: 20,
            examples_per_client: 50,
            features: 10,
            noise_deviation: 0.1,
            optimum_deviation: 0.0,
        }
    }
}

impl LinearRegression {
    /// Returns w, the common optimum.
    pub fn optimum(&self, seed: u64) -> Vec<f64> {
        draws(self.features, &mut Stream::new(seed, &[OPTIMUM]))
    }

    pub(super) fn make(&self, seed: u64) -> Result<Dataset, SyntheticError> {
        self.check()?;
        let total = self.clients.saturating_mul(self.examples_per_client);
        expect_size(total, self.features)?;
        let optimum = self.optimum(seed);
        let (mut features, mut targets) =
            (Vec::with_capacity(total * self.features), Vec::with_capacity(total));
        for client in 0..self.clients as u64 {
            let shift = draws(self.features, &mut Stream::new(seed, &[SHIFT, client]));
            let mut rng = Stream::new(seed, &[EXAMPLE, client]);
            for _ in 0..self.examples_per_client {
                let x = draws(self.features, &mut rng);
                let slopes = optimum.iter().zip(&shift).map(|(w, u)| w + self.optimum_deviation * u);
                let y: f64 = slopes.zip(&x).map(|(slope, x)| slope * x).sum();
                targets.push((y + self.noise_deviation * standard_normal(&mut rng)) as f32);
                features.extend(x.iter().map(|value| *value as f32));
            }
        }
        let groups = (0..total).map(|index| (index / self.examples_per_client) as u32).collect();
        let examples = Examples::new(features, vec![self.features], Labels::Targets(targets, 1))?;
        Ok(Dataset { examples, groups })
    }

    fn check(&self) -> Result<(), SyntheticError> {
        let mut check = Check::new("synthetic");
        check.count("clients", self.clients, (1..=CLIENTS_MAX).contains(&self.clients), "from 1 to 100000");
        check.count(
            "examples_per_client",
            self.examples_per_client,
            self.examples_per_client > 0,
            "at least 1",
        );
        check.count("features", self.features, self.features > 0, "at least 1");
        check.not_negative("noise_deviation", self.noise_deviation);
        check.not_negative("optimum_deviation", self.optimum_deviation);
        Ok(check.end()?)
    }
}

fn draws(count: usize, rng: &mut Stream) -> Vec<f64> {
    (0..count).map(|_| standard_normal(rng)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_find_the_optimum() {
        let set = LinearRegression { features: 2, noise_deviation: 0.5, ..LinearRegression::default() };
        let made = set.make(8).unwrap();
        let Labels::Targets(targets, 1) = made.examples.labels() else { panic!("one target for each") };
        // Solve the normal equations of the two slopes by Cramer's rule.
        let [mut a, mut b, mut c, mut p, mut q] = [0.0; 5];
        for (x, y) in made.examples.features().chunks(2).zip(targets) {
            let (x0, x1, y) = (f64::from(x[0]), f64::from(x[1]), f64::from(*y));
            a += x0 * x0;
            b += x0 * x1;
            c += x1 * x1;
            p += x0 * y;
            q += x1 * y;
        }
        let determinant = a * c - b * b;
        let found = [(p * c - q * b) / determinant, (a * q - b * p) / determinant];
        for (found, true_slope) in found.iter().zip(set.optimum(8)) {
            // The standard deviation of an estimate is 0.5/√1000 = 0.016. The tolerance is five standard deviations; a
            // correct implementation fails once in two million runs.
            assert!((found - true_slope).abs() < 0.08, "{found} {true_slope}");
        }
    }

    #[test]
    fn clients_have_optima_of_their_own_when_asked() {
        let set = LinearRegression {
            features: 1,
            noise_deviation: 0.0,
            clients: 500,
            ..LinearRegression::default()
        };
        let slopes = |set: LinearRegression| -> Vec<f64> {
            let made = set.make(3).unwrap();
            let Labels::Targets(targets, 1) = made.examples.labels() else { panic!("one target for each") };
            let first = (0..500).map(|client| client * set.examples_per_client);
            first.map(|i| f64::from(targets[i]) / f64::from(made.examples.features()[i])).collect()
        };
        let optimum = set.optimum(3)[0];
        assert!(slopes(set).iter().all(|slope| (slope - optimum).abs() < 1e-5));
        let apart = slopes(LinearRegression { optimum_deviation: 2.0, ..set });
        let variance = apart.iter().map(|slope| (slope - optimum).powi(2)).sum::<f64>() / 500.0;
        // The variance of 500 draws has a relative standard error of 6.3%. The tolerance is five standard errors.
        assert!((variance / 4.0 - 1.0).abs() < 0.32, "{variance}");
    }
}
