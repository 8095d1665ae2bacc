//! One step of a task: passes the task's facts to the pure code, and stores the decision.

use std::sync::Arc;

use folkmoot_coordinator::{
    invariants,
    round::{AbandonReason, Effect, Outcome, Phase, Purpose, RoundInput},
    scheduling::ReportCounts,
    task::{TaskInput, TaskState},
};
use folkmoot_protocol::{TaskId, Timestamp};
use folkmoot_storage::{
    AssignmentRepository, RoundRecord, RoundRepository, SecureRepository, TaskRecord, TaskRepository,
};

use super::{
    DriveError, committee,
    evaluate::{combine_reports, measure_centrally},
    facts::{collected, waiting},
    open, partial_sums, pause,
    perform::perform,
    prefer::prefer,
    release::{forget_last_noise, release, withhold},
    rules::rules,
    secure::is_open,
    summed::Summed,
};
use crate::{answers::Answer, coordinator::Coordinator};

/// Advances a task by one step. Returns whether another step may follow immediately.
///
/// # Errors
/// Fails if the step could not be written. The task is then unchanged.
pub async fn drive_task(
    coordinator: &Arc<Coordinator>,
    id: TaskId,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let Some(task) = coordinator.storage.task_of_any_organisation(id).await? else { return Ok(false) };
    let rounds = coordinator.storage.unfinished_rounds(id).await?;
    let is_active = task.state.is_active();
    let is_open = |purpose| rounds.iter().any(|record| record.round.purpose == purpose);
    if is_active && measure_centrally(coordinator, &task, now).await? {
        return Ok(true);
    }
    if is_active && complete(coordinator, &task, !is_open(Purpose::Training), now).await? {
        return Ok(true);
    }
    if is_active && !is_open(Purpose::Training) && pause::after_abandoned_rounds(coordinator, &task).await? {
        return Ok(true);
    }
    let falls_back = is_active && open::return_due(coordinator, &task).await?.is_some();
    for record in &rounds {
        let keeps_draws = rules(&task, record.round.purpose).borrow().policy.keeps_draws();
        invariants::check_round(&record.round, keeps_draws)?;
        if Box::pin(advance_round(coordinator, &task, record.clone(), falls_back, now)).await? {
            return Ok(true);
        }
    }
    if !is_active {
        return Ok(false);
    }
    if !is_open(Purpose::Training) {
        return if falls_back {
            open::return_to_best(coordinator, &task, now).await
        } else {
            open::open_training(coordinator, &task, now).await
        };
    }
    let may_evaluate = !is_open(Purpose::Evaluation);
    Ok(may_evaluate && open::open_evaluation(coordinator, &task, now).await?)
}

/// Completes a task whose stop conditions are met. During a round, checks only conditions that can become true without
/// a commit.
async fn complete(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    is_between_rounds: bool,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let stop = &task.description.stop;
    if !(is_between_rounds || stop.needs_evaluation() || stop.hours.is_some()) {
        return Ok(false);
    }
    let Some(reason) = open::stop_reason(coordinator, task, 0, now).await? else { return Ok(false) };
    // Delete the noise state before the task's state changes. After a crash in between, the next step deletes it.
    forget_last_noise(coordinator, task.id).await?;
    // If the last version was due for central evaluation, an earlier step has evaluated it.
    let state = task.state.step(TaskInput::Complete(reason))?;
    coordinator.storage.set_task_state(task.id, state, task.revision).await?;
    tracing::info!(task = %task.id, reason = reason.name(), "task completed");
    Ok(true)
}

