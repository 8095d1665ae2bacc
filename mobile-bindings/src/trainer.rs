use std::sync::Arc;

use folkmoot_client::{
    self as client, LocalTrainer, StopSignal, TrainerError, engine::Metrics, protocol::messages::Assignment,
};

use crate::{CallbackError, FloatBuffer, consent::plan_json};

/// A training loop of the app's own, instead of the engine's. Clipping, noise, codec and upload stay in the client.
#[uniffi::export(with_foreign)]
pub trait Trainer: Send + Sync {
    /// How many examples there are to train on, which a check-in states.
    fn example_count(&self) -> Result<u64, CallbackError>;

    /// Trains from the weights of `work`, on a thread of its own; it may block. What fails gives the assignment up.
    fn train(&self, work: Arc<TrainerWork>) -> Result<Trained, CallbackError>;

    /// Measures the weights of `work`; nothing leaves that to the engine and the client's examples.
    fn evaluate(&self, work: Arc<TrainerWork>) -> Result<Option<Evaluated>, CallbackError>;
}

/// Name and shape of one tensor of the weights.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TensorSpec {
    /// The name of the initializer in the ONNX file.
    pub name: String,
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<u64>,
}

/// What was trained.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Trained {
    /// The new weights in the order of the tensors. They are taken: give a buffer whose memory nobody looks at any more.
    pub weights: Arc<FloatBuffer>,
    /// The examples used, which are also what the update weighs in the mean, up to the plan's limit.
    pub example_count: u64,
    /// The sum of the examples' losses.
    pub loss_sum: f64,
    /// The examples whose class was right; 0 where there are no classes.
    pub correct_count: u64,
    /// The steps taken.
    pub step_count: u64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Evaluated {
    /// The examples.
    pub example_count: u64,
    /// The sum of their losses.
    pub loss_sum: f64,
    /// Those whose class was right; 0 where there are no classes.
    pub correct_count: u64,
}

/// What a training loop of the app's own is given.
#[derive(uniffi::Object)]
pub struct TrainerWork {
    assignment: Assignment,
    plan: String,
    tensors: Vec<TensorSpec>,
    weights: Arc<FloatBuffer>,
    stop: StopSignal,
}

#[uniffi::export]
impl TrainerWork {
    /// The assignment.
    pub fn assignment_id(&self) -> String {
        self.assignment.assignment_id.to_string()
    }

    /// The task.
    pub fn task_id(&self) -> String {
        self.assignment.task_id.to_string()
    }

    /// The round's number in its task.
    pub fn round_number(&self) -> u64 {
        self.assignment.round_number
    }

    /// The model version from which it starts.
    pub fn base_version(&self) -> u64 {
        self.assignment.base_version
    }

    /// The plan as JSON: the loop is to keep to its `training` as far as it can.
    pub fn plan(&self) -> String {
        self.plan.clone()
    }

    /// Names and shapes of the weights, in their order.
    pub fn tensors(&self) -> Vec<TensorSpec> {
        self.tensors.clone()
    }

    /// The weights to begin with, one tensor after the other: a copy for the loop, which may train in it.
    pub fn weights(&self) -> Arc<FloatBuffer> {
        Arc::clone(&self.weights)
    }

    /// Whether the work is not wanted any more, to be asked between steps. What is returned then is thrown away.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Whether the round waits for this update, to be asked between steps: a loop that can returns what it has so far.
    pub fn is_asked(&self) -> bool {
        self.stop.is_asked()
    }
}

/// The app's loop as the client calls it.
pub(crate) struct ForeignTrainer(pub Arc<dyn Trainer>);

impl LocalTrainer for ForeignTrainer {
    fn example_count(&self) -> u64 {
        self.0.example_count().unwrap_or_else(|error| {
            tracing::warn!(%error, "the trainer does not say how many examples it has, which counts as none");
            0
        })
    }

    fn train(&self, work: &client::TrainerWork<'_>) -> Result<client::Trained, TrainerError> {
        let trained = self.0.train(Arc::new(work.into())).map_err(error)?;
        let metrics = Metrics {
            example_count: trained.example_count,
            loss_sum: trained.loss_sum,
            correct_count: trained.correct_count,
            step_count: trained.step_count,
        };
        Ok(client::Trained { weights: trained.weights.take(), metrics })
    }

    fn evaluate(&self, work: &client::TrainerWork<'_>) -> Result<Option<Metrics>, TrainerError> {
        let evaluated = self.0.evaluate(Arc::new(work.into())).map_err(error)?;
        Ok(evaluated.map(|Evaluated { example_count, loss_sum, correct_count }| Metrics {
            example_count,
            loss_sum,
            correct_count,
            step_count: 0,
        }))
    }
}

impl From<&client::TrainerWork<'_>> for TrainerWork {
    fn from(work: &client::TrainerWork<'_>) -> Self {
        let tensors = work.tensors().iter().map(|tensor| TensorSpec {
            name: tensor.name.clone(),
            shape: tensor.shape.iter().map(|size| *size as u64).collect(),
        });
        Self {
            assignment: work.assignment().clone(),
            plan: plan_json(work.plan()),
            tensors: tensors.collect(),
            weights: Arc::new(work.weights().to_vec().into()),
            stop: work.stop().clone(),
        }
    }
}

fn error(error: CallbackError) -> TrainerError {
    TrainerError(error.to_string())
}
