//! Reads the facts and checks the invariants. After a step, checks only the facts that the step can have changed.

use bytes::Bytes;
use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_coordinator::round::{Phase, Round};
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{AssignmentId, BlobDigest, UpdateDigest, messages::UploadState};
use folkmoot_storage::{
    AssignmentRecord, AssignmentRepository, AssignmentStatus, DropReason, ModelVersionRepository,
    RoundRepository, TaskRepository,
};

use super::{SimTask, World, short};
use crate::{
    invariants::{self, Broken, Holds, broken},
    oracle::{StaleUpdate, averaged, bounded_means, exact_means, stale_means, with_momentum},
    scenario::Sabotage,
};

/// The status of an assignment whose work became too stale.
const LEFT_BEHIND: AssignmentStatus = AssignmentStatus::Dropped { reason: DropReason::LeftBehind };
/// The number of newest rounds that are checked after a step. Earlier rounds have ended; they are checked again at the
/// end of the world.
const RECENT_ROUNDS: u32 = 2;
/// The maximum number of rounds to read. It is more than any simulated task has.
const ALL_ROUNDS: u32 = 100_000;

impl World {
    /// Checks the facts that a driver's step can have changed.
    pub(super) async fn check_task(&mut self, task: usize, has_advanced: bool) -> Holds {
        if !has_advanced {
            return self.check_state(task).await;
        }
        let mut rounds = self.rounds(task, RECENT_ROUNDS).await?;
        invariants::rounds_are_in_order(&rounds)?;
        for round in rounds.drain(..) {
            let before = self.tasks[task].rounds.insert(round.number, round.clone());
            if before.as_ref() == Some(&round) {
                continue;
            }
            if let Some(before) = before {
                invariants::a_round_only_goes_forward(&before.phase, &round.phase)?;
            }
            self.note(format_args!(
                "task {}, round {}: {:?}",
                short(round.task_id),
                round.number,
                round.phase
            ));
            match round.phase {
                Phase::Committed { .. } => self.coverage.count("rounds committed"),
                Phase::Abandoned { .. } => {
                    self.coverage.count("rounds abandoned");
                    if self.ledger.secured.rosters.contains_key(&round.id) {
                        self.coverage.count("masked rounds abandoned after their keys");
                    }
                }
                Phase::Reporting { .. } | Phase::Collecting { .. } => {
                    self.check_assignments_are_exclusive().await?
                }
                _ => {}
            }
            self.check_round(task, &round).await?;
        }
        self.check_state(task).await
    }

    /// Checks that a task's state changes only with the commit of its last round, or by an operator.
    async fn check_state(&mut self, task: usize) -> Holds {
        let SimTask { id, state, rounds, .. } = &self.tasks[task];
        let is_open = rounds.values().next_back().is_some_and(|round| !round.phase.is_final());
        if state.is_final() || is_open {
            return Ok(());
        }
        let Some(record) = self.storage.task_of_any_organisation(*id).await? else {
            return Err(broken("a_task_stays", id.to_string()));
        };
        if record.state.is_final() {
            self.coverage.count("tasks completed");
            self.note(format_args!("task {} is {:?}", short(record.id), record.state));
        }
        self.tasks[task].state = record.state;
        Ok(())
    }

    async fn rounds(&self, task: usize, limit: u32) -> Result<Vec<Round>, Broken> {
        let mut records = self.storage.rounds(self.tasks[task].id, limit, None).await?;
        records.reverse();
        Ok(records.into_iter().map(|record| record.round).collect())
    }

