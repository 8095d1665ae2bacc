//! An in-memory record of the tasks that were charged to the privacy ledger.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::TaskId;

/// The maximum number of remembered tasks. When it is reached, the record is emptied and the storage is queried again.
const REMEMBERED_MAX: usize = 1024;

/// The tasks that this process knows were charged.
#[derive(Default)]
pub struct Charged(Mutex<HashSet<TaskId>>);

impl Charged {
    /// Returns whether this process knows that a task was charged.
    pub fn contains(&self, id: TaskId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Remembers that a task was charged.
    pub fn insert(&self, id: TaskId) {
        let mut charged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if charged.len() >= REMEMBERED_MAX {
            charged.clear();
        }
        charged.insert(id);
    }
}
