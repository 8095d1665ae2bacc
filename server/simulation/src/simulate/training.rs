//! One training: what it is made of, and what comes of it.

use std::sync::Arc;

use folkmoot_engine::{Model, TrainedPart};
use folkmoot_protocol::{AssignmentId, BlobDigest, Plan, Recipe, UpdateDigest, messages::AbortReason};
use folkmoot_update::codec::{Memory, PendingMemory};

/// What a plan asks for, read once.
pub struct Lesson {
    /// The plan's digest.
    pub digest: BlobDigest,
    /// The plan.
    pub plan: Plan,
    /// Its model.
    pub model: Arc<Model>,
    /// What of the model travels.
    pub part: TrainedPart,
}

/// One training.
#[derive(Clone)]
pub struct Training {
    pub lesson: Arc<Lesson>,
    /// All weights of the model.
    pub weights: Arc<Vec<f32>>,
    pub client: usize,
    pub assignment_id: AssignmentId,
    pub base_version: u64,
    /// Steps after which the client's time is over.
    pub steps_max: u64,
    /// The largest L2 norm of the update, in steps of the grid.
    pub clipping_norm: Option<u64>,
    /// How the update is compressed.
    pub recipe: Option<Box<Recipe>>,
    /// What earlier updates have left out.
    pub memory: Option<Memory>,
}

/// What came of it: the update's bytes, or why there are none.
pub type Trained = Result<TrainedUpdate, (AbortReason, String)>;

/// An update that can be sent.
#[derive(Debug)]
pub struct TrainedUpdate {
    pub bytes: Vec<u8>,
    pub digest: UpdateDigest,
    /// The L2 norm before anything was clipped.
    pub norm: f64,
    /// What it leaves out.
    pub memory: Option<PendingMemory>,
}
