use crate::codec::transform::sums::sum_of_squares;

/// The effect of a codec on an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The compression ratio: bytes in float32 divided by bytes of the payload.
    pub ratio: f64,
    /// The squared error divided by the squared norm of the original, `|C(x) - x|^2 / |x|^2`. For an original of zeros,
    /// it is 0 if it decodes to zeros, and otherwise infinite.
    pub normalised_error: f64,
}

/// Measures a codec's result. Both vectors must have the same length.
pub fn measure(original: &[f32], decoded: &[f32], payload_bytes: usize) -> Measurement {
    let dense = 4.0 * original.len() as f64;
    let ratio = if payload_bytes == 0 { 1.0 } else { dense / payload_bytes as f64 };
    let pairs = original.iter().zip(decoded);
    let error: f64 = pairs.map(|(value, decoded)| (f64::from(*value) - f64::from(*decoded)).powi(2)).sum();
    let normalised_error = if error == 0.0 { 0.0 } else { error / sum_of_squares(original) };
    Measurement { ratio, normalised_error }
}
