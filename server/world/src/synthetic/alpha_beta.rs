use folkmoot_engine::{Examples, Labels};
use serde::{Deserialize, Serialize};

use super::{Dataset, SyntheticError, expect_size, largest};
use crate::{
    CLIENTS_MAX,
    chance::{Stream, standard_normal},
    setting::Check,
};

const FEATURES: usize = 60;
pub(super) const CLASSES: usize = 10;

/// The purposes of random streams.
const SIZE: u64 = 1;
const MODEL: u64 = 2;
const CENTRE: u64 = 3;
const FEATURE: u64 = 4;

/// Synthetic(α, β) of Li et al. 2020, "Federated optimization in heterogeneous networks", section 5.1 and appendix C.1,
/// with 60 features and 10 classes. The label of x at client k is the index of the largest entry of W_k·x + b_k.
///
/// Entries of W_k and b_k are drawn from N(u_k, 1) with u_k from N(0, α). Features are drawn from N(v_k, Σ) with Σ_jj =
/// j^−1.2, and entries of v_k from N(B_k, 1) with B_k from N(0, β). As in the program that the authors published, α and
/// β are standard deviations, and a client has 50 examples plus a log-normal number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlphaBeta {
    /// The standard deviation of u_k, by which the clients' models differ, 0 or more.
    pub alpha: f64,
    /// The standard deviation of B_k, by which the clients' features differ, 0 or more.
    pub beta: f64,
    /// True if all clients share one model and one distribution of features. If so, `alpha` and `beta` are ignored.
    pub iid: bool,
    /// The number of groups, one for each client.
    pub clients: usize,
    /// The minimum number of examples of a client, at least 1.
    pub examples_min: usize,
    /// The mean of the logarithm of the number of examples beyond `examples_min`.
    pub examples_log_mean: f64,
    /// The standard deviation of the logarithm of the number of examples beyond `examples_min`.
    pub examples_log_deviation: f64,
}

impl Default for AlphaBeta {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 1.0,
            iid: false,
            clients: 30,
            examples_min: 50,
            examples_log_mean: 4.0,
            examples_log_deviation: 2.0,
        }
    }
}

/// A client's W, row by row, and b.
struct LinearModel {
    weights: Vec<f64>,
    biases: Vec<f64>,
}

impl AlphaBeta {
    pub(super) fn make(&self, seed: u64) -> Result<Dataset, SyntheticError> {
        self.check()?;
        let sizes: Vec<usize> = (0..self.clients).map(|client| self.size(client, seed)).collect();
        let total = sizes.iter().fold(0usize, |total, size| total.saturating_add(*size));
        expect_size(total, FEATURES)?;
        let (mut features, mut classes, mut groups) =
            (Vec::with_capacity(total * FEATURES), Vec::with_capacity(total), Vec::with_capacity(total));
        for (client, size) in sizes.into_iter().enumerate() {
            let (model, centre) = (self.model(client, seed), self.centre(client, seed));
            let mut rng = Stream::new(seed, &[FEATURE, client as u64]);
            for _ in 0..size {
                let deviation = |feature: usize| ((feature + 1) as f64).powf(-0.6);
                let x: Vec<f64> =
                    (0..FEATURES).map(|j| centre[j] + deviation(j) * standard_normal(&mut rng)).collect();
                classes.push(model.class(&x));
                features.extend(x.iter().map(|value| *value as f32));
            }
            groups.resize(classes.len(), client as u32);
        }
        Ok(Dataset { examples: Examples::new(features, vec![FEATURES], Labels::Classes(classes))?, groups })
    }

    fn check(&self) -> Result<(), SyntheticError> {
        let mut check = Check::new("synthetic");
        check.not_negative("alpha", self.alpha);
        check.not_negative("beta", self.beta);
        check.count("clients", self.clients, (1..=CLIENTS_MAX).contains(&self.clients), "from 1 to 100000");
        check.count("examples_min", self.examples_min, self.examples_min > 0, "at least 1");
        let mean = self.examples_log_mean;
        check.require("examples_log_mean", mean, (-10.0..=20.0).contains(&mean), "from -10 to 20");
        check.spread("examples_log_deviation", self.examples_log_deviation);
        Ok(check.end()?)
    }

    fn size(&self, client: usize, seed: u64) -> usize {
        let normal = standard_normal(&mut Stream::new(seed, &[SIZE, client as u64]));
        let more = (self.examples_log_mean + self.examples_log_deviation * normal).exp();
        self.examples_min.saturating_add(more as usize)
    }

