//! The transaction that releases a version, or the end of a round whose version may not be released.

use std::sync::Arc;

use folkmoot_coordinator::{
    invariants,
    round::{AbandonReason, Purpose, RoundInput},
    scheduling::{Facts, ReportCounts},
    task::{StopReason, TaskInput},
};
use folkmoot_protocol::{AssignmentId, Timestamp, messages::Artifact};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRepository, AssignmentStatus, DropReason, Leave, ModelVersionRecord,
    RoundCommit, RoundRecord, RoundRepository, StorageError, TaskRecord, TaskRepository,
};

use super::{
    DriveError,
    advance::{is_flow, rules},
    aggregate::discard_unreleased,
    facts::collected,
    open,
    perform::perform,
    task::forget_last_noise,
};
use crate::{coordinator::Coordinator, privacy};

/// What a commit makes of assignments that fall too far behind.
const LEFT_BEHIND: AssignmentStatus = AssignmentStatus::Dropped { reason: DropReason::LeftBehind };

/// Whether the task is over with a version, and whether it ends with it.
pub(super) struct End {
    /// Why the task is over, if it is.
    pub(super) stop: Option<StopReason>,
    /// The same, if it ends in the same transaction.
    pub(super) ends_now: Option<StopReason>,
}

/// Stores the version with all that goes with it, and forgets the updates. Says whether it is released: what the privacy
/// budget does not allow is withheld.
pub(super) async fn commit(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    version: &ModelVersionRecord,
    accepted: &[AcceptedUpdate],
    End { stop, ends_now }: End,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let storage = &coordinator.storage;
    let released = RoundInput::Released { version: version.number };
    let rules = rules(task, Purpose::Training);
    let (round, _) =
        coordinator.with_chance(|rng| record.round.clone().step(released, rules.borrow(), now, rng))?;
    invariants::check_round(&round, rules.borrow().policy.keeps_draws())?;
    let task_state = ends_now.and_then(|reason| task.state.step(TaskInput::Complete(reason)).ok());
    let is_active = task.state.is_active();
    let next = match is_flow(&task.description.scheduling) && stop.is_none() && is_active {
        true => Some(open::next_round(coordinator, task, Purpose::Training, version.number, now).await?),
        false => None,
    };
    let dropped = match &next {
        Some(next) => left_behind(coordinator, task, next, version, now).await?,
        None => Vec::new(),
    };
    let committed = RoundRecord { round, ..record.clone() };
    let next_round = next.as_ref();
    let commit = RoundCommit {
        record: &committed,
        version,
        task_state,
        next: next_round,
        dropped: &dropped,
        leave: None,
        now,
    };
    if !commit_with_leave(coordinator, task, commit).await? {
        tracing::warn!(
            task = %task.id, round = committed.round.number,
            "round withheld: the privacy budget does not allow its version"
        );
        throw_away(coordinator, task, record, AbandonReason::PrivacyBudget, now).await?;
        return Ok(false);
    }
    tracing::info!(
        task = %task.id, round = committed.round.number, version = version.number,
        weights = %version.weights, "round committed"
    );
    metrics::counter!("folkmoot_round_transitions_total", "phase" => "committed").increment(1);
    if is_flow(&task.description.scheduling) {
        // What is under way goes on, in the log of the round in which it was given.
        for update in accepted {
            coordinator.ingest.forget_assignment(update.round_id, update.assignment_id)?;
        }
        for id in dropped {
            let assignment = storage.assignment(id).await?;
            // What was accepted meanwhile counts in the next round.
            if let Some(assignment) = assignment.filter(|one| one.status == LEFT_BEHIND) {
                coordinator.ingest.forget_assignment(assignment.round_id, id)?;
            }
        }
        if next.is_none() {
            // With the flow has ended what was under way.
            coordinator.forget_unneeded_logs().await?;
        }
    } else {
        coordinator.ingest.forget_round(committed.round.id)?;
    }
    if task.description.prefetch {
        let weights = Artifact { digest: version.weights, bytes: version.weights_bytes };
        coordinator.crowds.offer(task, weights);
    }
    coordinator.round_opened.notify_waiters();
    Ok(true)
}

/// Commits if the privacy budgets allow it, which is found out before and still holds in the transaction. Says whether they do.
async fn commit_with_leave(
    coordinator: &Coordinator,
    task: &TaskRecord,
    commit: RoundCommit<'_>,
) -> Result<bool, DriveError> {
    let terms = privacy::terms(task);
    loop {
        let ground = privacy::Ground::of(coordinator, task).await?;
        if !ground.allows(task, 0, &[])? {
            return Ok(false);
        }
        let leave = Leave {
            population: &task.description.population,
            privacy: ground.population,
            entries: ground.entries(),
            charge: terms.as_ref().map(|terms| &terms.charge),
        };
        match coordinator.storage.commit_round(&RoundCommit { leave: Some(leave), ..commit }).await {
            Ok(()) => return Ok(true),
            // Somebody else was faster, so that all together get on.
            Err(StorageError::LeaveConflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends a round that aggregates without a version, and deletes what was made for it.
///
/// # Errors
/// If the storage fails; the round is as it was.
pub(super) async fn throw_away(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    reason: AbandonReason,
    now: Timestamp,
) -> Result<(), DriveError> {
    if record.round.purpose == Purpose::Training {
        discard_unreleased(coordinator, task, &record).await?;
    }
    let (stop, rules) = (RoundInput::Stop(reason), rules(task, record.round.purpose));
    let (round, effects) =
        coordinator.with_chance(|rng| record.round.clone().step(stop, rules.borrow(), now, rng))?;
    invariants::check_round(&round, rules.borrow().policy.keeps_draws())?;
    perform(coordinator, task, &RoundRecord { round, ..record }, effects, now).await?;
    metrics::counter!("folkmoot_round_transitions_total", "phase" => "abandoned").increment(1);
    // While the round was open, the end of its task left the noise to it.
    match coordinator.storage.task_of_any_organisation(task.id).await? {
        Some(task) if task.state.is_final() => forget_last_noise(coordinator, task.id).await,
        _ => Ok(()),
    }
}

/// Lists the assignments under way that fall too far behind by this commit.
async fn left_behind(
    coordinator: &Coordinator,
    task: &TaskRecord,
    next: &RoundRecord,
    version: &ModelVersionRecord,
    now: Timestamp,
) -> Result<Vec<AssignmentId>, DriveError> {
    let collected = collected(coordinator, task, &next.round, now).await?;
    let changes: Vec<f64> = [version.making.change_norm].into_iter().chain(collected.changes).collect();
    let facts = Facts {
        now,
        since: now,
        asked: None,
        version: version.number,
        is_crowd: false,
        counts: ReportCounts::default(),
        outstanding: &collected.outstanding,
        members: &collected.members,
        changes: &changes,
    };
    let policy = task.description.scheduling.policy();
    let dropped = collected.outstanding.iter().filter(|one| policy.drops(&facts, one));
    Ok(dropped.map(|one| one.assignment_id).collect())
}
