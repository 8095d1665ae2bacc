use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::task::TaskState;
use folkmoot_protocol::{OrganisationId, TaskId, Timestamp};

use crate::TaskRecord;

/// The tasks, indexed by id and in order of creation.
#[derive(Default)]
pub(in crate::memory) struct TaskTable {
    by_id: BTreeMap<TaskId, TaskRecord>,
    of_organisation: BTreeMap<OrganisationId, BTreeSet<(Timestamp, TaskId)>>,
}

impl TaskTable {
    /// Finds a task.
    pub(in crate::memory) fn get(&self, id: TaskId) -> Option<&TaskRecord> {
        self.by_id.get(&id)
    }

    /// Returns whether the task belongs to the organisation.
    pub(in crate::memory) fn is_of(&self, id: TaskId, organisation_id: OrganisationId) -> bool {
        self.get(id).is_some_and(|task| task.organisation_id == organisation_id)
    }

    /// Adds a task with a new id.
    pub(in crate::memory) fn insert(&mut self, task: TaskRecord) {
        self.of_organisation.entry(task.organisation_id).or_default().insert((task.created_at, task.id));
        self.by_id.insert(task.id, task);
    }

    /// Lists the organisation's tasks, newest first. If `before` is given, the list starts after that task.
    pub(in crate::memory) fn newest(
        &self,
        organisation_id: OrganisationId,
        before: Option<TaskId>,
    ) -> impl Iterator<Item = &TaskRecord> {
        let of_organisation = self.of_organisation.get(&organisation_id);
        // If the organisation has no task `before`, the list is empty.
        let end = match before {
            None => Some((Timestamp(u64::MAX), TaskId::from_bytes([u8::MAX; 16]))),
            Some(id) => self.get(id).filter(|task| task.organisation_id == organisation_id).map(place_of),
        };
        let listed = of_organisation.zip(end).map(|(tasks, end)| tasks.range(..end).rev());
        listed.into_iter().flatten().filter_map(|(_, id)| self.get(*id))
    }

    /// Lists the active tasks.
    pub(in crate::memory) fn active(&self) -> impl Iterator<Item = TaskId> {
        self.by_id.values().filter(|task| task.state.is_active()).map(|task| task.id)
    }

    /// Stores a task's next state. Returns `false` if the task does not exist, or if `is_right` returns `false` for its
    /// present state.
    pub(in crate::memory) fn set_state(
        &mut self,
        id: TaskId,
        state: TaskState,
        is_right: impl FnOnce(&TaskRecord) -> bool,
    ) -> bool {
        let Some(task) = self.by_id.get_mut(&id).filter(|task| is_right(task)) else { return false };
        task.state = state;
        task.revision += 1;
        true
    }

    /// Adds `clients` to the number of clients that a task was given.
    pub(in crate::memory) fn serve(&mut self, id: TaskId, clients: u64) {
        if let Some(task) = self.by_id.get_mut(&id) {
            task.served += clients;
        }
    }
}

fn place_of(task: &TaskRecord) -> (Timestamp, TaskId) {
    (task.created_at, task.id)
}
