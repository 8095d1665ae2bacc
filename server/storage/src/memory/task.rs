use async_trait::async_trait;
use std::collections::BTreeSet;

use folkmoot_coordinator::task::TaskState;
use folkmoot_protocol::{OrganisationId, TaskId};

use super::{
    MemoryStorage, State,
    counts::{check_count, check_counts},
};
use crate::{ModelVersionRecord, StorageError, TaskFilter, TaskRecord, TaskRepository, ledger::task_event};

#[async_trait]
impl TaskRepository for MemoryStorage {
    async fn create_task(&self, task: &TaskRecord, version: &ModelVersionRecord) -> Result<(), StorageError> {
        self.lock().create_task(task, version)
    }

    async fn task(
        &self,
        organisation_id: OrganisationId,
        id: TaskId,
    ) -> Result<Option<TaskRecord>, StorageError> {
        let state = self.lock();
        Ok(state.tasks.get(id).filter(|task| task.organisation_id == organisation_id).cloned())
    }

    async fn task_of_any_organisation(&self, id: TaskId) -> Result<Option<TaskRecord>, StorageError> {
        Ok(self.lock().tasks.get(id).cloned())
    }

    async fn tasks(
        &self,
        organisation_id: OrganisationId,
        filter: &TaskFilter,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskRecord>, StorageError> {
        let state = self.lock();
        let tasks = state.tasks.newest(organisation_id, before).filter(|task| filter.passes(task));
        Ok(tasks.take(limit as usize).cloned().collect())
    }

    async fn set_task_state(&self, id: TaskId, state: TaskState, revision: u64) -> Result<(), StorageError> {
        check_count(revision)?;
        match self.lock().tasks.set_state(id, state, |task| task.revision == revision) {
            true => Ok(()),
            false => Err(StorageError::RevisionConflict("task")),
        }
    }

    async fn tasks_to_drive(&self) -> Result<Vec<TaskId>, StorageError> {
        let state = self.lock();
        let tasks: BTreeSet<TaskId> = state.tasks.active().chain(state.rounds.open_tasks()).collect();
        Ok(tasks.into_iter().collect())
    }
}

impl State {
    fn create_task(&mut self, task: &TaskRecord, version: &ModelVersionRecord) -> Result<(), StorageError> {
        check_counts([task.model_bytes, task.plan_bytes, task.created_at.0, task.revision, task.served])?;
        if self.tasks.get(task.id).is_some() {
            return Err(StorageError::NameTaken("task"));
        }
        self.check_organisation(task.organisation_id)?;
        self.check_first_version(task, version)?;
        self.tasks.insert(task.clone());
        self.insert_version(version);
        let (organisation_id, population) = (task.organisation_id, &task.description.population);
        let has_entries = self.ledgers.contains_key(&(organisation_id, population.clone()));
        if let Some(event) = task_event(task, version, has_entries) {
            self.append(organisation_id, population, task.created_at, event);
        }
        Ok(())
    }

    /// Says whether a version can be added together with its task.
    fn check_first_version(
        &self,
        task: &TaskRecord,
        version: &ModelVersionRecord,
    ) -> Result<(), StorageError> {
        match self.check_version(task.organisation_id, version) {
            // The task is about to be there.
            Err(StorageError::NotFound(_)) if version.task_id == task.id && version.round_id.is_none() => {
                Ok(())
            }
            checked => checked,
        }
    }
}
