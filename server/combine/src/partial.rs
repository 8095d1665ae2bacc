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

/// The size of a plain sum, in steps of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SumSize {
    /// The largest magnitude of its values.
    pub peak: f64,
    /// Its L2 norm.
    pub norm: f64,
}

impl SumSize {
    /// Measures an encoded sum of `values` values, without a copy. A masked sum has no size, because its values are uniform.
    ///
    /// # Errors
    /// [`PartialSumError`] if the bytes are not such a sum.
    pub fn of(bytes: &[u8], values: usize, is_masked: bool) -> Result<Self, PartialSumError> {
        let words = words_of(bytes, values, is_masked)?;
        if is_masked {
            return Ok(Self::default());
        }
        let magnitudes = || words.iter().map(|word| i64::from_le_bytes(*word).unsigned_abs() as f64);
        let peak = magnitudes().fold(0.0, f64::max);
        Ok(Self { peak, norm: magnitudes().map(|value| value * value).sum::<f64>().sqrt() })
    }
}

/// Returns the integers of an encoded sum.
fn words_of(bytes: &[u8], values: usize, is_masked: bool) -> Result<&[[u8; 8]], PartialSumError> {
    let kind = if is_masked { MASKED } else { PLAIN };
    let words = bytes.strip_prefix(&kind).filter(|_| bytes.len() == PartialSum::bytes(values, is_masked));
    let wrong =
        || PartialSumError { bytes: bytes.len(), kind: if is_masked { "masked" } else { "plain" }, values };
    Ok(words.ok_or_else(wrong)?.as_chunks::<8>().0)
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
        let words = words_of(bytes, values, is_masked)?;
        if !is_masked {
            return Ok(Self::Plain(words.iter().map(|word| i64::from_le_bytes(*word)).collect()));
        }
        let (words, extras) = words.split_at(values);
        let word = |word: &[u8; 8]| u64::from_le_bytes(*word);
        let mut sums = RingSums { values: words.iter().map(word).collect(), extras: [0; EXTRAS] };
        sums.extras.iter_mut().zip(extras).for_each(|(sum, extra)| *sum = word(extra));
        Ok(Self::Masked(sums))
    }

    /// Adds another sum of the same kind and length.
    pub fn add(&mut self, more: &Self) {
        match (self, more) {
            (Self::Plain(values), more) => more.add_to(values),
            (Self::Masked(sums), Self::Masked(more)) => sums.add(more),
            (Self::Masked(_), Self::Plain(_)) => {}
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
        let size = SumSize::of(&PartialSum::Plain(vec![3, -4]).encode(), 2, false).unwrap();
        assert_eq!(size, SumSize { peak: 4.0, norm: 5.0 });
        assert_eq!(SumSize::of(&masked.encode(), 2, true).unwrap(), SumSize::default());
        let mut sum = PartialSum::Plain(vec![1, i64::MAX]);
        sum.add(&PartialSum::Plain(vec![2, 1]));
        assert_eq!(sum, PartialSum::Plain(vec![3, i64::MIN]), "sums wrap around, as those of updates do");
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