/// Advances a round by one step. Returns whether another step may follow immediately.
async fn advance_round(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    falls_back: bool,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let purpose = record.round.purpose;
    let rules = rules(task, purpose);
    let keeps_draws = rules.borrow().policy.keeps_draws();
    let input = match (&record.round.phase, stop_reason(task.state, purpose, falls_back)) {
        (Phase::Aggregating { .. }, _) => return end_or_abandon(coordinator, task, record, now).await,
        (Phase::Reporting { .. }, Some(_)) if keeps_draws => {
            RoundInput::Closed(counts(coordinator, &record).await?)
        }
        // The updates were accepted, so their masks are removed even if the task ends.
        (Phase::Unmasking { .. }, _) => opened(coordinator, task, &record).await?,
        (_, Some(reason)) => RoundInput::Stop(reason),
        (Phase::Selecting { .. }, None) => {
            RoundInput::Waiting(waiting(coordinator, task, &record.round, now).await?)
        }
        (Phase::Collecting { .. }, None) => {
            let collected = collected(coordinator, task, &record.round, now).await?;
            if pause::after_failed_assignments(coordinator, task, &record, collected.counts).await? {
                return Ok(true);
            }
            RoundInput::Collected(collected)
        }
        (_, None) => RoundInput::Reports(counts(coordinator, &record).await?),
    };
    let before = record.round.phase.clone();
    let step =
        |input| coordinator.with_chance(|rng| record.round.clone().step(input, rules.borrow(), now, rng));
    // Only the task's own selection needs the facts a second time.
    let facts = rules.borrow().selection.component().map(|_| input.clone());
    let (mut round, mut effects) = step(input)?;
    let mut kept = None;
    if let Some(facts) = facts
        && let Some((input, answer)) = preferred(coordinator, task, &record, facts, &effects, now).await?
    {
        let wanted: u64 = effects.iter().map(Effect::wanted).sum();
        (round, effects) = step(input)?;
        if round.phase.outcome().reason == Some(AbandonReason::TooFewClients) {
            tracing::warn!(
                task = %task.id, round = round.number,
                "round abandoned: until its deadline, the task's own selection preferred too few clients"
            );
        }
        let assigned: u64 = effects.iter().map(Effect::assigned).sum();
        if assigned < wanted && answer.as_ref().is_some_and(|answer| answer.is_new) {
            // Clients that the selection does not choose are free for other tasks.
            coordinator.crowds.gave_up(task, now);
        }
        kept = answer.map(|answer| answer.state);
    }
    if effects.is_empty() && round.phase == before {
        return Ok(false);
    }
    invariants::check_round(&round, keeps_draws)?;
    let next = RoundRecord { round, ..record };
    perform(coordinator, task, &next, effects, kept.as_deref(), now).await?;
    if next.round.phase.name() != before.name() {
        coordinator.answers.forget(task.id);
        let phase = next.round.phase.name();
        // For a sampled round, the log must not reveal how many clients were drawn or have reported.
        let outcome = if keeps_draws { Outcome::default() } else { next.round.phase.outcome() };
        let Outcome { cohort, accepted, version, reason } = outcome;
        tracing::info!(
            task = %task.id, round = next.round.number, purpose = purpose.name(), from = before.name(), to = phase,
            cohort, accepted, version, reason = reason.map(AbandonReason::name), "round advanced"
        );
        metrics::counter!("folkmoot_round_transitions_total", "phase" => phase).increment(1);
    }
    Ok(true)
}

/// Answers a step that asks for the preference of the task's own selection, with the facts and the order. If the selection fails, the answer
/// ends the round.
async fn preferred(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: &RoundRecord,
    facts: RoundInput,
    effects: &[Effect],
    now: Timestamp,
) -> Result<Option<(RoundInput, Option<Answer>)>, DriveError> {
    let round = &record.round;
    let answer = match prefer(coordinator, task, round, facts.waiting(), effects, now).await {
        Ok(Some(answer)) => answer,
        Ok(None) => return Ok(None),
        Err(error) if error.is_of_data() => {
            tracing::error!(
                %error, task = %task.id, round = round.number, code = "selection_failed",
                "round abandoned: the task's own selection has failed"
            );
            metrics::counter!("folkmoot_selections_failed_total").increment(1);
            return Ok(Some((RoundInput::Stop(AbandonReason::SelectionFailed), None)));
        }
        Err(error) => return Err(error),
    };
    let facts = match facts {
        // Clients may have left while the selection ran.
        RoundInput::Waiting(_) if answer.is_new => {
            RoundInput::Waiting(waiting(coordinator, task, round, now).await?)
        }
        RoundInput::Collected(_) if answer.is_new => {
            RoundInput::Collected(collected(coordinator, task, round, now).await?)
        }
        facts => facts,
    };
    Ok(Some((facts.with_preferred(answer.preferred.clone()), Some(answer))))
}

