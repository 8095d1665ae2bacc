use std::sync::atomic::Ordering;

use folkmoot_engine::{Examples, TrainingOutcome};
use folkmoot_protocol::{PersonalTraining, Plan, TaskId, TrainingPlan, Work, messages::AbortReason};
use folkmoot_training::{ClusterChoice, FinishedWork, Inputs};
use folkmoot_work::WorkError;

use crate::storage::WorkStore;

use super::{
    LocalTrainer, LocalWork, WorkNews,
    evaluate::evaluate,
    load::load_inputs,
    local_work::examples_for,
    own_loop::{evaluate_with, train_with},
    train::train,
};

/// Carries out the plan's work to the end. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the plan's device rules do not hold, if a blob is missing or does not match the assignment, if the
/// assignment exceeds the budget, if the plan cannot be carried out, if the examples do not fit the model, or if the
/// loss is not finite.
pub(crate) fn work(local: &LocalWork, on_news: impl Fn(WorkNews)) -> Result<Option<FinishedWork>, WorkError> {
    let own = local.work.own_tensors().load(local.assignment.task_id);
    let own = own.map_err(|error| WorkError::new(AbortReason::StateLost, error))?;
    let (assignment, now) = (&local.assignment, local.host.now());
    let mut inputs = load_inputs(assignment, own.as_deref(), &local.blobs, &local.budget, now)?;
    let _kept = local.care.keep_to(local.assignment.assignment_id, &inputs.plan.device_rules);
    local.rest(|| {});
    if local.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    // The rules held when the plan arrived, but the app may have restarted with other attributes since.
    if !local.consent.rules_hold(&inputs.plan, &local.care.conditions()) {
        return Err(WorkError::declined());
    }
    local.models.note(&local.assignment, &inputs);
    let (outcome, held) = match &local.trainer {
        Some(trainer) => {
            let outcome = own_work(trainer.as_ref(), local, &mut inputs, on_news)?;
            // The app's own loop reports only the number of examples that it used, so the client counts these as held.
            let held = outcome.as_ref().map_or(0, |outcome| outcome.metrics.example_count);
            (outcome, held)
        }
        None => {
            let examples = examples_for(local.examples.as_ref(), &inputs.plan)?;
            if !choose_cluster(local, &mut inputs, &examples)? {
                return Ok(None);
            }
            inputs.choose_width(assignment.assignment_id, &examples)?;
            let outcome = engine_work(local, &inputs, &examples, on_news);
            let outcome = outcome.inspect_err(|error| {
                forget_failed_replica(&local.work, local.assignment.task_id, &inputs.plan, error);
            })?;
            (outcome, examples.len() as u64)
        }
    };
    Ok(outcome.map(|outcome| inputs.finished(local.assignment.clone(), outcome, held)))
}

/// Deletes a replica (elastic averaging), a last local model (model contrast) or an own model (APFL) with which a training has
/// failed. Otherwise all later trainings would fail, too; now the next one starts from the version.
pub(super) fn forget_failed_replica(work: &WorkStore, task: TaskId, plan: &Plan, error: &WorkError) {
    let TrainingPlan { elastic_averaging, model_contrast, personal_training, .. } = &plan.training;
    let is_mixture = matches!(personal_training, Some(PersonalTraining::Apfl { .. }));
    let has_replica = elastic_averaging.is_some() || model_contrast.is_some() || is_mixture;
    if !has_replica || error.reason != AbortReason::TrainingFailed {
        return;
    }
    if let Err(error) = work.own_tensors().forget(task) {
        tracing::warn!(%error, "a replica from which no training is possible could not be deleted");
    }
}

/// Changes the inputs to the cluster that fits the examples best, if the plan has clusters. Returns `false` if it was stopped.
fn choose_cluster(local: &LocalWork, inputs: &mut Inputs, examples: &Examples) -> Result<bool, WorkError> {
    let Some(mut choice) = ClusterChoice::begin(inputs, examples, &local.budget)? else { return Ok(true) };
    loop {
        local.rest(|| {});
        if local.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if choice.advance(inputs, &|| local.host.elapsed())? {
            tracing::info!(cluster = inputs.cluster.map(|cluster| cluster + 1), "the cluster that fits best");
            return Ok(true);
        }
    }
}

fn own_work(
    trainer: &dyn LocalTrainer,
    local: &LocalWork,
    inputs: &mut Inputs,
    on_news: impl Fn(WorkNews),
) -> Result<Option<TrainingOutcome>, WorkError> {
    if inputs.plan.work == Work::Training {
        return train_with(trainer, local, inputs);
    }
    match evaluate_with(trainer, local, inputs)? {
        Some(outcome) => Ok(Some(outcome)),
        None => {
            let examples = examples_for(local.examples.as_ref(), &inputs.plan)?;
            if !choose_cluster(local, inputs, &examples)? {
                return Ok(None);
            }
            evaluate(local, inputs, &examples, on_news)
        }
    }
}

fn engine_work(
    local: &LocalWork,
    inputs: &Inputs,
    examples: &Examples,
    on_news: impl Fn(WorkNews),
) -> Result<Option<TrainingOutcome>, WorkError> {
    match inputs.plan.work {
        Work::Training => train(local, inputs, examples, on_news),
        Work::Evaluation => evaluate(local, inputs, examples, on_news),
    }
}
