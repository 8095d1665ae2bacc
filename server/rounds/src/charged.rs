//! What this process remembers of charges.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::TaskId;

/// Tasks that are remembered; when there are more, the storage is asked again.
const REMEMBERED_MAX: usize = 1024;

/// The tasks of which this process knows that they were charged.
#[derive(Default)]
pub struct Charged(Mutex<HashSet<TaskId>>);

impl Charged {
    /// Says whether a task was charged, as far as this process knows.
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
