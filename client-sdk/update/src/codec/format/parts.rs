//! Weights in parts: a full version in few bits, then the deltas of later versions.
//!
//! Each part is a payload like an update's. The next delta starts from the reference, which is the client's state after
//! the last part, and not from the exact weights. The next delta therefore corrects the rounding error of the previous
//! delta, and errors do not accumulate (Tang et al. 2019, "DoubleSqueeze", which keeps the server's error in the same
//! way).

use folkmoot_protocol::TensorSchema;

use crate::codec::{CutOff, EncodeError, PayloadError, Recipe, decode, encode};

/// A part, and the client's weights after applying it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The payload.
    pub bytes: Vec<u8>,
    /// The reference: the weights that the next part changes.
    pub reference: Vec<f32>,
}

/// Why parts are not the weights of a model.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum PartError {
    /// A part is not a payload of the model.
    #[error("part {place} of the weights cannot be read: {error}")]
    Payload {
        /// The index of the part, from 0.
        place: usize,
        /// The cause.
        error: PayloadError<CutOff>,
    },
    /// The sum exceeds the range of float32.
    #[error("a weight is not finite after part {place}")]
    NotFinite {
        /// The index of the part, from 0.
        place: usize,
    },
}

/// Encodes weights, either in full or as the difference to a reference. Equal weights give equal bytes, so a part
/// always has the same digest, no matter who encodes it.
///
/// # Errors
/// [`EncodeError`] if the recipe cannot be used, or a value is not finite or too large.
pub fn encode_part(
    schema: &TensorSchema,
    recipe: &Recipe,
    reference: Option<&[f32]>,
    weights: &[f32],
) -> Result<Part, EncodeError> {
    let changes = reference.map(|reference| difference(weights, reference));
    // The codecs for weights use no random numbers, so any seed will do.
    let bytes = encode(schema, recipe, changes.as_deref().unwrap_or(weights), 0, None)?.bytes;
    let mut reference = reference.map(<[f32]>::to_vec);
    add(schema, &mut reference, 0, &bytes).expect("what was encoded can be decoded");
    Ok(Part { bytes, reference: reference.unwrap_or_default() })
}

/// Adds up parts, the first of which is a full version.
///
/// # Errors
/// [`PartError`] if a part is not a payload of the model.
pub fn decode_parts<'a>(
    schema: &TensorSchema,
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<f32>, PartError> {
    let mut weights = None;
    for (place, part) in parts.into_iter().enumerate() {
        add(schema, &mut weights, place, part)?;
    }
    Ok(weights.unwrap_or_default())
}

fn difference(weights: &[f32], reference: &[f32]) -> Vec<f32> {
    weights.iter().zip(reference).map(|(weight, reference)| weight - reference).collect()
}

fn add(
    schema: &TensorSchema,
    weights: &mut Option<Vec<f32>>,
    place: usize,
    part: &[u8],
) -> Result<(), PartError> {
    let changes = decode(schema, part).map_err(|error| PartError::Payload { place, error })?;
    let sum = match weights.take() {
        Some(mut sum) => {
            sum.iter_mut().zip(&changes).for_each(|(sum, change)| *sum += change);
            sum
        }
        None => changes,
    };
    if !crate::codec::transform::sums::largest_magnitude(&sum).is_finite() {
        return Err(PartError::NotFinite { place });
    }
    *weights = Some(sum);
    Ok(())
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::TensorSpec;

    use super::*;
    use crate::codec::Codec;

    fn schema() -> TensorSchema {
        let tensor = |name: &str, shape: &[u64]| TensorSpec { name: name.into(), shape: shape.to_vec() };
        TensorSchema { tensors: vec![tensor("matrix", &[60, 100]), tensor("bias", &[7])] }
    }

    fn recipe(bits: u8) -> Recipe {
        Recipe::of(Codec::Weights { bits, block: 64 })
    }

    /// Returns a version that differs slightly from the one before.
    fn version(number: u32) -> Vec<f32> {
        let weight = |at: u32| (at as f32 * 0.37).sin() + 0.01 * number as f32 * (at as f32 * 0.73).cos();
        (0..6007).map(weight).collect()
    }

    fn distance(left: &[f32], right: &[f32]) -> f64 {
        left.iter().zip(right).map(|(left, right)| f64::from(left - right).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn errors_do_not_add_up_over_changes() {
        let whole = encode_part(&schema(), &recipe(8), None, &version(0)).unwrap();
        let (mut parts, mut errors) = (vec![whole.bytes], vec![distance(&whole.reference, &version(0))]);
        let mut reference = whole.reference;
        for number in 1..=20 {
            let part = encode_part(&schema(), &recipe(4), Some(&reference), &version(number)).unwrap();
            assert!(part.bytes.len() * 7 < 4 * 6007, "{} bytes", part.bytes.len());
            parts.push(part.bytes);
            reference = part.reference;
            errors.push(distance(&reference, &version(number)));
        }
        let decoded = decode_parts(&schema(), parts.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(decoded, reference, "the client has what the coordinator takes it to have");
        // The norm of a change is 0.55. With four bits, the error of a value is at most a fourteenth of the largest
        // value in its block.
        let change = distance(&version(1), &version(0));
        assert!(errors[1..].iter().all(|error| *error < change / 8.0), "{change} {errors:?}");
        let exact = version(20);
        let mut biases = decoded[6000..].iter().zip(&exact[6000..]);
        assert!(
            biases.all(|(left, right)| (left - right).abs() < 1e-6),
            "small tensors are as good as exact"
        );
    }

    #[test]
    fn equal_weights_make_equal_bytes() {
        let [one, other] = [(); 2].map(|()| encode_part(&schema(), &recipe(4), None, &version(3)).unwrap());
        assert_eq!(one, other);
    }

    #[test]
    fn what_is_no_part_is_said() {
        let whole = encode_part(&schema(), &recipe(8), None, &version(0)).unwrap().bytes;
        let cut = &whole[..whole.len() - 1];
        let error = decode_parts(&schema(), [&whole[..], cut]).unwrap_err();
        assert!(matches!(error, PartError::Payload { place: 1, .. }), "{error}");
        let large =
            |sign: f32| encode(&schema(), &Recipe::of(Codec::None), &vec![sign * 7e28; 6007], 0, None);
        let large = large(1.0).unwrap().bytes;
        // As many parts as a client reads, each up to 2^96, add up to less than float32's maximum. Every sum is checked
        // anyway.
        assert!(
            decode_parts(&schema(), [&large[..], &large[..]])
                .unwrap()
                .iter()
                .all(|weight| weight.is_finite())
        );
        assert_eq!(decode_parts(&schema(), []).unwrap(), Vec::<f32>::new());
        assert!(encode_part(&schema(), &recipe(4), None, &vec![f32::NAN; 6007]).is_err());
    }
}
