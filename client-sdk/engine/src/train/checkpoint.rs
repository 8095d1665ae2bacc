//! The byte format of checkpoints. All numbers are little-endian:
//!
//! `"FMCP"`, version `u32`, fingerprint `u64`, seed `u64`, example count `u64`, loss sum `f64`,
//! correct count `u64`, step count `u64`, last loss `f64`, number of weights `u64`, number of the
//! optimizer's numbers `u64`, weights `f32`, the optimizer's numbers `f32`, checksum `u64` over everything before it.

use folkmoot_protocol::TrainingPlan;

use folkmoot_loss::metrics::Metrics;

const MAGIC: &[u8; 4] = b"FMCP";
const VERSION: u32 = 2;
const CHECKSUM_BYTES: usize = 8;

/// Why training cannot resume from a checkpoint. Start training again from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The bytes are truncated, changed, or not a checkpoint.
    #[error("the checkpoint is damaged; training must start over")]
    Damaged,
    /// Another version of the engine wrote the checkpoint.
    #[error(
        "the checkpoint has version {0}, but this engine reads version {VERSION}; training must start over"
    )]
    OtherVersion(u32),
    /// The checkpoint was made with another plan, other starting weights or other examples.
    #[error("the checkpoint belongs to another training run; training must start over")]
    OtherTraining,
}

/// The part of the training state that does not follow from the trainer's arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checkpoint {
    /// The fingerprint of the arguments, from [`fingerprint`].
    pub(crate) fingerprint: u64,
    pub(crate) seed: u64,
    pub(crate) metrics: Metrics,
    pub(crate) loss: f64,
    pub(crate) weights: Vec<f32>,
    /// The optimizer's state.
    pub(crate) state: Vec<f32>,
}

impl Checkpoint {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96 + 4 * (self.weights.len() + self.state.len()));
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        let Metrics { example_count, loss_sum, correct_count, step_count } = self.metrics;
        let (weights, state) = (self.weights.len() as u64, self.state.len() as u64);
        for number in [
            self.fingerprint,
            self.seed,
            example_count,
            loss_sum.to_bits(),
            correct_count,
            step_count,
            self.loss.to_bits(),
            weights,
            state,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        for element in self.weights.iter().chain(&self.state) {
            bytes.extend(element.to_le_bytes());
        }
        bytes.extend(hash(HASH_START, &bytes).to_le_bytes());
        bytes
    }

    /// # Errors
    /// Returns a [`CheckpointError`] if the bytes are not a complete checkpoint of this version.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let mut reader = Reader(bytes);
        if reader.take::<4>()? != *MAGIC {
            return Err(CheckpointError::Damaged);
        }
        let version = u32::from_le_bytes(reader.take()?);
        if version != VERSION {
            return Err(CheckpointError::OtherVersion(version));
        }
        let content = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(CheckpointError::Damaged)?;
        if hash(HASH_START, &bytes[..content]).to_le_bytes() != bytes[content..] {
            return Err(CheckpointError::Damaged);
        }
        let (fingerprint, seed) = (reader.number()?, reader.number()?);
        let metrics = Metrics {
            example_count: reader.number()?,
            loss_sum: f64::from_bits(reader.number()?),
            correct_count: reader.number()?,
            step_count: reader.number()?,
        };
        let loss = f64::from_bits(reader.number()?);
        let (weight_count, state_count) = (reader.number()?, reader.number()?);
        let weights = reader.floats(weight_count)?;
        let state = reader.floats(state_count)?;
        Ok(Self { fingerprint, seed, metrics, loss, weights, state })
    }

    /// Checks that the checkpoint was made with these arguments.
    ///
    /// # Errors
    /// Returns [`CheckpointError::OtherTraining`] if it was not.
    pub(crate) fn check(
        &self,
        fingerprint: u64,
        weights: usize,
        state: usize,
    ) -> Result<(), CheckpointError> {
        let found = (self.fingerprint, self.weights.len(), self.state.len());
        if found == (fingerprint, weights, state) { Ok(()) } else { Err(CheckpointError::OtherTraining) }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CheckpointError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CheckpointError::Damaged)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u64, CheckpointError> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads `count` floats. Checks that the bytes exist before it allocates memory.
    fn floats(&mut self, count: u64) -> Result<Vec<f32>, CheckpointError> {
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(4));
        let (floats, rest) =
            bytes.and_then(|bytes| self.0.split_at_checked(bytes)).ok_or(CheckpointError::Damaged)?;
        self.0 = rest;
        Ok(floats.as_chunks().0.iter().map(|float| f32::from_le_bytes(*float)).collect())
    }
}

/// Returns a fingerprint of the arguments of a training run, to detect checkpoints of another run. It does not protect
/// against forged checkpoints: checkpoints never leave the device.
///
/// The plan is hashed by its `Debug` output, which contains every field and distinguishes all numbers.
pub(crate) fn fingerprint(plan: &TrainingPlan, starting_weights: &[f32], example_count: usize) -> u64 {
    let mut state = hash(HASH_START, format!("{plan:?}").as_bytes());
    state = hash(state, &(example_count as u64).to_le_bytes());
    for weight in starting_weights {
        state = hash(state, &weight.to_le_bytes());
    }
    state
}

/// The offset basis of 64-bit FNV-1a.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues an FNV-1a hash.
fn hash(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let metrics = Metrics { example_count: 3, loss_sum: 0.5, correct_count: 2, step_count: 7 };
        let (weights, state) = (vec![1.0, -2.0], vec![0.25]);
        Checkpoint { fingerprint: 9, seed: 4, metrics, loss: 0.125, weights, state }
    }

    #[test]
    fn decoding_undoes_encoding() {
        assert_eq!(Checkpoint::decode(&checkpoint().encode()), Ok(checkpoint()));
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let bytes = checkpoint().encode();
        for length in 0..bytes.len() {
            assert!(Checkpoint::decode(&bytes[..length]).is_err(), "cut to {length}");
        }
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            assert!(Checkpoint::decode(&changed).is_err(), "byte {index} changed");
        }
    }
}
