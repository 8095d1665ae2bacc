use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, TaskId};

use super::{
    MemoryStorage, State,
    counts::{check_count, check_counts, check_metrics},
};
use crate::{ModelVersionRecord, ModelVersionRepository, StorageError, audit::Act};

#[async_trait]
impl ModelVersionRepository for MemoryStorage {
    async fn model_version(
        &self,
        task_id: TaskId,
        number: u64,
    ) -> Result<Option<ModelVersionRecord>, StorageError> {
        check_count(number)?;
        Ok(self.lock().version(task_id, number).cloned())
    }

    async fn release_version(
        &self,
        organisation_id: OrganisationId,
        version: &ModelVersionRecord,
    ) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.check_version(organisation_id, version)?;
        state.insert_version(version);
        state.record(|| Act::rolled_back(organisation_id, version))
    }

    async fn latest_model_version(
        &self,
        task_id: TaskId,
    ) -> Result<Option<ModelVersionRecord>, StorageError> {
        let state = self.lock();
        let newest = state.versions.get(&task_id).and_then(|versions| versions.last_key_value());
        Ok(newest.map(|(_, version)| version.clone()))
    }

    async fn model_versions(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<ModelVersionRecord>, StorageError> {
        let state = self.lock();
        let Some(versions) = state.versions.get(&task_id) else { return Ok(Vec::new()) };
        let below = versions.range(..before.unwrap_or(u64::MAX)).rev();
        Ok(below.take(limit as usize).map(|(_, version)| version.clone()).collect())
    }

    async fn every_version(
        &self,
        task_id: TaskId,
        stride: u64,
    ) -> Result<Vec<ModelVersionRecord>, StorageError> {
        let state = self.lock();
        let Some(versions) = state.versions.get(&task_id) else { return Ok(Vec::new()) };
        let newest = versions.last_key_value().map(|(number, _)| *number);
        let chosen = versions
            .iter()
            .filter(|(number, _)| number.is_multiple_of(stride.max(1)) || Some(**number) == newest);
        Ok(chosen.map(|(_, version)| version.clone()).collect())
    }
}

impl State {
    fn version(&self, task_id: TaskId, number: u64) -> Option<&ModelVersionRecord> {
        self.versions.get(&task_id).and_then(|versions| versions.get(&number))
    }

    /// Checks whether a version can be added.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task already has a version with this number;
    /// [`StorageError::NotFound`] if the organisation has no such task, or the round does not exist.
    pub(super) fn check_version(
        &self,
        organisation_id: OrganisationId,
        version: &ModelVersionRecord,
    ) -> Result<(), StorageError> {
        check_counts([version.number, version.weights_bytes, version.created_at.0])?;
        check_metrics(&version.metrics)?;
        if self.version(version.task_id, version.number).is_some() {
            return Err(StorageError::RevisionConflict("model version"));
        }
        let has_round = version.round_id.is_none_or(|id| self.rounds.get(id).is_some());
        if !has_round || !self.tasks.is_of(version.task_id, organisation_id) {
            return Err(StorageError::NotFound("task"));
        }
        Ok(())
    }

    /// Adds a version that was checked.
    pub(super) fn insert_version(&mut self, version: &ModelVersionRecord) {
        self.versions.entry(version.task_id).or_default().insert(version.number, version.clone());
    }
}
