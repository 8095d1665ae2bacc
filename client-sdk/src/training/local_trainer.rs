//! Training in the app's own loop, where the engine would train otherwise.
//!
//! The loop brings weights; everything behind it (delta, clipping, noise, codec, checks, upload) is the same as for the
//! engine's.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_engine::{Metrics, Model, ParameterSpec, TrainingOutcome};
use folkmoot_protocol::{
    Plan, Work,
    messages::{AbortReason, Assignment},
    update::{MetricBounds, MetricFault},
};

use super::{Inputs, LocalWork, WorkError, plan::update_metrics};
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
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicBool>,
    care: DeviceCare,
    host: Host,
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
    assignment: &'a Assignment,
    inputs: &'a Inputs,
    stop: StopSignal,
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

/// Trains with the app's own loop. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the plan asks for what only the engine can promise, the loop fails, or what it returns does not fit.
pub(super) fn train_with(
    trainer: &dyn LocalTrainer,
    local: &LocalWork,
    inputs: &Inputs,
) -> Result<Option<TrainingOutcome>, WorkError> {
    if inputs.plan.training.example_privacy.is_some() {
        let detail = "plan.example_privacy needs the engine: noise in a training loop of the app's own cannot be vouched for";
        return Err(WorkError::new(AbortReason::PlanUnsupported, detail));
    }
    tracing::info!("training begins in the app's own loop");
    let work = trainer_work(local, inputs);
    // Pauses in it count, too: the loop alone knows when it was at work.
    let trained = local.care.counted(|| local.host.elapsed(), || trainer.train(&work));
    let trained = trained.map_err(|error| failed(&error))?;
    if local.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    check(&trained, inputs)?;
    let delta = delta(trained.weights, inputs)?;
    Ok(Some(TrainingOutcome { delta, weights: Vec::new(), products: Vec::new(), metrics: trained.metrics }))
}

/// Measures with the app's own loop. Returns `None` if it leaves that to the engine.
///
/// # Errors
/// [`WorkError`] if the loop fails, or tells what no evaluation can be.
pub(super) fn evaluate_with(
    trainer: &dyn LocalTrainer,
    local: &LocalWork,
    inputs: &Inputs,
) -> Result<Option<TrainingOutcome>, WorkError> {
    let work = trainer_work(local, inputs);
    let Some(metrics) = trainer.evaluate(&work).map_err(|error| failed(&error))? else { return Ok(None) };
    let metrics = Metrics { step_count: 0, ..metrics };
    check_metrics(&metrics, inputs, Work::Evaluation)?;
    Ok(Some(TrainingOutcome { delta: Vec::new(), weights: Vec::new(), products: Vec::new(), metrics }))
}

fn trainer_work<'a>(local: &'a LocalWork, inputs: &'a Inputs) -> TrainerWork<'a> {
    let LocalWork { stop, asked, care, host, .. } = local;
    let (stop, asked) = (Arc::clone(stop), Arc::clone(asked));
    let stop = StopSignal { stop, asked, care: care.clone(), host: host.clone() };
    TrainerWork { assignment: &local.assignment, inputs, stop }
}

fn check(trained: &Trained, inputs: &Inputs) -> Result<(), WorkError> {
    let (found, parameter_count) = (trained.weights.len(), inputs.starting_weights.len());
    if found != parameter_count {
        let detail = format!("the app's own loop returned {found} weights, the model has {parameter_count}");
        return Err(WorkError::new(AbortReason::TrainingFailed, detail));
    }
    check_metrics(&trained.metrics, inputs, Work::Training)
}

/// Refuses metrics that the coordinator would refuse.
fn check_metrics(metrics: &Metrics, inputs: &Inputs, work: Work) -> Result<(), WorkError> {
    let fault = if metrics.example_count == 0 {
        "used no examples"
    } else if !metrics.loss_sum.is_finite() {
        "told a loss that is not finite"
    } else if metrics.correct_count > metrics.example_count {
        "told more right answers than examples"
    } else if metrics.loss_sum < 0.0 {
        "told a loss below 0; only losses from 0 on can be averaged with those of other clients"
    } else {
        let plan = &inputs.plan.training;
        let allowed = MetricBounds::of(plan, work, false).check(&update_metrics(*metrics, plan));
        let told = |fault: MetricFault| {
            format!("the app's own loop told metrics that the plan does not allow: {fault}")
        };
        return allowed.map_err(|fault| WorkError::new(AbortReason::TrainingFailed, told(fault)));
    };
    Err(WorkError::new(AbortReason::TrainingFailed, format!("the app's own loop {fault}")))
}

/// Local weights minus starting weights, of the tensors that travel: what the loop did to others does not count.
fn delta(mut weights: Vec<f32>, inputs: &Inputs) -> Result<Vec<f32>, WorkError> {
    for (weight, start) in weights.iter_mut().zip(&inputs.starting_weights) {
        *weight -= start;
    }
    inputs.part.pick(&weights).map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))
}

fn failed(error: &TrainerError) -> WorkError {
    tracing::warn!(%error, "the app's own loop failed");
    let detail = "the app's own training loop failed; the client's log says how";
    WorkError::new(AbortReason::TrainingFailed, detail)
}
