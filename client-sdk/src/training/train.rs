use std::{sync::atomic::Ordering, time::Duration};

use folkmoot_engine::{Examples, Precision, Progress, Trainer, TrainingOutcome, block_on};
use folkmoot_protocol::messages::AbortReason;
use folkmoot_training::{Inputs, Step, Training};
use folkmoot_work::WorkError;

use super::{LocalWork, WorkNews, news::PROGRESS_MILLISECONDS};
use crate::Placement;

/// The time between two checkpoints, in milliseconds. A killed process loses at most this much training.
const CHECKPOINT_MILLISECONDS: u64 = 5000;

/// Trains to the end, from the checkpoint if there is one. Returns `None` if it was stopped.
///
/// Training ends with the plan's last step. After at least one step, it also ends when the plan's time is up or the
/// coordinator asks for a partial update. The time counts from the first step, across restarts as far as checkpoints
/// recorded it. Pauses do not count.
///
/// # Errors
/// [`WorkError`] if the plan cannot be carried out, the examples do not fit the model, or the loss is no longer finite.
pub(super) fn train(
    training: &LocalWork,
    inputs: &Inputs,
    examples: &Examples,
    on_news: impl Fn(WorkNews),
) -> Result<Option<TrainingOutcome>, WorkError> {
    let mut steps = begin(training, inputs, examples)?;
    let mut placement = place(training, inputs, steps.trainer())?;
    on_news(WorkNews::Placed(placement.clone()));
    let mut stored_at = training.host.now();
    let mut told_at = stored_at;
    let mut rested = Duration::ZERO;
    steps.start(training.host.elapsed());
    on_news(WorkNews::Progress(steps.progress()));
    while !steps.progress().finished {
        // The pause may be long, and the process may be killed during it.
        rested += training.rest(|| store_checkpoint(training, &mut steps, rested));
        if training.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if training.asked.load(Ordering::Relaxed) {
            steps.end_early();
        }
        let stopwatch = || training.host.elapsed().saturating_sub(rested);
        let advanced = training.care.counted(stopwatch, || block_on(steps.advance(&stopwatch)));
        if let Some(cpu) = training.devices.came_back(&placement, steps.trainer()) {
            on_news(WorkNews::Placed(cpu.clone()));
            placement = cpu;
        }
        let Step { progress, is_over, may_end } = advanced?;
        let is_asked = training.asked.load(Ordering::Relaxed);
        let is_over = is_over || is_asked && may_end;
        let now = training.host.now();
        if is_over || now.milliseconds_since(told_at) >= PROGRESS_MILLISECONDS {
            on_news(WorkNews::Progress(progress));
            told_at = now;
        }
        if is_over && !progress.finished {
            let Progress { step, steps_total, .. } = progress;
            tracing::info!(step, steps_total, is_asked, "training ends before its last step");
            break;
        }
        if now.milliseconds_since(stored_at) >= CHECKPOINT_MILLISECONDS {
            store_checkpoint(training, &mut steps, rested);
            stored_at = now;
        }
    }
    Ok(Some(steps.finish()))
}

fn begin(training: &LocalWork, inputs: &Inputs, examples: &Examples) -> Result<Training, WorkError> {
    let checkpoint =
        training.work.load_checkpoint(training.assignment.assignment_id).unwrap_or_else(|error| {
            tracing::warn!(%error, "the checkpoint cannot be read; training starts over");
            None
        });
    Training::begin(inputs, &training.assignment, examples, checkpoint.as_deref())
}

/// Moves the training to its device, or to the CPU if that is not possible and the plan allows it.
fn place(training: &LocalWork, inputs: &Inputs, trainer: &mut Trainer) -> Result<Placement, WorkError> {
    let plan = &inputs.plan.training;
    let placement = match training.devices.place(trainer, plan, inputs.plan.model) {
        Ok(placement) => placement,
        Err(error) if plan.precision == Precision::Mixed => {
            return Err(WorkError::new(AbortReason::PlanUnsupported, error));
        }
        Err(error) => {
            tracing::warn!(%error, "training runs on the CPU");
            Placement::cpu()
        }
    };
    let Placement { device, energy_class, .. } = &placement;
    tracing::info!(device, energy_class, "training starts");
    Ok(placement)
}

/// Stores a checkpoint. If this fails, the only harm is that training after a crash repeats more steps.
fn store_checkpoint(training: &LocalWork, steps: &mut Training, rested: Duration) {
    let bytes = steps.checkpoint(training.host.elapsed().saturating_sub(rested));
    if let Err(error) = training.work.save_checkpoint(training.assignment.assignment_id, &bytes) {
        tracing::warn!(%error, "could not store the training checkpoint; after a crash, training repeats the steps since the last one");
    }
}
