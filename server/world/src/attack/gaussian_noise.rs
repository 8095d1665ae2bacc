use serde::{Deserialize, Serialize};

use crate::chance::{Stream, standard_normal};

/// Uploads Gaussian noise instead of the delta (Blanchard et al. 2017, "Machine learning with adversaries: Byzantine
/// tolerant gradient descent", section 5), or the delta plus Gaussian noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianNoise {
    /// The standard deviation of every value.
    pub standard_deviation: f64,
    /// True if the noise is added to the honest delta instead of replacing it.
    #[serde(default)]
    pub keeps_delta: bool,
}

impl GaussianNoise {
    pub(super) fn distort(&self, delta: &mut [f32], seed: u64) {
        let mut rng = Stream::new(seed, &[]);
        for value in delta {
            let honest = if self.keeps_delta { f64::from(*value) } else { 0.0 };
            *value = (honest + self.standard_deviation * standard_normal(&mut rng)) as f32;
        }
    }
}