/// Ends a round that has closed. If its updates can never be combined, abandons the round, so that the task can
/// continue. Returns whether another step may follow immediately: not while a committee or an edge aggregator sums.
async fn end_or_abandon(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let round = record.round.id;
    let summed = match committee::summed(coordinator, task, &record, now).await? {
        Summed::Yes => partial_sums::summed(coordinator, task, &record, now).await?,
        summed => summed,
    };
    match summed {
        Summed::Yes => {}
        Summed::NotYet => return Ok(false),
        Summed::Cancelled => {
            withhold(coordinator, task, record, AbandonReason::TaskCancelled, now).await?;
            return Ok(true);
        }
        Summed::Never(error) => {
            let number = record.round.number;
            withhold(coordinator, task, record, AbandonReason::CommitFailed, now).await?;
            tracing::error!(
                %error, task = %task.id, round = number, code = "commit_failed",
                "round abandoned: a sum is missing"
            );
            metrics::counter!("folkmoot_commits_failed_total").increment(1);
            return Ok(true);
        }
    }
    let ended = match record.round.purpose {
        Purpose::Training => release(coordinator, task, record.clone(), now).await,
        Purpose::Evaluation => combine_reports(coordinator, task, record.clone(), now).await,
    };
    match ended {
        // The log is only a copy: the next step copies it again.
        Err(error) if error.is_of_log() && coordinator.ingest.distrust(round) => Err(error),
        Err(error) if error.is_of_data() => {
            let reason = AbandonReason::CommitFailed;
            tracing::error!(
                %error, task = %task.id, round = record.round.number, code = "commit_failed",
                "round abandoned: its updates cannot be combined, and a retry would fail again"
            );
            metrics::counter!("folkmoot_commits_failed_total").increment(1);
            withhold(coordinator, task, record, reason, now).await
        }
        ended => ended,
    }
    .map(|()| true)
}

/// Returns whether the masks can be removed. If a client has cheated so that they never can, ends the round.
async fn opened(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<RoundInput, DriveError> {
    match is_open(coordinator, task, record).await {
        Ok(is_enough) => Ok(RoundInput::Opened { is_enough }),
        Err(DriveError::Unmask(error)) if error.is_of_clients() => {
            tracing::error!(%error, task = %task.id, round = record.round.number, "the masks cannot be removed");
            Ok(RoundInput::Stop(AbandonReason::CommitFailed))
        }
        Err(error) => Err(error),
    }
}

async fn counts(coordinator: &Coordinator, record: &RoundRecord) -> Result<ReportCounts, DriveError> {
    let (storage, round) = (&coordinator.storage, record.round.id);
    let counts = match record.round.phase.step() {
        Some(step) => storage.step_counts(round, step).await?,
        None => storage.report_counts(round).await?,
    };
    invariants::every_assignment_is_counted_once(&record.round, counts)?;
    Ok(counts)
}

fn stop_reason(state: TaskState, purpose: Purpose, falls_back: bool) -> Option<AbandonReason> {
    match state {
        TaskState::Active { .. } if falls_back && purpose == Purpose::Training => {
            Some(AbandonReason::RolledBack)
        }
        TaskState::Active { .. } => None,
        TaskState::Draft | TaskState::Paused { .. } => Some(AbandonReason::TaskPaused),
        // An evaluation of the last version may finish.
        TaskState::Completed { .. } if purpose == Purpose::Evaluation => None,
        TaskState::Completed { .. } => Some(AbandonReason::TaskCompleted),
        TaskState::Cancelled => Some(AbandonReason::TaskCancelled),
    }
}
