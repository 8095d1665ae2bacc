use folkmoot_protocol::{AssignmentId, TaskId, secure::EXTRAS};
use folkmoot_unmasking::RingSums;
use serde::{Deserialize, Serialize};

/// The first bytes of a plain sum.
const PLAIN: [u8; 8] = *b"FKMTSUM1";
/// The first bytes of a masked sum.
const MASKED: [u8; 8] = *b"FKMTMSK1";

/// The sum of the updates that an edge aggregator holds for a round. Sums of integers do not depend on their order, so a sum
/// of partial sums is the sum of all updates, bit for bit.
#[derive(Debug, PartialEq, Eq)]
pub enum PartialSum {
    /// The sum of each value, on the task's grid.
    Plain(Vec<i64>),
    /// The sum of masked updates, with their masks. The sums wrap around at 2^64, which every ring divides.
    Masked(RingSums),
}

/// The question for a partial sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumQuestion {
    /// The task of the round.
    pub task_id: TaskId,
    /// The updates to sum, by assignment id.
    pub updates: Vec<UpdateFactor>,
}

/// An update and its factor in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateFactor {
    /// The assignment of the update.
    pub assignment_id: AssignmentId,
    /// The bits of the factor as a 64-bit float, because every bit counts. 1 for a masked update.
    pub factor_bits: u64,
}

impl UpdateFactor {
    /// Creates an entry of a question.
    pub fn new(assignment_id: AssignmentId, factor: f64) -> Self {
        Self { assignment_id, factor_bits: factor.to_bits() }
    }

    /// Returns the factor.
    pub fn factor(&self) -> f64 {
        f64::from_bits(self.factor_bits)
    }
}

/// Bytes that are not a sum of the expected kind and length.
#[derive(Debug, thiserror::Error)]
#[error(
    "the {bytes} bytes are not a {kind} sum of {values} values; send the sum that the coordinator has asked for"
)]
pub struct PartialSumError {
    bytes: usize,
    kind: &'static str,
    values: usize,
}

impl PartialSum {
    /// Returns the length of a sum of `values` values, in bytes.
    pub fn bytes(values: usize, is_masked: bool) -> usize {
        PLAIN.len() + 8 * (values + if is_masked { EXTRAS } else { 0 })
    }

    /// Encodes the sum: 8 bytes for its kind, then each value, then the extras of a masked sum; little-endian integers of 8
    /// bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Plain(values) => {
                bytes.reserve_exact(Self::bytes(values.len(), false));
                bytes.extend(PLAIN);
                values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            }
            Self::Masked(sums) => {
                bytes.reserve_exact(Self::bytes(sums.values.len(), true));
                bytes.extend(MASKED);
                sums.values.iter().chain(&sums.extras).for_each(|value| bytes.extend(value.to_le_bytes()));
            }
        }
        bytes
    }

    /// Decodes a sum of `values` values.
    ///
    /// # Errors
    /// [`PartialSumError`] if the kind or the length is another one.
    pub fn decode(bytes: &[u8], values: usize, is_masked: bool) -> Result<Self, PartialSumError> {
        let kind = if is_masked { MASKED } else { PLAIN };
        let words = bytes.strip_prefix(&kind).filter(|_| bytes.len() == Self::bytes(values, is_masked));
        let words = words.ok_or(PartialSumError {
            bytes: bytes.len(),
            kind: if is_masked { "masked" } else { "plain" },
            values,
        })?;
        let (words, _) = words.as_chunks::<8>();
        if !is_masked {
            return Ok(Self::Plain(words.iter().map(|word| i64::from_le_bytes(*word)).collect()));
        }
        let (words, extras) = words.split_at(values);
        let word = |word: &[u8; 8]| u64::from_le_bytes(*word);
        let mut sums = RingSums { values: words.iter().map(word).collect(), extras: [0; EXTRAS] };
        sums.extras.iter_mut().zip(extras).for_each(|(sum, extra)| *sum = word(extra));
        Ok(Self::Masked(sums))
    }

    /// Returns the largest magnitude of the values of a plain sum; 0 for a masked sum, whose values are uniform.
    pub fn peak(&self) -> u64 {
        match self {
            Self::Plain(values) => values.iter().map(|value| value.unsigned_abs()).max().unwrap_or_default(),
            Self::Masked(_) => 0,
        }
    }

    /// Adds the sum to the values of other updates. Does nothing for a masked sum.
    pub(crate) fn add_to(&self, sums: &mut [i64]) {
        if let Self::Plain(values) = self {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
        }
    }

    /// Returns the masked sum; `None` for a plain one.
    pub(crate) fn masked(&self) -> Option<&RingSums> {
        match self {
            Self::Plain(_) => None,
            Self::Masked(sums) => Some(sums),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_the_same_after_its_way() {
        let plain = PartialSum::Plain(vec![1, -2, i64::MIN]);
        let masked = PartialSum::Masked(RingSums { values: vec![u64::MAX, 7], extras: [3; EXTRAS] });
        assert_eq!(PartialSum::decode(&plain.encode(), 3, false).unwrap(), plain);
        assert_eq!(PartialSum::decode(&masked.encode(), 2, true).unwrap(), masked);
        assert_eq!(plain.peak(), 1 << 63);
    }

    #[test]
    fn another_kind_or_length_is_refused() {
        let bytes = PartialSum::Plain(vec![1, 2]).encode();
        for (bytes, values, is_masked) in
            [(&bytes[..], 3, false), (&bytes[..], 2, true), (&bytes[1..], 2, false), (&[], 0, false)]
        {
            assert!(PartialSum::decode(bytes, values, is_masked).is_err());
        }
    }
}
