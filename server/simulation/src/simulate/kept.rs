//! Updates that are kept, so that an interrupted simulation goes on: it begins anew, and what was trained is read.
//!
//! Everything else of a simulation is a function of its seed and quick, so the result is the same, bit for bit.

use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_protocol::{UpdateDigest, update::HEADER_BYTES};

use super::training::{TrainedUpdate, Training};

/// A folder of updates, by what they were trained from.
pub struct Kept(PathBuf);

impl Kept {
    /// Keeps updates in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Finds what came of this training before. A file that is not whole is as none.
    pub fn find(&self, training: &Training) -> Option<TrainedUpdate> {
        let whole = fs::read(self.path(training)).ok()?;
        let (kept, rest) = whole.split_first_chunk::<32>()?;
        let (norm, bytes) = rest.split_first_chunk::<8>()?;
        let digest = UpdateDigest::of(bytes);
        let is_whole = digest.as_bytes() == kept.as_slice() && bytes.len() >= HEADER_BYTES;
        is_whole.then(|| TrainedUpdate {
            digest,
            norm: f64::from_le_bytes(*norm),
            memory: None,
            bytes: bytes.to_vec(),
        })
    }

    /// Keeps what came of a training. One that cannot be kept is trained again.
    pub fn keep(&self, training: &Training, update: &TrainedUpdate) {
        let whole = [update.digest.as_bytes().as_slice(), &update.norm.to_le_bytes(), &update.bytes].concat();
        if let Err(error) = fs::write(self.path(training), whole) {
            tracing::warn!(%error, "an update could not be kept");
        }
    }

    /// The name tells the client, the assignment, the plan, the recipe and the weights: another simulation finds nothing of it.
    fn path(&self, training: &Training) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        hasher.update(training.lesson.digest.as_bytes());
        hasher.update(&(training.client as u64).to_le_bytes());
        hasher.update(&training.steps_max.to_le_bytes());
        // Not in the plan: how an update travels is said with the assignment.
        hasher.update(&serde_json::to_vec(&training.recipe).unwrap_or_default());
        for weight in training.weights.iter() {
            hasher.update(&weight.to_le_bytes());
        }
        let from = hasher.finalize().to_hex();
        self.0.join(format!("{}-{}", training.assignment_id, &from[..16]))
    }
}
