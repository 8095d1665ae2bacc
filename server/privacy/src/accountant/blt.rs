//! Buffered linear Toeplitz (BLT) factorisations: near-optimal correlated noise with a state of only a few vectors.
//!
//! Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024, "Efficient and near-optimal noise generation for streaming
//! differential privacy"; for several participations McMahan, Xu and Zhang 2024, "A hassle-free algorithm for private
//! learning in federated learning".

use serde::{Deserialize, Serialize};

use super::toeplitz::Toeplitz;
use crate::budget::RangeError;

/// The maximum number of buffers. More buffers do not reduce the error, and each one is a vector as large as the model.
pub const BUFFERS_MAX: usize = 8;

/// The matrix C of a factorisation: lower triangular and Toeplitz, with c_0 = 1 and c_i = Σ_j ω_j·θ_j^(i−1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct BufferedToeplitz {
    decays: Vec<f64>,
    scales: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    decays: Vec<f64>,
    scales: Vec<f64>,
}

impl BufferedToeplitz {
    /// Creates the factorisation with the decays θ and the scales ω of its buffers.
    ///
    /// # Errors
    /// [`RangeError`] unless all of these hold:
    /// - There are 1 to [`BUFFERS_MAX`] decays, and as many scales.
    /// - The decays fall and lie in (0, 1).
    /// - The scales are above 0 and add up to at most 1. Then the entries of C never rise, as its sensitivity formula
    ///   requires.
    pub fn new(decays: Vec<f64>, scales: Vec<f64>) -> Result<Self, RangeError> {
        let count = decays.len();
        let is_right = (1..=BUFFERS_MAX).contains(&count) && scales.len() == count;
        RangeError::unless(
            is_right,
            "number of buffers",
            count as f64,
            "1 to 8, with as many scales as decays",
        )?;
        let mut before = 1.0;
        for &decay in &decays {
            RangeError::unless(
                decay > 0.0 && decay < before,
                "decay",
                decay,
                "above 0, below 1, and smaller than the decay before it",
            )?;
            before = decay;
        }
        for &scale in &scales {
            RangeError::unless(scale > 0.0, "scale", scale, "above 0")?;
        }
        let total: f64 = scales.iter().sum();
        RangeError::unless(total <= 1.0, "sum of the scales", total, "at most 1")?;
        Ok(Self { decays, scales })
    }

    /// Returns the decays θ, in decreasing order.
    pub fn decays(&self) -> &[f64] {
        &self.decays
    }

    /// Returns the scales ω.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// Returns C as a matrix of `rounds` rows and columns.
    pub fn toeplitz(&self, rounds: usize) -> Toeplitz {
        let mut powers = self.scales.clone();
        let rest = (1..rounds.max(1)).map(|_| {
            let entry = powers.iter().sum();
            powers.iter_mut().zip(&self.decays).for_each(|(power, decay)| *power *= decay);
            entry
        });
        let coefficients = std::iter::once(1.0).chain(rest).collect();
        Toeplitz::new(coefficients).expect("positive scales and decays below 1 make falling entries")
    }

    /// Applies C⁻¹ to a stream of numbers: x_t = z_t − Σ_j ω_j·s_j, then s_j ← θ_j·s_j + x_t.
    pub fn apply_inverse(&self, stream: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut buffers = vec![0.0; self.decays.len()];
        let step = |input: f64| {
            let output =
                input - buffers.iter().zip(&self.scales).map(|(buffer, scale)| buffer * scale).sum::<f64>();
            buffers
                .iter_mut()
                .zip(&self.decays)
                .for_each(|(buffer, decay)| *buffer = decay * *buffer + output);
            output
        };
        stream.into_iter().map(step).collect()
    }

    /// Computes the first column of C⁻¹, which has `rounds` entries.
    pub fn inverse(&self, rounds: usize) -> Vec<f64> {
        self.apply_inverse((0..rounds).map(|round| f64::from(u8::from(round == 0))))
    }

    /// Computes the decays and scales of C⁻¹, which has the same form.
    ///
    /// The decays of C⁻¹ are the zeros of 1 + Σ_j ω_j/(λ − θ_j), one below each θ_j. Its scales are the residues at
    /// those zeros.
    pub fn inverse_parameters(&self) -> (Vec<f64>, Vec<f64>) {
        let terms = || self.scales.iter().zip(&self.decays);
        let function = |at: f64| 1.0 + terms().map(|(scale, decay)| scale / (at - decay)).sum::<f64>();
        let zero_below = |index: usize| {
            let high_end = self.decays[index];
            let low_end = self
                .decays
                .get(index + 1)
                .copied()
                .unwrap_or(high_end - 1.0 - self.scales.iter().sum::<f64>());
            let (mut low, mut high) = (low_end, high_end);
            // Between two poles the function falls from +∞ to −∞.
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                if middle <= low || middle >= high {
                    break;
                }
                if function(middle) > 0.0 { low = middle } else { high = middle }
            }
            0.5 * (low + high)
        };
        let decays: Vec<f64> = (0..self.decays.len()).map(zero_below).collect();
        let residue =
            |at: &f64| -1.0 / terms().map(|(scale, decay)| scale / (at - decay).powi(2)).sum::<f64>();
        let scales = decays.iter().map(residue).collect();
        (decays, scales)
    }
}

impl TryFrom<Parts> for BufferedToeplitz {
    type Error = RangeError;

    fn try_from(parts: Parts) -> Result<Self, RangeError> {
        Self::new(parts.decays, parts.scales)
    }
}

impl From<BufferedToeplitz> for Parts {
    fn from(matrix: BufferedToeplitz) -> Self {
        Self { decays: matrix.decays, scales: matrix.scales }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> BufferedToeplitz {
        BufferedToeplitz::new(vec![0.99, 0.8, 0.3], vec![0.1, 0.2, 0.15]).unwrap()
    }

    #[test]
    fn the_stream_the_parameters_and_the_column_agree() {
        let (decays, scales) = matrix().inverse_parameters();
        let by_stream = matrix().inverse(60);
        let by_column = matrix().toeplitz(60).inverse();
        for round in 1..60 {
            let by_parameters: f64 =
                decays.iter().zip(&scales).map(|(decay, scale)| scale * decay.powi(round as i32 - 1)).sum();
            assert!((by_stream[round] - by_column[round]).abs() < 1e-14, "{round}");
            assert!((by_stream[round] - by_parameters).abs() < 1e-13, "{round}");
        }
    }

    #[test]
    fn parameters_on_which_no_sensitivity_rests_are_refused() {
        let cases: [(&[f64], &[f64]); 8] = [
            (&[], &[]),
            (&[0.5], &[]),
            (&[1.0], &[0.1]),
            (&[0.5, 0.5], &[0.1, 0.1]),
            (&[0.5], &[0.0]),
            (&[0.5], &[1.1]),
            (&[f64::NAN], &[0.1]),
            (&[0.5], &[f64::NAN]),
        ];
        for (decays, scales) in cases {
            assert!(
                BufferedToeplitz::new(decays.to_vec(), scales.to_vec()).is_err(),
                "{decays:?} {scales:?}"
            );
        }
        let json = serde_json::to_string(&matrix()).unwrap();
        assert_eq!(serde_json::from_str::<BufferedToeplitz>(&json).unwrap(), matrix());
    }
}