    /// Checks a round with its assignments, and its weights if it is committed.
    async fn check_round(&mut self, task: usize, round: &Round) -> Holds {
        if matches!(round.phase, Phase::Selecting { .. }) {
            return Ok(());
        }
        if self.tasks[task].description.scheduling.policy().flow().is_some() {
            return self.check_flow(task, round).await;
        }
        let assignments = self.storage.assignments(round.id).await?;
        for assignment in &assignments {
            self.check_status(assignment)?;
        }
        invariants::a_closed_round_waits_for_nobody(round, &assignments)?;
        let updates = self.storage.accepted_updates(round.id).await?;
        invariants::every_assignment_counts_once(&updates, &assignments)?;
        let Phase::Committed { version, accepted, .. } = round.phase else { return Ok(()) };
        if accepted != updates.len() as u64 {
            return Err(broken(
                "a_commit_is_of_the_accepted",
                format!("{accepted} are said, {} counted", updates.len()),
            ));
        }
        let mut sent = Vec::new();
        for update in &updates {
            sent.push(invariants::what_counts_was_sent(update, &self.ledger.memory)?.clone());
        }
        if self.sabotage == Some(Sabotage::AnUpdateIsLost) && sent.len() > 1 {
            sent.pop();
        }
        if self.tasks[task].plan.protection.secure().is_some() {
            self.check_masked(task, round, version, &sent).await?;
        }
        let description = &self.tasks[task].description;
        let base = floats(&self.weights(task, round.base_version).await?);
        let means = match description.aggregator {
            AggregatorChoice::BoundedMean(bounded) => {
                self.coverage.count("commits of bounded means");
                bounded_means(
                    &sent.iter().collect::<Vec<_>>(),
                    bounded.influence_max,
                    &description.grid,
                    base.len(),
                )
            }
            _ => exact_means(&sent.iter().collect::<Vec<_>>(), &description.grid, base.len()),
        };
        self.check_weights(task, round.base_version, version, &means).await
    }

    /// Checks the round of a flow. Its updates may belong to assignments of earlier rounds.
    async fn check_flow(&mut self, task: usize, round: &Round) -> Holds {
        for assignment in self.storage.assignments(round.id).await? {
            self.check_status(&assignment)?;
        }
        let updates = self.storage.accepted_updates(round.id).await?;
        let mut sent = Vec::new();
        for update in &updates {
            self.check_assignment(update.assignment_id).await?;
            let status = &self.ledger.statuses[&update.assignment_id];
            let counted = self.ledger.counted.insert(update.assignment_id, round.id);
            invariants::an_update_counts_in_one_round(update, status, counted, round.id)?;
            sent.push(invariants::what_counts_was_sent(update, &self.ledger.memory)?.clone());
        }
        let Phase::Committed { version, accepted, .. } = round.phase else { return Ok(()) };
        if accepted != updates.len() as u64 {
            return Err(broken(
                "a_commit_is_of_the_accepted",
                format!("{accepted} are said, {} counted", updates.len()),
            ));
        }
        let description = self.tasks[task].description.clone();
        invariants::a_commit_keeps_its_bounds(&description, round, &updates)?;
        if self.sabotage == Some(Sabotage::AnUpdateIsLost) && sent.len() > 1 {
            sent.pop();
        }
        let policy = description.scheduling.policy();
        let newest = floats(&self.weights(task, round.base_version).await?);
        let mut stale = Vec::new();
        for (update, sent) in updates.iter().zip(sent) {
            let attenuation = policy.staleness_weight(round.base_version - update.base_version);
            if update.base_version < round.base_version {
                self.coverage.count("stale updates committed");
            }
            stale.push(StaleUpdate {
                base: floats(&self.weights(task, update.base_version).await?),
                is_stale: update.base_version < round.base_version,
                attenuation: attenuation.unwrap_or_default(),
                sent,
            });
        }
        self.coverage.count("commits of flows");
        let means = stale_means(&stale, &newest, policy.staleness().correction);
        self.check_weights(task, round.base_version, version, &means).await
    }

    /// Checks that a version equals the result of the server optimizer's definition for these means.
    async fn check_weights(&mut self, task: usize, base: u64, version: u64, means: &[f64]) -> Holds {
        let weights = floats(&self.weights(task, base).await?);
        let expected = match &self.tasks[task].description.finalizer {
            FinalizerChoice::FedAvg(finalizer) => averaged(&weights, means, finalizer.server_learning_rate),
            FinalizerChoice::FedAvgM(finalizer) => {
                let velocities = match self.finalizer_state(task, base).await? {
                    Some(bytes) => floats(&bytes),
                    None => vec![0.0; weights.len()],
                };
                let (rate, momentum) = (finalizer.server_learning_rate, finalizer.momentum);
                let (expected, velocities) = with_momentum(&weights, means, &velocities, rate, momentum);
                let kept = self.finalizer_state(task, version).await?.unwrap_or_default();
                invariants::weights_are_the_oracles(version, &kept, &velocities)?;
                expected
            }
            other => return Err(broken("the_test_knows_the_finalizer", format!("{other:?}"))),
        };
        invariants::weights_are_the_oracles(version, &self.weights(task, version).await?, &expected)
    }

