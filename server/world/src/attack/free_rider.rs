use serde::{Deserialize, Serialize};

use super::perturbation::squared_norm;
use crate::chance::{Stream, standard_normal};

/// Uploads a random vector without having trained, to get the model for nothing (Lin, Du and Liu 2019, "Free-riders in
/// federated learning: attacks and defenses": random weights; Fraboni, Vidal and Lorenzi 2021, "Free-rider attacks on model
/// aggregation in federated learning": plain for a factor of 0, and disguised by noise).
///
/// The papers estimate a plausible size from the last changes of the model. Here, the size comes from the client's
/// honest update, whose metrics the client reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FreeRider {
    /// The L2 norm of the upload, as a multiple of that of the honest update; 0 to upload zeros.
    pub norm_factor: f64,
}

impl Default for FreeRider {
    fn default() -> Self {
        Self { norm_factor: 1.0 }
    }
}

impl FreeRider {
    pub(super) fn distort(self, delta: &mut [f32], seed: u64) {
        let mut rng = Stream::new(seed, &[]);
        let honest: Vec<f64> = delta.iter().map(|value| f64::from(*value)).collect();
        let noise: Vec<f64> = delta.iter().map(|_| standard_normal(&mut rng)).collect();
        let scale = self.norm_factor * (squared_norm(&honest) / squared_norm(&noise)).sqrt();
        delta.iter_mut().zip(noise).for_each(|(value, noise)| *value = (scale * noise) as f32);
    }
}
