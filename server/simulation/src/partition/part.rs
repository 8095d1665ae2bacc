use folkmoot_engine::{Examples, ExamplesError};

use crate::chance::{Stream, standard_normal};

/// What one client holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The examples' indices in the population's data.
    pub indices: Vec<usize>,
    /// What blurs the features at this client, if anything.
    pub noise: Option<FeatureNoise>,
}

/// Gaussian noise on every feature of a client, the same whenever it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureNoise {
    /// The noise's standard deviation, in the features' own unit.
    pub standard_deviation: f64,
    /// What the noise is drawn from.
    pub seed: u64,
}

impl Part {
    /// Makes a part of these examples, as they are.
    pub(super) fn plain(indices: Vec<usize>) -> Self {
        Self { indices, noise: None }
    }

    /// Takes the client's examples out of the population's, `data`, and blurs them if they are to be blurred.
    ///
    /// # Errors
    /// [`ExamplesError::NoSuchExample`] if `data` is not what was dealt; [`ExamplesError::NotFinite`] if the noise
    /// takes a feature beyond what an `f32` holds.
    pub fn examples(&self, data: &Examples) -> Result<Examples, ExamplesError> {
        let held = data.subset(&self.indices)?;
        match &self.noise {
            Some(noise) => noise.blur(&held, &self.indices),
            None => Ok(held),
        }
    }
}

impl FeatureNoise {
    /// Blurs `examples`, whose indices in the population's data are `indices`.
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
