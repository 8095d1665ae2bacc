//! One training: its inputs and its result.

use std::sync::Arc;

use folkmoot_engine::{Model, TrainedPart};
use folkmoot_protocol::{AssignmentId, BlobDigest, Plan, Recipe, UpdateDigest, messages::AbortReason};
use folkmoot_update::codec::{Memory, PendingMemory};

/// A plan with its model, read once.
pub struct Lesson {
    /// The plan's digest.
    pub digest: BlobDigest,
    /// The plan.
    pub plan: Plan,
    /// Its model.
    pub model: Arc<Model>,
    /// The trained part of the model.
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
    /// The number of steps after which the client's time is over.
    pub steps_max: u64,
    /// The largest L2 norm of the update, in steps of the grid.
    pub clipping_norm: Option<u64>,
    /// The codec recipe of the update.
    pub recipe: Option<Box<Recipe>>,
    /// The part that the codec left out of earlier updates (error feedback).
    pub memory: Option<Memory>,
}

/// The result of a training: an update, or the reason why there is none.
pub type Trained = Result<TrainedUpdate, (AbortReason, String)>;

/// An update that can be sent.
#[derive(Debug)]
pub struct TrainedUpdate {
    pub bytes: Vec<u8>,
    pub digest: UpdateDigest,
    /// The L2 norm before clipping.
    pub norm: f64,
    /// The part that the codec left out of this update (error feedback).
    pub memory: Option<PendingMemory>,
}
