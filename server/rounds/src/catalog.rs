//! An in-memory cache of immutable records: task descriptions and model versions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_protocol::TaskId;
use folkmoot_storage::{
    ModelVersionRecord, ModelVersionRepository, Storage, StorageError, TaskRecord, TaskRepository,
};

/// The maximum number of entries of each kind. A cache that reaches it is emptied.
const ENTRIES_MAX: usize = 1024;

/// A read-through cache over the storage that saves handlers most of their queries.
#[derive(Default)]
pub struct Catalog {
    tasks: Mutex<HashMap<TaskId, Arc<TaskRecord>>>,
    versions: Mutex<HashMap<(TaskId, u64), Arc<ModelVersionRecord>>>,
}

impl Catalog {
    /// Finds a task. In the returned record, the state and the revision can be out of date; everything else is
    /// immutable.
    ///
    /// # Errors
    /// Fails if the storage fails or has no such task.
    pub async fn task(&self, storage: &Storage, id: TaskId) -> Result<Arc<TaskRecord>, StorageError> {
        if let Some(task) = lock(&self.tasks).get(&id) {
            return Ok(task.clone());
        }
        let task = storage.task_of_any_organisation(id).await?.ok_or(StorageError::NotFound("task"))?;
        Ok(keep(&self.tasks, id, Arc::new(task)))
    }

    /// Finds a model version.
    ///
    /// # Errors
    /// Fails if the storage fails or has no such version.
    pub async fn version(
        &self,
        storage: &Storage,
        task: TaskId,
        number: u64,
    ) -> Result<Arc<ModelVersionRecord>, StorageError> {
        if let Some(version) = lock(&self.versions).get(&(task, number)) {
            return Ok(version.clone());
        }
        let version = storage.model_version(task, number).await?;
        let version = version.ok_or(StorageError::NotFound("model version"))?;
        Ok(keep(&self.versions, (task, number), Arc::new(version)))
    }
}

fn keep<K: std::hash::Hash + Eq, V>(entries: &Mutex<HashMap<K, Arc<V>>>, key: K, value: Arc<V>) -> Arc<V> {
    let mut entries = lock(entries);
    if entries.len() >= ENTRIES_MAX {
        entries.clear();
    }
    entries.insert(key, value.clone());
    value
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
