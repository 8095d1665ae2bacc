use async_trait::async_trait;
use folkmoot_protocol::TaskId;

use super::{
    MemoryStorage, State,
    counts::{check_count, check_counts, check_metrics},
};
use crate::{EvaluationRecord, EvaluationRepository, EvaluationSource, RoundRecord, StorageError};

/// The unique key of a task's evaluation: version, source and slice.
pub(super) type EvaluationKey = (u64, EvaluationSource, String);

#[async_trait]
impl EvaluationRepository for MemoryStorage {
    async fn record_evaluation(&self, evaluation: &EvaluationRecord) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.check_evaluation(evaluation)?;
        state.insert_evaluation(evaluation);
        Ok(())
    }

    async fn end_evaluation(
        &self,
        record: &RoundRecord,
        evaluations: &[EvaluationRecord],
    ) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        evaluations.iter().try_for_each(|evaluation| state.check_evaluation(evaluation))?;
        state.rounds.update(record);
        evaluations.iter().for_each(|evaluation| state.insert_evaluation(evaluation));
        Ok(())
    }

    async fn evaluations(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError> {
        let state = self.lock();
        Ok(state.evaluations_of(task_id).filter(|one| one.slice.is_empty()).map(without_classes).collect())
    }

    async fn last_evaluated(
        &self,
        task_id: TaskId,
        source: EvaluationSource,
    ) -> Result<Option<u64>, StorageError> {
        let state = self.lock();
        let newest = state.evaluations_of(task_id).rev().find(|one| one.source == source);
        Ok(newest.map(|one| one.version))
    }

    async fn evaluations_at(
        &self,
        task_id: TaskId,
        version: u64,
    ) -> Result<Vec<EvaluationRecord>, StorageError> {
        check_count(version)?;
        let state = self.lock();
        Ok(state.evaluations_at(task_id, version).filter(|one| one.slice.is_empty()).cloned().collect())
    }

    async fn evaluation_slices(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError> {
        let state = self.lock();
        let of_slices = state.evaluations_of(task_id).filter(|one| !one.slice.is_empty());
        let mut slices: Vec<EvaluationRecord> = of_slices.map(without_classes).collect();
        // The slices are already ordered by version and source, and the stable sort keeps that order for equal keys.
        slices.sort_by(|one, other| (one.version, &one.slice).cmp(&(other.version, &other.slice)));
        Ok(slices)
    }
}

impl State {
    fn evaluations_of(&self, task_id: TaskId) -> impl DoubleEndedIterator<Item = &EvaluationRecord> {
        self.evaluations.get(&task_id).into_iter().flat_map(|evaluations| evaluations.values())
    }

    fn evaluations_at(&self, task_id: TaskId, version: u64) -> impl Iterator<Item = &EvaluationRecord> {
        let first = (version, EvaluationSource::Central, String::new());
        let evaluations = self.evaluations.get(&task_id).into_iter();
        let from_version = evaluations.flat_map(move |evaluations| evaluations.range(first.clone()..));
        from_version.map(|(_, one)| one).take_while(move |one| one.version == version)
    }

    fn check_evaluation(&self, evaluation: &EvaluationRecord) -> Result<(), StorageError> {
        check_counts([evaluation.version, evaluation.client_count, evaluation.created_at.0])?;
        check_metrics(&evaluation.metrics)?;
        let is_there = self
            .evaluations
            .get(&evaluation.task_id)
            .is_some_and(|of_task| of_task.contains_key(&key_of(evaluation)));
        match is_there || self.tasks.is_of(evaluation.task_id, evaluation.organisation_id) {
            true => Ok(()),
            false => Err(StorageError::NotFound("task")),
        }
    }

    /// Adds an evaluation that was checked. If there is one with the same key, that one is kept.
    fn insert_evaluation(&mut self, evaluation: &EvaluationRecord) {
        let of_task = self.evaluations.entry(evaluation.task_id).or_default();
        of_task.entry(key_of(evaluation)).or_insert_with(|| evaluation.clone());
    }
}

fn without_classes(evaluation: &EvaluationRecord) -> EvaluationRecord {
    EvaluationRecord { classes: None, ..evaluation.clone() }
}

fn key_of(evaluation: &EvaluationRecord) -> EvaluationKey {
    (evaluation.version, evaluation.source, evaluation.slice.clone())
}