    /// Reads the server optimizer's state that was stored with a version.
    async fn finalizer_state(&self, task: usize, version: u64) -> Result<Option<Bytes>, Broken> {
        let record = self.storage.model_version(self.tasks[task].id, version).await?;
        match record.and_then(|record| record.making.finalizer_state) {
            // Only the states of the newest version and of open rounds are kept.
            Some(state) => match self.ledger.deleted.get(&state) {
                Some(copy) => Ok(Some(copy.clone())),
                None => self.blob(state).await.map(Some),
            },
            None => Ok(None),
        }
    }

    /// Reads the weights of a version from the store, without any cache.
    async fn weights(&self, task: usize, version: u64) -> Result<Bytes, Broken> {
        let record = self.storage.model_version(self.tasks[task].id, version).await?;
        let record =
            record.ok_or_else(|| broken("versions_have_no_gap", format!("there is no version {version}")))?;
        match self.ledger.deleted.get(&record.weights).filter(|_| record.dropped_at.is_some()) {
            Some(copy) => Ok(copy.clone()),
            None => self.blob(record.weights).await,
        }
    }

    async fn blob(&self, digest: BlobDigest) -> Result<Bytes, Broken> {
        // The pending fault must occur in the coordinator, not in this check.
        let armed = self.server.store.disarm();
        let found = BlobStore::new(self.server.store.clone()).get(digest).await;
        self.server.store.fail_next(armed);
        found.map_err(|error| broken("what_is_released_is_kept", error.to_string()))
    }

    fn check_status(&mut self, assignment: &AssignmentRecord) -> Holds {
        let before = self.ledger.statuses.insert(assignment.id, assignment.status.clone());
        if before.as_ref() != Some(&assignment.status) && assignment.status == LEFT_BEHIND {
            self.coverage.count("assignments left behind");
        }
        before.map_or(Ok(()), |before| invariants::an_end_is_an_end(&before, assignment))
    }

    /// Checks the facts that a request can have changed.
    pub(super) async fn check_assignment(&mut self, id: AssignmentId) -> Result<(), Broken> {
        match self.storage.assignment(id).await? {
            Some(assignment) => self.check_status(&assignment),
            None => Ok(()),
        }
    }

    /// Checks that the coordinator's response about an update is true.
    pub(super) async fn check_answer(
        &mut self,
        id: AssignmentId,
        state: UploadState,
        digest: Option<UpdateDigest>,
    ) -> Holds {
        if state != UploadState::Accepted {
            return Ok(());
        }
        self.check_assignment(id).await?;
        let status = self.ledger.statuses.get(&id).unwrap_or(&AssignmentStatus::Outstanding);
        invariants::what_was_answered_is_stored(state, status, digest)?;
        let AssignmentStatus::Accepted { digest, .. } = status else { return Ok(()) };
        match self.ledger.memory.get(&(id, *digest)) {
            Some(update) if !update.is_garbage => Ok(()),
            other => Err(broken("garbage_is_never_accepted", format!("{other:?} was accepted for {id}"))),
        }
    }

    async fn check_assignments_are_exclusive(&mut self) -> Holds {
        let mut outstanding = Vec::new();
        for task in &self.tasks {
            outstanding.extend(self.storage.outstanding(task.id).await?);
        }
        invariants::a_client_has_one_assignment(outstanding.iter().map(|one| one.client_id))
    }

    /// Checks all facts.
    pub(super) async fn check_everything(&mut self) -> Holds {
        for task in 0..self.tasks.len() {
            let rounds = self.rounds(task, ALL_ROUNDS).await?;
            invariants::rounds_are_in_order(&rounds)?;
            let mut versions = self.storage.model_versions(self.tasks[task].id, ALL_ROUNDS, None).await?;
            versions.reverse();
            invariants::versions_have_no_gap(&versions, &rounds)?;
            for round in &rounds {
                let seen = self.tasks[task].rounds.get(&round.number);
                let seen = seen.ok_or_else(|| {
                    broken("a_round_only_goes_forward", format!("{round:?} was never seen"))
                })?;
                invariants::a_round_only_goes_forward(&seen.phase, &round.phase)?;
                self.check_round(task, round).await?;
            }
        }
        self.check_blame().await?;
        self.check_assignments_are_exclusive().await?;
        self.check_logs_are_gone().await
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
