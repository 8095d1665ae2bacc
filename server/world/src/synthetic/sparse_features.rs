use folkmoot_engine::{Examples, Labels};
use serde::{Deserialize, Serialize};

use super::{Dataset, SyntheticError, expect_size};
use crate::{
    CLIENTS_MAX,
    chance::{Stream, dirichlet, uniform},
    setting::Check,
};

/// Bags of words: a feature is 1 if its word occurs. A few frequent words carry no information, and rare words identify
/// the class.
///
/// The data resembles the tasks with sparse gradients on which Reddi et al. 2021, "Adaptive federated optimization",
/// section 5, find that adaptive server optimizers are best. The motivation is that of Duchi et al. 2011, "Adaptive
/// subgradient methods for online learning and stochastic optimization", section 1: rare features that predict well
/// need individual step sizes. The word of rank r occurs with a frequency proportional to r^−zipf_exponent.
///
/// The features are the frequent words by rank, followed by the rare words, class by class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseFeatures {
    /// The number of groups. Each has a different mix of classes, drawn from a Dirichlet distribution of concentration
    /// 1.
    pub clients: usize,
    /// The number of examples of each group.
    pub examples_per_client: usize,
    /// The number of classes, at least 2.
    pub classes: u32,
    /// The number of words that carry no information.
    pub vocabulary: usize,
    /// The number of uninformative words drawn for each example. A word that is drawn twice is still one feature.
    pub words_per_example: usize,
    /// The exponent of the frequencies of the uninformative words.
    pub zipf_exponent: f64,
    /// The number of rare words of each class. They occur in no other class.
    pub rare_words_per_class: usize,
    /// The number of draws from the rare words of the class for each example.
    pub rare_words_per_example: usize,
}

impl Default for SparseFeatures {
    fn default() -> Self {
        Self {
            clients: 100,
            examples_per_client: 40,
            classes: 10,
            vocabulary: 500,
            words_per_example: 30,
            zipf_exponent: 1.1,
            rare_words_per_class: 50,
            rare_words_per_example: 2,
        }
    }
}

impl SparseFeatures {
    /// Returns the number of features of an example.
    pub fn features(&self) -> usize {
        self.vocabulary.saturating_add(self.rare_words_per_class.saturating_mul(self.classes as usize))
    }

    pub(super) fn make(&self, seed: u64) -> Result<Dataset, SyntheticError> {
        self.check()?;
        let width = self.features();
        let total = self.clients.saturating_mul(self.examples_per_client);
        expect_size(total, width)?;
        let frequencies = self.cumulative_frequencies();
        let mut features = vec![0.0f32; total * width];
        let mut classes = Vec::with_capacity(total);
        let mut rows = features.chunks_mut(width);
        for client in 0..self.clients {
            let mut rng = Stream::new(seed, &[client as u64]);
            let mix = cumulative(dirichlet(self.classes as usize, 1.0, &mut rng));
            for row in rows.by_ref().take(self.examples_per_client) {
                let class = place(&mix, uniform(&mut rng));
                for _ in 0..self.words_per_example {
                    row[place(&frequencies, uniform(&mut rng))] = 1.0;
                }
                let first = self.vocabulary + class * self.rare_words_per_class;
                for _ in 0..self.rare_words_per_example {
                    row[first + crate::chance::below(&mut rng, self.rare_words_per_class)] = 1.0;
                }
                classes.push(class as u32);
            }
        }
        let groups = (0..total).map(|index| (index / self.examples_per_client) as u32).collect();
        Ok(Dataset { examples: Examples::new(features, vec![width], Labels::Classes(classes))?, groups })
    }

    fn check(&self) -> Result<(), SyntheticError> {
        let mut check = Check::new("synthetic");
        check.count("clients", self.clients, (1..=CLIENTS_MAX).contains(&self.clients), "from 1 to 100000");
        check.count(
            "classes",
            self.classes as usize,
            (2..=100_000).contains(&self.classes),
            "from 2 to 100000",
        );
        for (field, value) in [
            ("examples_per_client", self.examples_per_client),
            ("vocabulary", self.vocabulary),
            ("rare_words_per_class", self.rare_words_per_class),
        ] {
            check.count(field, value, value > 0, "at least 1");
        }
        for (field, value) in [
            ("words_per_example", self.words_per_example),
            ("rare_words_per_example", self.rare_words_per_example),
        ] {
            check.count(field, value, value <= 10_000, "at most 10000");
        }
        check.not_negative("zipf_exponent", self.zipf_exponent);
        Ok(check.end()?)
    }

    fn cumulative_frequencies(&self) -> Vec<f64> {
        let weights: Vec<f64> =
            (1..=self.vocabulary).map(|rank| (rank as f64).powf(-self.zipf_exponent)).collect();
        let total: f64 = weights.iter().sum();
        cumulative(weights.into_iter().map(|weight| weight / total).collect())
    }
}

fn cumulative(mut shares: Vec<f64>) -> Vec<f64> {
    let mut sum = 0.0;
    for share in &mut shares {
        sum += *share;
        *share = sum;
    }
    shares
}

/// Returns the index at which the running sum first reaches `at`; the last index if rounding keeps all sums below `at`.
fn place(cumulative: &[f64], at: f64) -> usize {
    cumulative.partition_point(|sum| *sum < at).min(cumulative.len().saturating_sub(1))
}

#[cfg(test)]
mod tests;
