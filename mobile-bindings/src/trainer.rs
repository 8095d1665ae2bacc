use std::sync::Arc;

use folkmoot_client::{
    self as client, LocalTrainer, StopSignal, TrainerError, engine::Metrics, protocol::messages::Assignment,
};

use crate::{CallbackError, FloatBuffer, consent::plan_json};

/// The app's own training loop, used instead of the engine. The client still does the clipping, noise, compression and
/// upload.
#[uniffi::export(with_foreign)]
pub trait Trainer: Send + Sync {
    /// Returns the number of examples available for training, which the client sends with its check-in.
    fn example_count(&self) -> Result<u64, CallbackError>;

    /// Trains from the weights of `work`. Called on its own thread; it may block. If it fails, the client gives up the
    /// assignment.
    fn train(&self, work: Arc<TrainerWork>) -> Result<Trained, CallbackError>;

    /// Measures the weights of `work` without training. Return nothing to let the engine evaluate the client's
    /// examples.
    fn evaluate(&self, work: Arc<TrainerWork>) -> Result<Option<Evaluated>, CallbackError>;
}

/// The name and shape of one tensor of the weights.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TensorSpec {
    /// The name of the initializer in the ONNX file.
    pub name: String,
    /// The dimensions, outermost first; empty for a scalar.
    pub shape: Vec<u64>,
}

/// The result of a training.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Trained {
    /// The new weights, in the order of the tensors. The client takes the values out of the buffer, so do not access
    /// its memory afterwards.
    pub weights: Arc<FloatBuffer>,
    /// The number of examples used. It is also the update's weight in the mean, up to the plan's limit.
    pub example_count: u64,
    /// The sum of the examples' losses.
    pub loss_sum: f64,
    /// The number of correct predictions; 0 if there are no classes.
    pub correct_count: u64,
    /// The number of steps.
    pub step_count: u64,
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Evaluated {
    /// The number of examples.
    pub example_count: u64,
    /// The sum of the losses of these examples.
    pub loss_sum: f64,
    /// The number of correct predictions; 0 if there are no classes.
    pub correct_count: u64,
}

/// The inputs of the app's own training loop.
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
    /// Returns the id of the assignment.
    pub fn assignment_id(&self) -> String {
        self.assignment.assignment_id.to_string()
    }

    /// Returns the id of the task.
    pub fn task_id(&self) -> String {
        self.assignment.task_id.to_string()
    }

    /// Returns the round's number in its task.
    pub fn round_number(&self) -> u64 {
        self.assignment.round_number
    }

    /// Returns the model version that training starts from.
    pub fn base_version(&self) -> u64 {
        self.assignment.base_version
    }

    /// Returns the plan as JSON. Follow its `training` settings as far as you can.
    pub fn plan(&self) -> String {
        self.plan.clone()
    }

    /// Returns the names and shapes of the weights, in order.
    pub fn tensors(&self) -> Vec<TensorSpec> {
        self.tensors.clone()
    }

    /// Returns a copy of the weights to start from, one tensor after the other. The loop may train in this buffer.
    pub fn weights(&self) -> Arc<FloatBuffer> {
        Arc::clone(&self.weights)
    }

    /// Returns whether the assignment was cancelled. Check it between steps. If so, the result is discarded. While
    /// training is paused, this call blocks.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Returns whether the coordinator wants a partial update. Check it between steps. If so, end early and return the
    /// weights so far, if you can.
    pub fn is_asked(&self) -> bool {
        self.stop.is_asked()
    }
}

/// Adapts the app's loop to the client's trait.
pub(crate) struct ForeignTrainer(pub Arc<dyn Trainer>);

impl LocalTrainer for ForeignTrainer {
    fn example_count(&self) -> u64 {
        self.0.example_count().unwrap_or_else(|error| {
            tracing::warn!(%error, "the trainer's example_count failed, so the client reports 0 examples");
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
