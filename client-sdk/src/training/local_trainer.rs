//! The app's own training loop, and what it is given.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_engine::{Metrics, Model, ParameterSpec};
use folkmoot_protocol::{Plan, messages::Assignment};

use super::Inputs;
use crate::{DeviceCare, Host};

/// A training loop of the app's own. It runs on a thread of its own and may block.
pub trait LocalTrainer: Send + Sync {
    /// Says how many examples there are to train on, which a check-in states.
    fn example_count(&self) -> u64;

    /// Trains from `work`'s weights to its end, or until [`TrainerWork::stop`] says so.
    ///
    /// # Errors
    /// [`TrainerError`] gives the assignment up. The coordinator is told that training failed, and no more.
    fn train(&self, work: &TrainerWork<'_>) -> Result<Trained, TrainerError>;

    /// Measures `work`'s weights without training; `None` leaves that to the engine and the client's examples.
    ///
    /// # Errors
    /// As [`LocalTrainer::train`].
    fn evaluate(&self, work: &TrainerWork<'_>) -> Result<Option<Metrics>, TrainerError> {
        let _ = work;
        Ok(None)
    }
}

/// What was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The new weights, flat, in the order and the shapes of [`TrainerWork::tensors`].
    pub weights: Vec<f32>,
    /// The sums over the training. `example_count` is also what the update weighs in the mean, up to the plan's limit.
    pub metrics: Metrics,
}

/// Why the app's own loop came to nothing. The words stay in the local log: they may be about the user's data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrainerError(pub String);

/// Says when the work of an assignment is not wanted any more.
#[derive(Clone, Debug)]
pub struct StopSignal {
    pub(super) stop: Arc<AtomicBool>,
    pub(super) asked: Arc<AtomicBool>,
    pub(super) care: DeviceCare,
    pub(super) host: Host,
}

impl StopSignal {
    /// Whether it is so. What a loop returns after that is thrown away.
    ///
    /// While the device is not to train, it answers only when it may again: a loop that asks between its steps pauses.
    pub fn is_stopped(&self) -> bool {
        self.care.rest(&self.stop, || self.host.elapsed(), || {});
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns whether the coordinator wants a partial update. If so, end the loop after the current step and return the weights
    /// so far. The round waits for a loop that goes on no longer than the task's `grace_seconds`.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// What the app's own loop is given.
pub struct TrainerWork<'a> {
    pub(super) assignment: &'a Assignment,
    pub(super) inputs: &'a Inputs,
    pub(super) stop: StopSignal,
}

impl TrainerWork<'_> {
    /// What the coordinator asks for.
    pub fn assignment(&self) -> &Assignment {
        self.assignment
    }

    /// What to do: the loop is to keep to its training as far as it can.
    pub fn plan(&self) -> &Plan {
        &self.inputs.plan
    }

    /// The model, whose ONNX file the loop need not use.
    pub fn model(&self) -> &Model {
        &self.inputs.model
    }

    /// Names and shapes of the weights, in their order.
    pub fn tensors(&self) -> &[ParameterSpec] {
        self.inputs.model.parameters()
    }

    /// The weights to begin with, flat, in the order of [`TrainerWork::tensors`].
    pub fn weights(&self) -> &[f32] {
        &self.inputs.starting_weights
    }

    /// To be looked at between steps: a stop is to be noticed within 250 ms.
    pub fn stop(&self) -> &StopSignal {
        &self.stop
    }
}
