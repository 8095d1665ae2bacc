//! Saved updates. With them, an interrupted simulation can resume: it starts again from the beginning, but reads the
//! updates that it has trained before.
//!
//! Everything else in a simulation is fast and a function of its seed, so the result is the same, bit for bit.

use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_protocol::{UpdateDigest, update::HEADER_BYTES};
use folkmoot_training::OwnTensors;

use super::training::{TrainedUpdate, Training};

/// A folder of updates. A file's name identifies the training of its update.
pub struct Kept(PathBuf);

impl Kept {
    /// Opens a folder for updates, and creates it if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Finds the saved update of a training. An incomplete file is treated as missing.
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
            own: OwnTensors::default(),
            bytes: bytes.to_vec(),
        })
    }

    /// Saves the update of a training. If that fails, a resumed simulation repeats the training.
    pub fn keep(&self, training: &Training, update: &TrainedUpdate) {
        let whole = [update.digest.as_bytes().as_slice(), &update.norm.to_le_bytes(), &update.bytes].concat();
        if let Err(error) = fs::write(self.path(training), whole) {
            tracing::warn!(%error, "an update could not be saved; a resumed simulation will train it again");
        }
    }

    /// Returns the path of a training's file. The name depends on the client, assignment, plan, steps, recipe and
    /// weights, so another simulation does not find the file.
    fn path(&self, training: &Training) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        hasher.update(training.lesson.digest.as_bytes());
        hasher.update(&(training.client as u64).to_le_bytes());
        hasher.update(&training.steps_max.to_le_bytes());
        // The recipe is hashed separately because it comes with the assignment, not with the plan.
        hasher.update(&serde_json::to_vec(&training.recipe).unwrap_or_default());
        if training.metric_sums {
            hasher.update(b"metric sums");
        }
        for weight in training.weights.iter() {
            hasher.update(&weight.to_le_bytes());
        }
        let from = hasher.finalize().to_hex();
        self.0.join(format!("{}-{}", training.assignment_id, &from[..16]))
    }
}
