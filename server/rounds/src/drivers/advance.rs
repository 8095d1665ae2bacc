//! One step of an open round: its facts to the pure code, and what that decides into the storage.

use std::sync::Arc;

use folkmoot_coordinator::{
    invariants,
    round::{AbandonReason, Phase, Purpose, RoundInput, Rules},
    scheduling::{ReportCounts, Sampled, SchedulingChoice, SchedulingPolicy, Synchronous},
    selection::SelectionChoice,
    task::TaskState,
};
use folkmoot_protocol::Timestamp;
use folkmoot_storage::{AssignmentRepository, RoundRecord, TaskRecord};

use super::{
    DriveError,
    aggregate::aggregate,
    commit::throw_away,
    facts::{collected, waiting},
    pause,
    perform::perform,
};
use crate::coordinator::Coordinator;

/// By what a task's rounds of one purpose decide.
pub enum TaskRules<'a> {
    /// As the task says.
    Training(&'a TaskRecord),
    /// As the task says, where its privacy rests on how rounds are drawn.
    Sampled(&'a TaskRecord, Sampled),
    /// As its evaluation says.
    Evaluation(&'a TaskRecord, Synchronous),
}

/// The draw of an evaluation round.
const UNIFORM: SelectionChoice = SelectionChoice::Uniform;

impl TaskRules<'_> {
    /// Returns the rules.
    pub fn borrow(&self) -> Rules<'_> {
        let (task, policy, selection): (_, &dyn SchedulingPolicy, _) = match self {
            TaskRules::Training(task) => {
                (task, task.description.scheduling.policy(), &task.description.selection)
            }
            TaskRules::Sampled(task, policy) => (task, policy, &task.description.selection),
            TaskRules::Evaluation(task, policy) => (task, policy, &UNIFORM),
        };
        Rules { policy, selection, token_share_max: task.description.token_share_max }
    }
}

/// Returns by what a task's rounds of this purpose decide.
pub fn rules(task: &TaskRecord, purpose: Purpose) -> TaskRules<'_> {
    let federated = task.description.evaluation.as_ref().and_then(|one| one.federated.as_ref());
    match (purpose, federated, task.description.sampled()) {
        (Purpose::Evaluation, Some(federated), _) => TaskRules::Evaluation(task, federated.policy()),
        (_, _, Some(sampled)) => TaskRules::Sampled(task, sampled),
        _ => TaskRules::Training(task),
    }
}

/// Advances a round by one step, and says whether another could follow at once.
pub async fn advance_round(
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
        (Phase::Aggregating { .. }, _) => return aggregate_or_abandon(coordinator, task, record, now).await,
        (Phase::Reporting { .. }, Some(_)) if keeps_draws => {
            RoundInput::Closed(counts(coordinator, &record).await?)
        }
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
    let (round, effects) =
        coordinator.with_chance(|rng| record.round.clone().step(input, rules.borrow(), now, rng))?;
    if effects.is_empty() && round.phase == before {
        return Ok(false);
    }
    invariants::check_round(&round, keeps_draws)?;
    let next = RoundRecord { round, ..record };
    perform(coordinator, task, &next, effects, now).await?;
    if next.round.phase.name() != before.name() {
        let phase = next.round.phase.name();
        // How many a sample drew, and how many of them have reported, is told to nobody who reads the log.
        let told = (!keeps_draws).then_some(&next.round.phase);
        tracing::info!(
            task = %task.id, round = next.round.number, purpose = purpose.name(), from = before.name(), to = phase,
            phase = told.map(tracing::field::debug), "round advanced"
        );
        metrics::counter!("folkmoot_round_transitions_total", "phase" => phase).increment(1);
    }
    Ok(true)
}

/// Combines the updates of a round. Where that can never be done the round is abandoned, so that the task goes on.
async fn aggregate_or_abandon(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    match aggregate(coordinator, task, record.clone(), now).await {
        Err(error) if error.is_of_data() => {
            let reason = AbandonReason::CommitFailed;
            tracing::error!(
                %error, task = %task.id, round = record.round.number, code = "commit_failed",
                "round abandoned: its updates cannot be combined, and trying again would fail again"
            );
            metrics::counter!("folkmoot_commits_failed_total").increment(1);
            throw_away(coordinator, task, record, reason, now).await?;
            Ok(true)
        }
        result => result,
    }
}

async fn counts(coordinator: &Coordinator, record: &RoundRecord) -> Result<ReportCounts, DriveError> {
    let counts = coordinator.storage.report_counts(record.round.id).await?;
    invariants::every_assignment_is_counted_once(&record.round, counts)?;
    Ok(counts)
}

/// Says whether clients of this policy start and report all the time.
pub fn is_flow(scheduling: &SchedulingChoice) -> bool {
    scheduling.policy().flow().is_some()
}

fn stop_reason(state: TaskState, purpose: Purpose, falls_back: bool) -> Option<AbandonReason> {
    match state {
        TaskState::Active { .. } if falls_back && purpose == Purpose::Training => {
            Some(AbandonReason::RolledBack)
        }
        TaskState::Active { .. } => None,
        TaskState::Draft | TaskState::Paused { .. } => Some(AbandonReason::TaskPaused),
        // What was measured of the last version is worth its wait.
        TaskState::Completed { .. } if purpose == Purpose::Evaluation => None,
        TaskState::Completed { .. } => Some(AbandonReason::TaskCompleted),
        TaskState::Cancelled => Some(AbandonReason::TaskCancelled),
    }
}
