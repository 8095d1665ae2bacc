//! A stored training: the time trained so far, then the engine's checkpoint.

use std::time::Duration;

/// A stored training. Format: milliseconds as little-endian `u64`, then the engine's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredTraining<'a> {
    /// The time trained so far, without the time between restarts.
    pub trained: Duration,
    /// The engine's checkpoint. The engine detects missing or changed bytes.
    pub checkpoint: &'a [u8],
}

impl<'a> StoredTraining<'a> {
    /// Encodes the stored training.
    pub fn encode(&self) -> Vec<u8> {
        let milliseconds = u64::try_from(self.trained.as_millis()).unwrap_or(u64::MAX);
        [&milliseconds.to_le_bytes()[..], self.checkpoint].concat()
    }

    /// Decodes a stored training. If the bytes are too short, the checkpoint is empty, which the engine refuses.
    pub fn decode(bytes: &'a [u8]) -> Self {
        let (milliseconds, checkpoint) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
        Self { trained: Duration::from_millis(u64::from_le_bytes(*milliseconds)), checkpoint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_undoes_encoding() {
        let stored = StoredTraining { trained: Duration::from_millis(1234), checkpoint: b"FMCP and more" };
        assert_eq!(StoredTraining::decode(&stored.encode()), stored);
        assert_eq!(stored.encode()[..9], [0xd2, 4, 0, 0, 0, 0, 0, 0, b'F']);
    }

    #[test]
    fn bytes_that_are_too_short_hold_no_checkpoint() {
        for length in 0..=8 {
            let bytes = vec![0; length];
            let empty = StoredTraining { trained: Duration::ZERO, checkpoint: &[] };
            assert_eq!(StoredTraining::decode(&bytes), empty, "{length} bytes");
        }
    }
}
