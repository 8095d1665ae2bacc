use std::collections::BTreeSet;

use async_trait::async_trait;
use folkmoot_coordinator::task::{TaskFilter, TaskState};
use folkmoot_protocol::{OrganisationId, TaskId};

use super::{
    MemoryStorage, State,
    counts::{check_count, check_counts},
};
use crate::{
    Admission, ModelVersionRecord, StorageError, TaskRecord, TaskRepository, audit::Act, ledger::task_event,
};

#[async_trait]
impl TaskRepository for MemoryStorage {
    async fn create_task(&self, task: &TaskRecord, version: &ModelVersionRecord) -> Result<(), StorageError> {
        self.lock().create_task(task, version)
    }

    async fn admit_task(
        &self,
        task: &TaskRecord,
        version: &ModelVersionRecord,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.check_admission(task, admission)?;
        state.create_task(task, version)
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
        let tasks = state
            .tasks
            .newest(organisation_id, before)
            .filter(|task| filter.passes(task.id, &task.description, task.state));
        Ok(tasks.take(limit as usize).cloned().collect())
    }

    async fn set_task_state(&self, id: TaskId, state: TaskState, revision: u64) -> Result<(), StorageError> {
        check_count(revision)?;
        self.lock().set_state(id, state, revision)
    }

    async fn start_task(
        &self,
        task: &TaskRecord,
        next: TaskState,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError> {
        check_count(task.revision)?;
        let mut state = self.lock();
        state.check_admission(task, admission)?;
        state.set_state(task.id, next, task.revision)
    }

    async fn tasks_to_drive(&self) -> Result<Vec<TaskId>, StorageError> {
        Ok(self.lock().tasks_to_drive().into_iter().collect())
    }
}

impl State {
    fn set_state(&mut self, id: TaskId, state: TaskState, revision: u64) -> Result<(), StorageError> {
        let before = self.tasks.get(id).map(|task| (task.organisation_id, task.state.name()));
        match (before, self.tasks.set_state(id, state, |task| task.revision == revision)) {
            (Some((organisation_id, from)), true) => {
                self.record(|| Act::state_set(organisation_id, id, from, state))
            }
            _ => Err(StorageError::RevisionConflict("task")),
        }
    }

    fn tasks_to_drive(&self) -> BTreeSet<TaskId> {
        self.tasks.active().chain(self.rounds.open_tasks()).collect()
    }

    /// Checks that a task's population has not changed since `admission` was read.
    fn check_admission(&self, task: &TaskRecord, admission: &Admission<'_>) -> Result<(), StorageError> {
        let (organisation_id, population) = (task.organisation_id, &task.description.population);
        let settings = self.populations.get(&organisation_id).and_then(|names| names.get(population));
        let privacy = settings.map(|record| record.privacy).unwrap_or_default();
        let entries = self.ledgers.get(&(organisation_id, population.clone())).map_or(0, Vec::len) as u64;
        let mut running = self.tasks_to_drive();
        running.retain(|id| {
            let found = self.tasks.get(*id).filter(|one| one.organisation_id == organisation_id);
            found.is_some_and(|one| one.description.population == *population)
        });
        let is_as_seen = privacy == admission.privacy && entries == admission.entries;
        match is_as_seen && running.iter().eq(admission.running) {
            true => Ok(()),
            false => Err(StorageError::LeaveConflict),
        }
    }

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
        self.record(|| Act::task_created(task))
    }

    /// Checks whether a version can be added together with its task.
    fn check_first_version(
        &self,
        task: &TaskRecord,
        version: &ModelVersionRecord,
    ) -> Result<(), StorageError> {
        match self.check_version(task.organisation_id, version) {
            // The task is added in the same transaction.
            Err(StorageError::NotFound(_)) if version.task_id == task.id && version.round_id.is_none() => {
                Ok(())
            }
            checked => checked,
        }
    }
}
