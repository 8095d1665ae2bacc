//! The app's own training loop and its inputs.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_engine::{Metrics, Model, ParameterSpec};
use folkmoot_protocol::{Plan, messages::Assignment};
use folkmoot_training::{Inputs, Trained};

use crate::{DeviceCare, Host};

/// A training loop of the app's own. It runs on its own thread and may block.
pub trait LocalTrainer: Send + Sync {
    /// Returns the number of examples available for training, which the client sends with its check-in.
    fn example_count(&self) -> u64;

    /// Trains from the weights of `work` until it is done or [`StopSignal::is_stopped`] returns `true`.
    ///
    /// # Errors
    /// [`TrainerError`] if training failed. The client then gives up the assignment, and the coordinator learns only
    /// that training failed.
    fn train(&self, work: &TrainerWork<'_>) -> Result<Trained, TrainerError>;

    /// Measures the weights of `work` without training. Return `None` to let the engine evaluate the client's examples.
    ///
    /// # Errors
    /// As [`LocalTrainer::train`].
    fn evaluate(&self, work: &TrainerWork<'_>) -> Result<Option<Metrics>, TrainerError> {
        let _ = work;
        Ok(None)
    }
}

/// Why the app's own loop failed. The text stays in the local log, because it may contain the user's data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrainerError(pub String);

/// Tells a training loop when to stop.
#[derive(Clone, Debug)]
pub struct StopSignal {
    pub(super) stop: Arc<AtomicBool>,
    pub(super) asked: Arc<AtomicBool>,
    pub(super) care: DeviceCare,
    pub(super) host: Host,
}

impl StopSignal {
    /// Returns whether the assignment was cancelled. If so, the loop's result is discarded.
    ///
    /// While the device must not train, this call blocks. A loop that calls it between steps therefore pauses.
    pub fn is_stopped(&self) -> bool {
        self.care.rest(&self.stop, || self.host.elapsed(), || {});
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns whether the coordinator wants a partial update. If so, end the loop after the current step and return
    /// the weights so far. The round waits at most the task's `grace_seconds`.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The inputs of the app's own loop.
pub struct TrainerWork<'a> {
    pub(super) assignment: &'a Assignment,
    pub(super) inputs: &'a Inputs,
    pub(super) stop: StopSignal,
}

impl TrainerWork<'_> {
    /// Returns the assignment.
    pub fn assignment(&self) -> &Assignment {
        self.assignment
    }

    /// Returns the plan. Follow its training settings as far as you can.
    pub fn plan(&self) -> &Plan {
        &self.inputs.plan
    }

    /// Returns the model. You need not use its ONNX file.
    pub fn model(&self) -> &Model {
        &self.inputs.model
    }

    /// Returns the names and shapes of the weights, in order.
    pub fn tensors(&self) -> &[ParameterSpec] {
        self.inputs.model.parameters()
    }

    /// Returns the weights to start from, flat, in the order of [`TrainerWork::tensors`].
    pub fn weights(&self) -> &[f32] {
        &self.inputs.starting_weights
    }

    /// Returns the stop signal. Check it between steps, at least every 250 ms.
    pub fn stop(&self) -> &StopSignal {
        &self.stop
    }
}
