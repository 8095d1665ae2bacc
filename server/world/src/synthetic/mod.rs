//! Data sets that are generated from a seed, for experiments that need no download. The same seed gives the same bytes.

mod alpha_beta;
mod dataset;
mod linear_regression;
mod mnist_like;
mod sparse_features;

pub use alpha_beta::AlphaBeta;
pub use dataset::{Dataset, HeldOut};
use folkmoot_engine::ExamplesError;
pub use linear_regression::LinearRegression;
pub use mnist_like::MnistLike;
use serde::{Deserialize, Serialize};
pub use sparse_features::SparseFeatures;

use crate::InvalidSettingsError;

/// The maximum number of feature values of a generated data set, which is one gibibyte of float32.
pub const VALUES_MAX: usize = 1 << 28;

/// A data set that is generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Synthetic {
    /// Classification with an adjustable difference between the clients.
    SyntheticAlphaBeta(AlphaBeta),
    /// Classification by rare words.
    SparseFeatures(SparseFeatures),
    /// Images of MNIST's size in clusters, one for each class.
    MnistLike(MnistLike),
    /// Linear regression with noise.
    LinearRegression(LinearRegression),
}

/// A data set that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntheticError {
    /// A setting is out of range.
    #[error(transparent)]
    Settings(#[from] InvalidSettingsError),
    /// The set would be too large.
    #[error(
        "{examples} examples of {features} features are too many; lower either number so that their product is at most {VALUES_MAX}"
    )]
    TooLarge {
        /// The number of examples.
        examples: usize,
        /// The number of features of each example.
        features: usize,
    },
    /// A setting is so large that a value overflows.
    #[error("a setting is so large that the examples overflow: {0}")]
    Overflow(#[from] ExamplesError),
}

impl Synthetic {
    /// Generates the data set from a seed.
    ///
    /// # Errors
    /// [`SyntheticError`] if a setting is out of range or the set would be too large.
    pub fn make(&self, seed: u64) -> Result<Dataset, SyntheticError> {
        match self {
            Synthetic::SyntheticAlphaBeta(set) => set.make(seed),
            Synthetic::SparseFeatures(set) => set.make(seed),
            Synthetic::MnistLike(set) => set.make(seed),
            Synthetic::LinearRegression(set) => set.make(seed),
        }
    }

    /// Returns the number of classes, or `None` if the labels are numbers.
    pub fn classes(&self) -> Option<u32> {
        match self {
            Synthetic::SyntheticAlphaBeta(_) => Some(alpha_beta::CLASSES as u32),
            Synthetic::SparseFeatures(set) => Some(set.classes),
            Synthetic::MnistLike(set) => Some(set.classes),
            Synthetic::LinearRegression(_) => None,
        }
    }
}

/// Rejects a set that is too large.
fn expect_size(examples: usize, features: usize) -> Result<(), SyntheticError> {
    match examples.checked_mul(features) {
        Some(values) if values <= VALUES_MAX => Ok(()),
        _ => Err(SyntheticError::TooLarge { examples, features }),
    }
}

/// Returns the index of the largest score; if several are equal, the first of them.
fn largest(scores: &[f64]) -> usize {
    let mut best = 0;
    for (index, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::Labels;

    use super::*;

    fn set(text: &str) -> Synthetic {
        toml::from_str(text).unwrap()
    }

    const KINDS: [&str; 4] = ["synthetic_alpha_beta", "sparse_features", "mnist_like", "linear_regression"];

    #[test]
    fn every_set_has_defaults_and_is_a_function_of_its_seed() {
        for kind in KINDS {
            let set = set(&format!("kind = '{kind}'"));
            let made = set.make(5).unwrap();
            assert_eq!(made, set.make(5).unwrap(), "{kind}");
            assert_ne!(made.examples, set.make(6).unwrap().examples, "{kind}");
            assert_eq!(made.groups.len(), made.examples.len(), "{kind}");
            if let (Labels::Classes(classes), Some(count)) = (made.examples.labels(), set.classes()) {
                assert_eq!(classes.iter().max(), Some(&(count - 1)), "{kind}: every class is there");
            }
        }
    }

    #[test]
    fn what_is_too_large_or_absurd_is_refused() {
        let error = set("kind = 'mnist_like'\nexamples = 100000000").make(1).unwrap_err();
        assert_eq!(error, SyntheticError::TooLarge { examples: 100_000_000, features: 784 });
        let error = set("kind = 'sparse_features'\nvocabulary = 1\nclasses = 1").make(1).unwrap_err();
        assert!(error.to_string().contains("synthetic.classes is 1; it must be"), "{error}");
        let error = set("kind = 'linear_regression'\nnoise_deviation = 1e300").make(1).unwrap_err();
        assert!(matches!(error, SyntheticError::Overflow(_)));
        assert!(toml::from_str::<Synthetic>("kind = 'mnist_like'\nexample = 1").is_err());
    }
}
