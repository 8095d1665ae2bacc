//! Discrete Gaussian noise on integers.
//!
//! Floating-point noise reveals the sum through its low bits (Mironov 2012, "On significance of the least significant
//! bits for differential privacy"). Integer sums with exact discrete Gaussian noise reveal nothing in this way
//! (Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy"). With an L2 sensitivity of Δ
//! steps and the scale s, the release is Δ²/(2s²)-zCDP.
//!
//! Entropy comes from the operating system, through opendp: each thread has a ChaCha20 generator that the system seeds
//! and reseeds. opendp calls its build without OpenSSL "non-secure", because the generator does not come from a
//! certified module.

#[cfg(any(test, feature = "dangerous-seeded-noise"))]
mod exact;
mod sampler;
mod scale;
#[cfg(any(test, feature = "dangerous-seeded-noise"))]
mod seeded;
mod stock;
#[cfg(test)]
mod tests;

pub use sampler::rho_by_privacy_map;
pub use scale::NoiseScale;
#[cfg(feature = "dangerous-seeded-noise")]
pub use seeded::SeededNoise;
pub use stock::{Noise, NoiseStock};

/// No noise could be drawn or added. The sum must not be released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoiseError {
    /// The sampler failed: the system returned no entropy, or opendp rejected the parameters.
    #[error("the noise could not be drawn: {0}; nothing may be released; retry the commit")]
    Sampler(String),
    /// The draw was cancelled.
    #[error("the draw of the noise was cancelled")]
    Cancelled,
    /// The number of noise values differs from the number of sums.
    #[error("the noise has {noise} values, but there are {sums} sums; draw one value for each sum")]
    Length {
        /// The number of sums.
        sums: usize,
        /// The number of noise values.
        noise: usize,
    },
    /// A sum is so large that adding noise could overflow.
    #[error("sum {index} is larger than {allowed} and leaves no room for the noise; use fewer fraction bits")]
    NoRoom {
        /// The index of the first such sum.
        index: usize,
        /// The largest magnitude of a sum that leaves room for the noise.
        allowed: i64,
    },
}

impl NoiseError {
    fn from_opendp(error: opendp::error::Error) -> Self {
        Self::Sampler(error.to_string())
    }
}

/// Adds discrete Gaussian noise to every sum, on `threads` threads. To draw the noise ahead, use [`NoiseStock`].
///
/// # Errors
/// [`NoiseError::NoRoom`] if a sum leaves no room for noise, [`NoiseError::Sampler`] if none could be drawn. The sums
/// are then unchanged and must not be released.
pub fn add_noise(sums: &mut [i64], scale: NoiseScale, threads: usize) -> Result<(), NoiseError> {
    stock::check_room(sums, scale)?;
    NoiseStock::begin(sums.len(), scale, threads).take()?.add_to(sums)
}