    fn model(&self, client: usize, seed: u64) -> LinearModel {
        // All clients draw from one stream, so that they get the same model.
        let owner = if self.iid { 0 } else { client as u64 };
        let mut rng = Stream::new(seed, &[MODEL, owner]);
        let spread = if self.iid { 0.0 } else { self.alpha };
        let mean = spread * standard_normal(&mut rng);
        let mut draw = |count| (0..count).map(|_| mean + standard_normal(&mut rng)).collect();
        LinearModel { weights: draw(CLASSES * FEATURES), biases: draw(CLASSES) }
    }

    fn centre(&self, client: usize, seed: u64) -> Vec<f64> {
        if self.iid {
            return vec![0.0; FEATURES];
        }
        let mut rng = Stream::new(seed, &[CENTRE, client as u64]);
        let mean = self.beta * standard_normal(&mut rng);
        (0..FEATURES).map(|_| mean + standard_normal(&mut rng)).collect()
    }
}

impl LinearModel {
    /// Returns the most probable class. The softmax would not change the order of the scores, so it is not computed.
    fn class(&self, x: &[f64]) -> u32 {
        let rows = self.weights.chunks(FEATURES).zip(&self.biases);
        let score = |(row, bias): (&[f64], &f64)| bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        largest(&rows.map(score).collect::<Vec<f64>>()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean of feature `j` at client `client`.
    fn mean(set: &Dataset, client: u32, j: usize) -> f64 {
        let rows = set.examples.features().chunks(FEATURES).zip(&set.groups);
        let values: Vec<f64> =
            rows.filter(|(_, group)| **group == client).map(|(row, _)| f64::from(row[j])).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn sizes_are_those_of_the_law() {
        let set = AlphaBeta { clients: 2000, ..AlphaBeta::default() };
        let mut more: Vec<usize> = (0..2000).map(|client| set.size(client, 1) - 50).collect();
        more.sort_unstable();
        // The median is e⁴ = 54.6. The median of the logarithms of 2000 draws has a standard deviation of 1.25·2/√2000
        // = 0.056.
        assert!(((more[1000] as f64).ln() - 4.0).abs() < 0.3, "{}", more[1000]);
        // The share of draws below e⁶ = 403 is Φ(1) = 0.8413, with a standard error of 0.0082.
        let below = more.iter().filter(|size| **size < 403).count() as f64 / 2000.0;
        assert!((below - 0.8413).abs() < 0.041, "{below}");
    }

    #[test]
    fn features_have_the_variances_of_the_paper() {
        let set = AlphaBeta { iid: true, clients: 1, examples_min: 20_000, ..AlphaBeta::default() };
        let made = set.make(3).unwrap();
        for j in [0, 1, 9, 59] {
            let squares = made.examples.features().chunks(FEATURES).map(|row| f64::from(row[j]).powi(2));
            let variance = squares.sum::<f64>() / made.examples.len() as f64;
            let expected = ((j + 1) as f64).powf(-1.2);
            // The variance of 20 000 draws has a relative standard error of 1%. The tolerance is five standard errors.
            assert!((variance / expected - 1.0).abs() < 0.05, "feature {j}: {variance}");
        }
    }

    #[test]
    fn clients_differ_by_beta_and_not_at_all_when_iid() {
        let fixed = AlphaBeta { examples_min: 400, examples_log_mean: -10.0, ..AlphaBeta::default() };
        let spread = |set: &AlphaBeta| {
            let made = set.make(4).unwrap();
            // The last feature has a deviation of 0.09 within a client, so its mean over 400 examples is close to the
            // client's centre.
            let means: Vec<f64> = (0..30).map(|client| mean(&made, client, FEATURES - 1)).collect();
            let middle = means.iter().sum::<f64>() / 30.0;
            means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>() / 29.0
        };
        // The variance between the 30 clients is β² + 1. A chi-squared variable with 29 degrees of freedom is outside
        // 8.4 to 66 in two of 20,000 draws.
        let (apart, near) =
            (spread(&AlphaBeta { beta: 3.0, ..fixed }), spread(&AlphaBeta { beta: 0.0, ..fixed }));
        assert!((2.9..23.0).contains(&apart) && (0.29..2.3).contains(&near), "{apart} {near}");
        assert!(spread(&AlphaBeta { iid: true, ..fixed }) < 1e-3);
    }

    #[test]
    fn one_client_is_the_same_among_any_number() {
        let few = AlphaBeta { clients: 2, ..AlphaBeta::default() }.make(9).unwrap();
        let many = AlphaBeta { clients: 5, ..AlphaBeta::default() }.make(9).unwrap();
        let values = few.examples.features().len();
        assert_eq!(few.examples.features(), &many.examples.features()[..values]);
    }
}
