//! A stopped training as the client stores it: how long it has trained, then the engine's checkpoint.

use std::time::Duration;

/// What a client stores while it trains: milliseconds `u64`, little-endian, then the engine's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredTraining<'a> {
    /// How long it has trained, restarts left out.
    pub trained: Duration,
    /// The engine's checkpoint, which notices when a byte is missing or another.
    pub checkpoint: &'a [u8],
}

impl<'a> StoredTraining<'a> {
    /// Writes it as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let milliseconds = u64::try_from(self.trained.as_millis()).unwrap_or(u64::MAX);
        [&milliseconds.to_le_bytes()[..], self.checkpoint].concat()
    }

    /// Reads it. Of bytes that are too short no checkpoint is left, which the engine then refuses.
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
