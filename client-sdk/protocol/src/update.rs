//! The bytes of a client update: a fixed header, then the elements of every tensor, one after the other.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `FMUP` |
//! | 4 | 2 | format version, now 1 |
//! | 6 | 2 | codec: 0 is float32, 1 a payload of `folkmoot-update` |
//! | 8 | 16 | assignment id |
//! | 24 | 32 | digest of the tensor schema |
//! | 56 | 8 | model version on which it is based |
//! | 64 | 8 | weight |
//! | 72 | 8 | number of examples used |
//! | 80 | 8 | sum of the losses, float64 |
//! | 88 | 8 | number of correct predictions |
//! | 96 | 8 | number of local steps |
//! | 104 | 8 | number of elements |
//! | 112 | 4 · elements for float32; any number for a payload | float32 values, or the payload |
//!
//! All numbers are little-endian. The update of an evaluation has no elements; [`sums`] may follow its header.

mod bounds;
pub mod sums;

pub use bounds::{MetricBounds, MetricFault};

use crate::AssignmentId;

/// The number of bytes in the header.
pub const HEADER_BYTES: usize = 112;
/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"FMUP";
/// The format version that this build writes and reads.
pub const FORMAT_VERSION: u16 = 1;
/// The codec of plain float32 values.
pub const CODEC_FLOAT32: u16 = 0;
/// The codec of a compressed payload, which states the encoding of each tensor.
pub const CODEC_PAYLOAD: u16 = 1;

/// The header of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateHeader {
    /// The assignment of the update.
    pub assignment_id: AssignmentId,
    /// The digest of the schema that the client trained.
    pub schema_digest: [u8; 32],
    /// The model version that training started from.
    pub base_version: u64,
    /// The weight in the mean: examples used, capped by the plan.
    pub weight: u64,
    /// The metrics of the training.
    pub metrics: UpdateMetrics,
    /// The number of values that follow.
    pub element_count: u64,
    /// True if the values follow as a compressed payload instead of float32.
    pub is_compressed: bool,
}

/// Sums over the examples of a local training. They can be aggregated exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UpdateMetrics {
    /// The number of examples, counted each time they were used.
    pub example_count: u64,
    /// The sum of the losses of these examples.
    pub loss_sum: f64,
    /// The number of correct predictions, made before the step that used the example.
    pub correct_count: u64,
    /// The number of local steps.
    pub step_count: u64,
}

impl UpdateMetrics {
    /// Returns the mean loss. Returns `None` without examples or if the sum is not finite.
    pub fn mean_loss(&self) -> Option<f64> {
        self.mean(self.loss_sum)
    }

    /// Returns the share of correct predictions, in [0, 1], or `None` without examples.
    pub fn accuracy(&self) -> Option<f64> {
        self.mean(self.correct_count as f64)
    }

    fn mean(&self, sum: f64) -> Option<f64> {
        let mean = sum / self.example_count as f64;
        mean.is_finite().then_some(mean)
    }
}

/// The header cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The first four bytes are not `FMUP`.
    #[error("the update does not start with FMUP")]
    Magic,
    /// A format version that this build does not know.
    #[error("the format version {0} is unknown")]
    FormatVersion(u16),
    /// A codec that this build does not know.
    #[error("the codec {0} is unknown")]
    Codec(u16),
}

impl UpdateHeader {
    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&MAGIC);
        put(&FORMAT_VERSION.to_le_bytes());
        put(&(if self.is_compressed { CODEC_PAYLOAD } else { CODEC_FLOAT32 }).to_le_bytes());
        put(self.assignment_id.as_bytes());
        put(&self.schema_digest);
        put(&self.base_version.to_le_bytes());
        put(&self.weight.to_le_bytes());
        put(&self.metrics.example_count.to_le_bytes());
        put(&self.metrics.loss_sum.to_le_bytes());
        put(&self.metrics.correct_count.to_le_bytes());
        put(&self.metrics.step_count.to_le_bytes());
        put(&self.element_count.to_le_bytes());
        bytes
    }

    /// Decodes a header. The coordinator must check whether its numbers are allowed.
    ///
    /// # Errors
    /// [`HeaderError`] if the magic bytes, the format version or the codec is unknown.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, HeaderError> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if bytes[..4] != MAGIC {
            return Err(HeaderError::Magic);
        }
        if u16_at(4) != FORMAT_VERSION {
            return Err(HeaderError::FormatVersion(u16_at(4)));
        }
        let is_compressed = match u16_at(6) {
            CODEC_FLOAT32 => false,
            CODEC_PAYLOAD => true,
            codec => return Err(HeaderError::Codec(codec)),
        };
        let u64_at = |at: usize| u64::from_le_bytes(array_at(bytes, at));
        Ok(Self {
            assignment_id: AssignmentId::from_bytes(array_at(bytes, 8)),
            schema_digest: array_at(bytes, 24),
            base_version: u64_at(56),
            weight: u64_at(64),
            metrics: UpdateMetrics {
                example_count: u64_at(72),
                loss_sum: f64::from_le_bytes(array_at(bytes, 80)),
                correct_count: u64_at(88),
                step_count: u64_at(96),
            },
            element_count: u64_at(104),
            is_compressed,
        })
    }
}

/// Returns the size in bytes of an update with `element_count` float32 values, or `None` on overflow.
pub fn update_bytes(element_count: u64) -> Option<u64> {
    element_count.checked_mul(4)?.checked_add(HEADER_BYTES as u64)
}

fn array_at<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range has N bytes")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_survives_its_bytes(
            id: [u8; 16], schema: [u8; 32], numbers: [u64; 6], loss_sum in -1e300f64..1e300, is_compressed: bool,
        ) {
            let header = UpdateHeader {
                assignment_id: AssignmentId::from_bytes(id),
                schema_digest: schema,
                base_version: numbers[0],
                weight: numbers[1],
                metrics: UpdateMetrics {
                    example_count: numbers[2],
                    loss_sum,
                    correct_count: numbers[3],
                    step_count: numbers[4],
                },
                element_count: numbers[5],
                is_compressed,
            };
            prop_assert_eq!(UpdateHeader::decode(&header.encode()), Ok(header));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: [u8; HEADER_BYTES]) {
            let _ = UpdateHeader::decode(&bytes);
        }
    }

    #[test]
    fn lengths_that_overflow_are_none() {
        assert_eq!(update_bytes(10), Some(152));
        assert_eq!(update_bytes(1 << 62), None);
    }
}
