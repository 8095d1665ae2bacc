//! One training: its inputs and its result.

use std::sync::Arc;

use folkmoot_engine::{FitError, Model, TrainedPart, Travelling};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, DriftCorrection, Plan, Recipe, UpdateDigest, Work, messages::AbortReason,
};
use folkmoot_training::{OwnTensors, with_model, with_own, with_personal};
use folkmoot_update::codec::{Memory, PendingMemory};

/// A plan and its model. Each plan is read only once.
pub struct Lesson {
    /// The plan's digest.
    pub digest: BlobDigest,
    /// The plan.
    pub plan: Plan,
    /// The plan's model.
    pub model: Arc<Model>,
    /// The values that travel.
    pub travelling: Travelling,
}

/// A version: all weights of its model, or of the model of each cluster.
pub struct VersionModels {
    /// The models. Without clusters, there is one.
    pub models: Vec<Arc<Vec<f32>>>,
    /// The one with the largest share of the clients.
    pub largest: usize,
}

/// One training.
#[derive(Clone)]
pub struct Training {
    pub lesson: Arc<Lesson>,
    /// All weights of the model, with the client's own personal tensors. With clusters, the weights of the chosen
    /// cluster.
    pub weights: Arc<Vec<f32>>,
    /// All weights of the client's own model; `None` if the client has no own model, or none yet.
    pub own_weights: Option<Arc<Vec<f32>>>,
    /// The share of the client's own model in its predictions; `None` if it has none, or none yet.
    pub own_share: Option<f32>,
    /// All weights of the client's replica; `None` if it has none, or none yet.
    pub replica: Option<Arc<Vec<f32>>>,
    /// The version, with the personal tensors of the model's file.
    pub version: Arc<VersionModels>,
    /// The cluster that the client trains or evaluates, counted from 0; `None` before it is chosen, and without clusters.
    pub cluster: Option<usize>,
    /// The width that the client trains, counted from 0; `None` before it is chosen, and without widths.
    pub width: Option<usize>,
    /// The limit on the memory of the device, in bytes.
    pub memory_bytes_max: Option<u64>,
    pub client: usize,
    pub assignment_id: AssignmentId,
    pub base_version: u64,
    /// The number of steps after which the training ends.
    pub steps_max: u64,
    /// The maximum L2 norm of the update, in steps of the grid; `None` for no clipping.
    pub clipping_norm: Option<u64>,
    /// The parts of the constant that is added to each gradient, each in the order of the plan's schema; `None` if all are 0.
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
    /// Returns the weights with which a client predicts: the weights of its cluster or of its own model, if it has one,
    /// or else of the version.
    pub fn with_own(&self, version: &VersionModels, own: &OwnTensors) -> Arc<Vec<f32>> {
        let mut weights = version.of(own).clone();
        if !own.personal.is_empty() || !own.model.is_empty() {
            let whole: &mut Vec<f32> = Arc::make_mut(&mut weights);
            with_own(self.travelling.part(), own, whole);
        }
        weights
    }

    /// Returns the weights from which a client starts, and the weights of its own model if it trains one.
    pub fn starting_weights(
        &self,
        version: &VersionModels,
        own: &OwnTensors,
    ) -> (Arc<Vec<f32>>, Option<Arc<Vec<f32>>>) {
        if self.plan.work == Work::Evaluation {
            return (self.with_own(version, own), None);
        }
        let own_weights = (!own.model.is_empty()).then(|| {
            let mut weights = version.of(own).clone();
            let whole: &mut Vec<f32> = Arc::make_mut(&mut weights);
            with_model(self.travelling.part(), own, whole);
            weights
        });
        let mut weights = version.of(own).clone();
        if !own.personal.is_empty() {
            let whole: &mut Vec<f32> = Arc::make_mut(&mut weights);
            with_personal(self.travelling.part(), own, whole);
        }
        (weights, own_weights)
    }
}

impl VersionModels {
    /// Returns the models of a version that travelled as these values.
    ///
    /// # Errors
    /// If there are more or fewer values.
    pub fn of_values(travelling: &Travelling, values: Vec<f32>) -> Result<Self, FitError> {
        let Some(count) = travelling.cluster_count() else {
            return Ok(Self { models: vec![Arc::new(travelling.fill(values, None)?)], largest: 0 });
        };
        let largest = travelling.cluster_of(&values, None).unwrap_or_default();
        let models = (0..count).map(|cluster| travelling.fill_cluster(&values, Some(cluster)).map(Arc::new));
        Ok(Self { models: models.collect::<Result<_, _>>()?, largest })
    }

    /// Returns the model that this client has chosen before, or else the one with the largest share.
    fn of(&self, own: &OwnTensors) -> &Arc<Vec<f32>> {
        let chosen = own.cluster.and_then(|cluster| self.models.get(cluster));
        chosen.unwrap_or(&self.models[self.largest])
    }
}

impl Training {
    /// Returns the training of a cluster, counted from 0.
    pub fn of_cluster(&self, cluster: usize) -> Self {
        Self { weights: self.version.models[cluster].clone(), cluster: Some(cluster), ..self.clone() }
    }

    /// Returns the training of a width, counted from 0.
    pub fn of_width(&self, width: usize) -> Self {
        let weights = Arc::new(self.lesson.travelling.leading_weights(width, &self.weights));
        Self { weights, width: Some(width), ..self.clone() }
    }

    /// Returns the trained part of the model that the client trains.
    pub fn part(&self) -> &TrainedPart {
        let travelling = &self.lesson.travelling;
        self.width
            .and_then(|width| travelling.narrow(width))
            .map_or_else(|| travelling.part(), |(_, part)| part)
    }

    /// Returns the model of the version that all attackers know, regardless of their clusters.
    pub fn shared(&self) -> &[f32] {
        &self.version.models[self.version.largest]
    }

    /// Returns whether the client keeps something from this training for its next one.
    pub fn leaves_something(&self) -> bool {
        let Lesson { travelling, plan, .. } = &*self.lesson;
        let is_personal =
            !travelling.part().personal_schema().tensors.is_empty() || plan.training.is_personal();
        let keeps_variate = plan.drift_correction.is_some_and(DriftCorrection::keeps_control_variate);
        let keeps_replica =
            plan.training.elastic_averaging.is_some() || plan.training.model_contrast.is_some();
        self.memory.is_some() || is_personal || keeps_variate || keeps_replica
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
