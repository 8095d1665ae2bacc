//! A stored training: the time trained so far, the result of a personal training, then the engine's checkpoint.

use std::{borrow::Cow, time::Duration};

/// A stored training. Its bytes, in little endian, are:
///
/// 1. the time trained so far in milliseconds, `u64`;
/// 2. the number of weights after the personal training, `u64`; 0 if there are none;
/// 3. these weights, `f32` each;
/// 4. the engine's checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTraining<'a> {
    /// The time trained so far, without the time between restarts.
    pub trained: Duration,
    /// All weights after the personal training. `None` if it is not over, or if the plan has none.
    pub personal: Option<Cow<'a, [f32]>>,
    /// The engine's checkpoint. The engine detects missing or changed bytes.
    pub checkpoint: &'a [u8],
}

impl<'a> StoredTraining<'a> {
    /// Encodes the stored training.
    pub fn encode(&self) -> Vec<u8> {
        let milliseconds = u64::try_from(self.trained.as_millis()).unwrap_or(u64::MAX);
        let personal = self.personal.as_deref().unwrap_or_default();
        let mut bytes = Vec::with_capacity(16 + size_of_val(personal) + self.checkpoint.len());
        bytes.extend(milliseconds.to_le_bytes());
        bytes.extend((personal.len() as u64).to_le_bytes());
        bytes.extend(personal.iter().flat_map(|weight| weight.to_le_bytes()));
        bytes.extend(self.checkpoint);
        bytes
    }

    /// Decodes a stored training. If the bytes are too short, the checkpoint is empty, which the engine refuses.
    pub fn decode(bytes: &'a [u8]) -> Self {
        let read = || {
            let (milliseconds, rest) = bytes.split_first_chunk()?;
            let (count, rest) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(4)?;
            let (weights, checkpoint) = rest.split_at_checked(length)?;
            let weights = weights.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            let personal = (length > 0).then(|| weights.collect::<Vec<_>>().into());
            let trained = Duration::from_millis(u64::from_le_bytes(*milliseconds));
            Some(Self { trained, personal, checkpoint })
        };
        read().unwrap_or(Self { trained: Duration::ZERO, personal: None, checkpoint: &[] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_undoes_encoding() {
        for personal in [None, Some(Cow::Owned(vec![1.5, -2.0]))] {
            let trained = Duration::from_millis(1234);
            let stored = StoredTraining { trained, personal, checkpoint: b"FMCP and more" };
            let bytes = stored.encode();
            assert_eq!(StoredTraining::decode(&bytes), stored);
            let count = stored.personal.as_ref().map_or(0, |weights| weights.len() as u8);
            assert_eq!(bytes[..9], [0xd2, 4, 0, 0, 0, 0, 0, 0, count]);
        }
    }

    #[test]
    fn bytes_that_are_too_short_hold_no_checkpoint() {
        let empty = StoredTraining { trained: Duration::ZERO, personal: None, checkpoint: &[] };
        for length in 0..=16 {
            assert_eq!(StoredTraining::decode(&vec![0; length]), empty, "{length} bytes");
        }
        assert_eq!(StoredTraining::decode(&[255; 40]), empty, "more weights than there are bytes");
    }
}
