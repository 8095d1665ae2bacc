use folkmoot_engine::{Examples, ExamplesError};

use crate::chance::{Stream, standard_normal};

/// The examples of one client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The examples' indices in the population's data.
    pub indices: Vec<usize>,
    /// The noise on this client's features; `None` for no noise.
    pub noise: Option<FeatureNoise>,
}

/// Gaussian noise on every feature of a client. With the same seed, the noise is the same each time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureNoise {
    /// The noise's standard deviation, in the features' own unit.
    pub standard_deviation: f64,
    /// The seed of the noise.
    pub seed: u64,
}

impl Part {
    /// Creates a part of the examples with these indices, without noise.
    pub(super) fn plain(indices: Vec<usize>) -> Self {
        Self { indices, noise: None }
    }

    /// Selects the client's examples from `data`, the population's examples, and adds the noise.
    ///
    /// # Errors
    /// [`ExamplesError::NoSuchExample`] if `data` has fewer examples than the data that was divided;
    /// [`ExamplesError::NotFinite`] if the noise takes a feature out of the range of an `f32`.
    pub fn examples(&self, data: &Examples) -> Result<Examples, ExamplesError> {
        let held = data.subset(&self.indices)?;
        match &self.noise {
            Some(noise) => noise.blur(&held, &self.indices),
            None => Ok(held),
        }
    }
}

impl FeatureNoise {
    /// Adds the noise to `examples`, whose indices in the population's data are `indices`.
    fn blur(&self, examples: &Examples, indices: &[usize]) -> Result<Examples, ExamplesError> {
        let mut features = examples.features().to_vec();
        let width = features.len() / indices.len().max(1);
        for (row, index) in features.chunks_mut(width.max(1)).zip(indices) {
            let mut rng = Stream::new(self.seed, &[*index as u64]);
            for feature in row {
                *feature += (self.standard_deviation * standard_normal(&mut rng)) as f32;
            }
        }
        let blurred = Examples::new(features, examples.feature_shape().to_vec(), examples.labels().clone())?;
        match examples.weights() {
            Some(weights) => blurred.with_weights(weights.to_vec()),
            None => Ok(blurred),
        }
    }
}
