//! The last step of a release: the transaction that publishes a version, and the cleanup after it.

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
    RoundCommit, RoundRecord, RoundRepository, StorageError, TaskRecord,
};

use super::{noise, withhold::withhold};
use crate::{
    coordinator::Coordinator,
    drivers::{
        DriveError,
        facts::collected,
        open,
        rules::{is_flow, rules},
    },
    privacy,
    signals::Signal,
};

/// The status of assignments that become too stale with a commit.
const LEFT_BEHIND: AssignmentStatus = AssignmentStatus::Dropped { reason: DropReason::LeftBehind };

/// A version that is stored but not published.
pub struct Candidate {
    pub(super) record: RoundRecord,
    pub(super) accepted: Vec<AcceptedUpdate>,
    pub(super) version: ModelVersionRecord,
    pub(super) end: End,
}

/// Whether the task ends with this version, and whether it ends in the same transaction.
pub struct End {
    /// The stop condition that the task meets with this version, if any.
    pub(super) stop: Option<StopReason>,
    /// The same reason if the task ends in the same transaction; `None` if the version must be evaluated first.
    pub(super) ends_now: Option<StopReason>,
}

impl Candidate {
    /// Publishes the version if the privacy budgets allow it, and withholds it otherwise.
    ///
    /// # Errors
    /// Fails if the storage or the round log fails. The round is then either unchanged or published.
    pub async fn publish(
        self,
        coordinator: &Arc<Coordinator>,
        task: &TaskRecord,
        now: Timestamp,
    ) -> Result<(), DriveError> {
        let Self { record, accepted, version, end: End { stop, ends_now } } = self;
        let released = RoundInput::Released { version: version.number };
        let rules = rules(task, Purpose::Training);
        let (round, _) =
            coordinator.with_chance(|rng| record.round.clone().step(released, rules.borrow(), now, rng))?;
        invariants::check_round(&round, rules.borrow().policy.keeps_draws())?;
        let goes_on = is_flow(&task.description.scheduling) && stop.is_none() && task.state.is_active();
        let next = match goes_on {
            true => Some(open::next_round(coordinator, task, Purpose::Training, version.number, now).await?),
            false => None,
        };
        let dropped = match &next {
            Some(next) => left_behind(coordinator, task, next, &version, now).await?,
            None => Vec::new(),
        };
        let committed = RoundRecord { round, ..record.clone() };
        let commit = RoundCommit {
            record: &committed,
            version: &version,
            task_state: ends_now.and_then(|reason| task.state.step(TaskInput::Complete(reason)).ok()),
            next: next.as_ref(),
            dropped: &dropped,
            leave: None,
            now,
        };
        if !commit_with_leave(coordinator, task, commit).await? {
            tracing::warn!(
                task = %task.id, round = committed.round.number,
                "round withheld: the privacy budget does not allow another version"
            );
            return withhold(coordinator, task, record, AbandonReason::PrivacyBudget, now).await;
        }
        tracing::info!(
            task = %task.id, round = committed.round.number, version = version.number,
            weights = %version.weights, "round committed"
        );
        metrics::counter!("folkmoot_round_transitions_total", "phase" => "committed").increment(1);
        forget_updates(coordinator, task, &commit, &accepted).await?;
        if task.description.prefetch {
            let weights = Artifact { digest: version.weights, bytes: version.weights_bytes };
            coordinator.crowds.offer(task, weights);
        }
        coordinator.signal(Signal::Opened);
        noise::forget_before(coordinator, task, &version).await;
        if version.making.clipping_norm.is_some() {
            noise::discard_losers(coordinator, task, committed.round.id, &version).await;
        }
        Ok(())
    }
}

/// Commits the version if the privacy budgets allow it, and returns whether it was committed. The transaction verifies
/// that the ledger and the population's settings have not changed since the check.
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
            // Another release of the population committed first: check the remaining budget again.
            Err(StorageError::LeaveConflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Deletes the logs of the updates that the commit has combined, and of updates that the commit has made too stale.
async fn forget_updates(
    coordinator: &Coordinator,
    task: &TaskRecord,
    commit: &RoundCommit<'_>,
    accepted: &[AcceptedUpdate],
) -> Result<(), DriveError> {
    if !is_flow(&task.description.scheduling) {
        coordinator.ingest.forget_round(commit.record.round.id)?;
        coordinator.committees.forget(commit.record.round.id);
        coordinator.processes.relay(Signal::Ended(commit.record.round.id));
        return Ok(());
    }
    // Updates in progress stay in the log of the round that assigned them.
    for update in accepted {
        coordinator.ingest.forget_assignment(update.round_id, update.assignment_id)?;
    }
    for id in commit.dropped {
        let assignment = coordinator.storage.assignment(*id).await?;
        // An update that was accepted meanwhile is used in the next round.
        if let Some(assignment) = assignment.filter(|one| one.status == LEFT_BEHIND) {
            coordinator.ingest.forget_assignment(assignment.round_id, *id)?;
        }
    }
    if commit.next.is_none() {
        // The flow has ended, so no update is in progress any more.
        coordinator.forget_unneeded_logs().await?;
    }
    Ok(())
}

/// Lists the outstanding assignments that become too stale with this commit.
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
