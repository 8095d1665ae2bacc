//! Discrete Gaussian noise generated on the device: exact, with integers only, and without tables, floats or big
//! numbers.
//!
//! Floating-point noise reveals the value through its low bits (Mironov 2012, "On significance of the least significant
//! bits for differential privacy"). An integer with discrete Gaussian noise does not. With an L2 sensitivity of Δ steps
//! and the scale s, a release is Δ²/(2s²)-zCDP (Canonne, Kamath and Steinke 2020, "The discrete Gaussian for
//! differential privacy").
//!
//! The generator is an argument. A host uses ChaCha20 with a seed from the operating system or from a browser's
//! `crypto.getRandomValues`. Anyone who knows the seed can subtract the noise, so the seed is never part of the plan
//! and never stored. The duration of a draw depends on the drawn value (Jin et al. 2022, "Are we there yet? Timing and
//! floating-point attacks on differential privacy systems"). This noise does not protect against an attacker who can
//! time single draws on the device.

mod bernoulli;
mod gaussian;
mod local;
mod share;
#[cfg(test)]
mod tests;

pub use gaussian::{DiscreteGaussian, ScaleError};
pub use local::{NoiseError, add_noise};
pub use share::noised_steps;
