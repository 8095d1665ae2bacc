//! The bytes of a masked update: a header of 72 bytes, the masked values in as many bits as the ring has, packed without gaps
//! from the lowest bit, and the masked extras as 64-bit numbers. All numbers are little-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `FMMU` |
//! | 4 | 2 | format version, now 1 |
//! | 6 | 2 | 0 |
//! | 8 | 16 | assignment id |
//! | 24 | 32 | digest of the tensor schema |
//! | 56 | 8 | model version on which it is based |
//! | 64 | 8 | number of values |

use crate::{AssignmentId, update::UpdateMetrics};

/// The number of bytes in the header.
pub const MASKED_HEADER_BYTES: usize = 72;
/// The first four bytes.
pub const MASKED_MAGIC: [u8; 4] = *b"FMMU";
/// The number of extras: the weight and the four metrics.
pub const EXTRAS: usize = 5;
/// The number of fraction bits of the sum of losses.
const LOSS_BITS: i32 = 20;
/// The largest sum of losses of one client: the sums of 10,000 clients cannot wrap.
const LOSS_MAX: f64 = (1u64 << 29) as f64;

/// The format version that this build writes and reads.
const FORMAT_VERSION: u16 = 1;

/// The header of a masked update. It says nothing about the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskedHeader {
    /// The assignment of the update.
    pub assignment_id: AssignmentId,
    /// The digest of the schema that the client trained.
    pub schema_digest: [u8; 32],
    /// The model version that training started from.
    pub base_version: u64,
    /// The number of values.
    pub element_count: u64,
}

/// The bytes are not the header of a masked update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the update must begin with FMMU and format version {FORMAT_VERSION}, because the plan demands masked updates"
)]
pub struct MaskedHeaderError;

impl MaskedHeader {
    /// Encodes the header.
    pub fn encode(&self) -> [u8; MASKED_HEADER_BYTES] {
        let mut bytes = [0; MASKED_HEADER_BYTES];
        bytes[..4].copy_from_slice(&MASKED_MAGIC);
        bytes[4..6].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[8..24].copy_from_slice(self.assignment_id.as_bytes());
        bytes[24..56].copy_from_slice(&self.schema_digest);
        bytes[56..64].copy_from_slice(&self.base_version.to_le_bytes());
        bytes[64..].copy_from_slice(&self.element_count.to_le_bytes());
        bytes
    }

    /// Decodes a header. The coordinator must check whether it belongs to the assignment.
    ///
    /// # Errors
    /// [`MaskedHeaderError`] if the magic bytes or the format version are unknown.
    pub fn decode(bytes: &[u8; MASKED_HEADER_BYTES]) -> Result<Self, MaskedHeaderError> {
        if bytes[..4] != MASKED_MAGIC || bytes[4..8] != [FORMAT_VERSION.to_le_bytes()[0], 0, 0, 0] {
            return Err(MaskedHeaderError);
        }
        let word = |at: usize| u64::from_le_bytes(array_at(bytes, at));
        Ok(Self {
            assignment_id: AssignmentId::from_bytes(array_at(bytes, 8)),
            schema_digest: array_at(bytes, 24),
            base_version: word(56),
            element_count: word(64),
        })
    }
}

fn array_at<const N: usize>(bytes: &[u8; MASKED_HEADER_BYTES], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range has N bytes")
}

/// The numbers that travel inside the mask beside the values. Their sums are over the cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaskedExtras {
    /// The weight of the update, or the sum of the weights.
    pub weight: u64,
    /// The metrics of the training. The sum of the losses is rounded to 2^-20.
    pub metrics: UpdateMetrics,
}

impl MaskedExtras {
    /// Returns the numbers to mask.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the loss is clamped, and sums wrap"
    )]
    pub fn to_words(self) -> [u64; EXTRAS] {
        let UpdateMetrics { example_count, loss_sum, correct_count, step_count } = self.metrics;
        let loss = if loss_sum.is_finite() { loss_sum.clamp(-LOSS_MAX, LOSS_MAX) } else { 0.0 };
        let loss = (loss * f64::from(LOSS_BITS).exp2()).round() as i64;
        [self.weight, example_count, loss as u64, correct_count, step_count]
    }

    /// Reads the numbers, or their sums.
    #[allow(clippy::cast_possible_wrap, reason = "losses are signed")]
    pub fn from_words([weight, example_count, loss, correct_count, step_count]: [u64; EXTRAS]) -> Self {
        let loss_sum = loss as i64 as f64 * f64::from(-LOSS_BITS).exp2();
        Self { weight, metrics: UpdateMetrics { example_count, loss_sum, correct_count, step_count } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_its_bytes_and_others_are_refused() {
        let header = MaskedHeader {
            assignment_id: AssignmentId::from_random_bytes([3; 16]),
            schema_digest: [5; 32],
            base_version: 7,
            element_count: 1 << 40,
        };
        let bytes = header.encode();
        assert_eq!(MaskedHeader::decode(&bytes), Ok(header));
        for at in [0, 4, 6] {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(MaskedHeader::decode(&other), Err(MaskedHeaderError));
        }
    }

    #[test]
    fn extras_add_up_as_words() {
        let extras = |weight, loss_sum| MaskedExtras {
            weight,
            metrics: UpdateMetrics { example_count: weight, loss_sum, correct_count: 1, step_count: 4 },
        };
        let [one, other] = [extras(3, -0.5), extras(4, 2.25)].map(MaskedExtras::to_words);
        let sum = std::array::from_fn(|at| one[at].wrapping_add(other[at]));
        let expected = MaskedExtras {
            weight: 7,
            metrics: UpdateMetrics { example_count: 7, loss_sum: 1.75, correct_count: 2, step_count: 8 },
        };
        assert_eq!(MaskedExtras::from_words(sum), expected);
        assert_eq!(MaskedExtras::from_words(extras(1, f64::NAN).to_words()).metrics.loss_sum, 0.0);
    }
}
