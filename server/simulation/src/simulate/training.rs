//! One training: its inputs and its result.

use std::sync::Arc;

use folkmoot_client::parts::{OwnTensors, with_own, with_personal};
use folkmoot_engine::{Model, TrainedPart};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, DriftCorrection, Plan, Recipe, UpdateDigest, Work, messages::AbortReason,
};
use folkmoot_update::codec::{Memory, PendingMemory};

/// A plan and its model. Each plan is read only once.
pub struct Lesson {
    /// The plan's digest.
    pub digest: BlobDigest,
    /// The plan.
    pub plan: Plan,
    /// The plan's model.
    pub model: Arc<Model>,
    /// The trained part of the model.
    pub part: TrainedPart,
}

/// One training.
#[derive(Clone)]
pub struct Training {
    pub lesson: Arc<Lesson>,
    /// All weights of the model, with the client's own personal tensors.
    pub weights: Arc<Vec<f32>>,
    /// All weights of the client's own model; `None` if it has none, or none yet.
    pub own_weights: Option<Arc<Vec<f32>>>,
    /// All weights of the model, with the personal tensors of the model's file.
    pub shared: Arc<Vec<f32>>,
    pub client: usize,
    pub assignment_id: AssignmentId,
    pub base_version: u64,
    /// The number of steps after which the training ends.
    pub steps_max: u64,
    /// The maximum L2 norm of the update, in steps of the grid; `None` for no clipping.
    pub clipping_norm: Option<u64>,
    /// The constant that is added to each gradient, in the order of the plan's schema; `None` if all are 0.
    pub correction: Option<Vec<f32>>,
    /// The codec recipe of the update; `None` to send float32.
    pub recipe: Option<Box<Recipe>>,
    /// The error feedback of the codec: the values that it left out of earlier updates.
    pub memory: Option<Memory>,
    /// Whether an evaluation sends the sums of every metric.
    pub metric_sums: bool,
}

/// The result of a training: an update, or the reason why there is none with a text for people.
pub type Trained = Result<TrainedUpdate, (AbortReason, String)>;

impl Lesson {
    /// Returns the weights with which a client predicts. Without any of its own, the weights stay as they are.
    pub fn with_own(&self, mut weights: Arc<Vec<f32>>, own: &OwnTensors) -> Arc<Vec<f32>> {
        if !own.personal.is_empty() || !own.model.is_empty() {
            let whole: &mut Vec<f32> = Arc::make_mut(&mut weights);
            with_own(&self.part, own, whole);
        }
        weights
    }

    /// Returns the weights from which a client starts, given those of the version, and those of its own model if it trains one.
    pub fn starting_weights(
        &self,
        shared: &Arc<Vec<f32>>,
        own: &OwnTensors,
    ) -> (Arc<Vec<f32>>, Option<Arc<Vec<f32>>>) {
        if self.plan.work == Work::Evaluation {
            return (self.with_own(shared.clone(), own), None);
        }
        let own_weights = (!own.model.is_empty()).then(|| self.with_own(shared.clone(), own));
        let mut weights = shared.clone();
        if !own.personal.is_empty() {
            let whole: &mut Vec<f32> = Arc::make_mut(&mut weights);
            with_personal(&self.part, own, whole);
        }
        (weights, own_weights)
    }
}

impl Training {
    /// Returns whether the client keeps something from this training for its next one.
    pub fn leaves_something(&self) -> bool {
        let Lesson { part, plan, .. } = &*self.lesson;
        let is_personal = !part.personal_schema().tensors.is_empty() || plan.training.is_personal();
        let keeps_variate = plan.drift_correction.is_some_and(DriftCorrection::keeps_control_variate);
        self.memory.is_some() || is_personal || keeps_variate
    }
}

/// An update that can be sent.
#[derive(Debug)]
pub struct TrainedUpdate {
    pub bytes: Vec<u8>,
    pub digest: UpdateDigest,
    /// The L2 norm before clipping.
    pub norm: f64,
    /// The error feedback after this update: the values that the codec has left out so far.
    pub memory: Option<PendingMemory>,
    /// The client's own tensors after the training.
    pub own: OwnTensors,
}
