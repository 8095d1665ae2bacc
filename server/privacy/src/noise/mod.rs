//! Discrete Gaussian noise on integers.
//!
//! Floating-point noise gives away the sum through its low bits (Mironov 2012, "On significance of the least
//! significant bits for differential privacy"). Integer sums with exact discrete Gaussian noise do not (Canonne, Kamath
//! and Steinke 2020, "The discrete Gaussian for differential privacy"): with an L2 sensitivity of Δ steps and the scale
//! s the release is Δ²/(2s²)-zCDP.
//!
//! Entropy is the operating system's, through opendp: a ChaCha20 generator per thread, seeded and reseeded by the
//! system. opendp calls its build without OpenSSL "non-secure", because it does not come from a certified module.

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
    /// The sampler failed: no entropy, or numbers that it refuses.
    #[error("the noise could not be drawn: {0}; nothing may be released, try the commit again")]
    Sampler(String),
    /// The draw was cancelled.
    #[error("the draw of the noise was cancelled")]
    Cancelled,
    /// As many values as sums are needed.
    #[error("there are {sums} sums and {noise} values of noise; draw the noise for this model")]
    Length {
        /// How many sums there are.
        sums: usize,
        /// How many values of noise there are.
        noise: usize,
    },
    /// The sum leaves no room for the noise.
    #[error(
        "sum {index} is larger than {allowed} and leaves no room for the noise; take fewer fraction bits"
    )]
    NoRoom {
        /// The place of the first such sum.
        index: usize,
        /// The largest magnitude that leaves room.
        allowed: i64,
    },
}

impl NoiseError {
    fn from_opendp(error: opendp::error::Error) -> Self {
        Self::Sampler(error.to_string())
    }
}

/// Adds discrete Gaussian noise to every sum, on `threads` threads. For noise that is drawn ahead: [`NoiseStock`].
///
/// # Errors
/// [`NoiseError::NoRoom`] if a sum leaves no room for noise, [`NoiseError::Sampler`] if none could be drawn. The sums
/// are as they were then, and must not be released.
pub fn add_noise(sums: &mut [i64], scale: NoiseScale, threads: usize) -> Result<(), NoiseError> {
    stock::check_room(sums, scale)?;
    NoiseStock::begin(sums.len(), scale, threads).take()?.add_to(sums)
}
