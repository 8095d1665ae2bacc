//! The coordinator, as an aggregator knows it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_api::{
    AdminClient, AdminError,
    rounds::aggregators::{HeldAssignmentView, HeldTaskView},
};
use folkmoot_protocol::{AssignmentId, ErrorCode, TaskId};

/// The most assignments and tasks that are remembered. Beyond that, all are asked for again.
const REMEMBERED_MAX: usize = 10_000;

/// The coordinator, with what it has said about assignments and tasks.
pub struct Upstream {
    /// The requests of this aggregator.
    pub admin: AdminClient,
    assignments: Mutex<HashMap<AssignmentId, HeldAssignmentView>>,
    tasks: Mutex<HashMap<TaskId, Arc<HeldTaskView>>>,
    refusal: Mutex<Option<String>>,
}

impl Upstream {
    pub fn new(admin: AdminClient) -> Self {
        Self { admin, assignments: Mutex::default(), tasks: Mutex::default(), refusal: Mutex::default() }
    }

    /// Returns the assignment, if its update stays here. Otherwise the client's requests are passed on.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses this aggregator's key.
    pub async fn held(&self, id: AssignmentId) -> Result<Option<HeldAssignmentView>, AdminError> {
        let known = lock(&self.assignments).get(&id).cloned();
        let view = match known {
            Some(view) => view,
            None => match self.admin.held_assignment(id).await {
                Ok(view) => {
                    remember(&self.assignments, id, view.clone());
                    view
                }
                // The coordinator refuses the client itself.
                Err(error) if error.code() == Some(ErrorCode::AssignmentUnknown) => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        Ok(Some(view).filter(|view| view.is_held))
    }

    /// Notes why the coordinator does not serve this aggregator; `None` if it does.
    pub fn note(&self, refusal: Option<String>) {
        *lock(&self.refusal) = refusal;
    }

    /// Returns why the coordinator does not serve this aggregator; `None` if it does.
    pub fn refusal(&self) -> Option<String> {
        lock(&self.refusal).clone()
    }

    /// Forgets an assignment whose upload has ended.
    pub fn forget(&self, id: AssignmentId) {
        lock(&self.assignments).remove(&id);
    }

    /// Returns a task.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn task(&self, id: TaskId) -> Result<Arc<HeldTaskView>, AdminError> {
        if let Some(task) = lock(&self.tasks).get(&id) {
            return Ok(task.clone());
        }
        let task = Arc::new(self.admin.held_task(id).await?);
        remember(&self.tasks, id, task.clone());
        Ok(task)
    }
}

fn remember<K: std::hash::Hash + Eq, V>(map: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut map = lock(map);
    if map.len() >= REMEMBERED_MAX {
        map.clear();
    }
    map.insert(key, value);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
