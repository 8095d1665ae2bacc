//! Training in the app's own loop instead of the engine.
//!
//! The loop returns weights. Everything after that is the same as for the engine: delta, clipping, noise, codec, checks
//! and upload.

use std::sync::{Arc, atomic::Ordering};

use folkmoot_engine::{Metrics, TrainingOutcome};
use folkmoot_protocol::{
    messages::AbortReason,
    update::{MetricBounds, MetricFault},
};
use folkmoot_training::{Inputs, Trained, allows_own_loop, own_outcome, update_metrics};
use folkmoot_work::WorkError;

use super::{LocalTrainer, LocalWork, StopSignal, TrainerError, TrainerWork};

/// Trains with the app's own loop. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the plan requires a guarantee that only the engine can give, the loop fails, or its result does not
/// fit.
pub(super) fn train_with(
    trainer: &dyn LocalTrainer,
    local: &LocalWork,
    inputs: &Inputs,
) -> Result<Option<TrainingOutcome>, WorkError> {
    allows_own_loop(&inputs.plan)?;
    tracing::info!("training starts in the app's own loop");
    let work = trainer_work(local, inputs);
    // Pauses inside the loop count too, because only the loop knows when it was working.
    let trained = local.care.counted(|| local.host.elapsed(), || trainer.train(&work));
    let trained = trained.map_err(|error| failed(&error))?;
    if local.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    check(&trained, inputs)?;
    own_outcome(trained, inputs).map(Some)
}

/// Evaluates with the app's own loop. Returns `None` if the loop leaves the evaluation to the engine.
///
/// # Errors
/// [`WorkError`] if the loop fails, or returns metrics that no evaluation can have.
pub(super) fn evaluate_with(
    trainer: &dyn LocalTrainer,
    local: &LocalWork,
    inputs: &Inputs,
) -> Result<Option<TrainingOutcome>, WorkError> {
    // The engine measures the clusters, and fine-tunes.
    if inputs.cluster.is_some() || inputs.plan.fine_tuning.is_some() {
        return Ok(None);
    }
    let work = trainer_work(local, inputs);
    let Some(metrics) = trainer.evaluate(&work).map_err(|error| failed(&error))? else { return Ok(None) };
    let metrics = Metrics { step_count: 0, ..metrics };
    check_metrics(&metrics, inputs)?;
    own_outcome(Trained { weights: Vec::new(), metrics }, inputs).map(Some)
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
        let detail =
            format!("the app's own loop returned {found} weights, but the model has {parameter_count}");
        return Err(WorkError::new(AbortReason::TrainingFailed, detail));
    }
    check_metrics(&trained.metrics, inputs)
}

/// Refuses metrics that the coordinator would refuse.
fn check_metrics(metrics: &Metrics, inputs: &Inputs) -> Result<(), WorkError> {
    let fault = if metrics.example_count == 0 {
        "reported example_count 0; it must be at least 1"
    } else if !metrics.loss_sum.is_finite() {
        "reported a loss that is not finite"
    } else if metrics.correct_count > metrics.example_count {
        "reported more correct answers than examples"
    } else if metrics.loss_sum < 0.0 {
        "reported a negative loss; losses must be 0 or greater to be averaged with those of other clients"
    } else {
        let plan = &inputs.plan.training;
        let allowed = MetricBounds::of(plan, inputs.plan.work, false).check(&update_metrics(*metrics, plan));
        let told = |fault: MetricFault| {
            format!("the app's own loop reported metrics that the plan does not allow: {fault}")
        };
        return allowed.map_err(|fault| WorkError::new(AbortReason::TrainingFailed, told(fault)));
    };
    Err(WorkError::new(AbortReason::TrainingFailed, format!("the app's own loop {fault}")))
}

fn failed(error: &TrainerError) -> WorkError {
    tracing::warn!(%error, "the app's own loop failed");
    let detail = "the app's own training loop failed; see the client's log";
    WorkError::new(AbortReason::TrainingFailed, detail)
}
