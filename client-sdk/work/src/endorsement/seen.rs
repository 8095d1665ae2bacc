use std::collections::BTreeMap;

use folkmoot_protocol::TaskId;
use serde::{Deserialize, Serialize};

/// The maximum number of tasks to remember. The task that was noted first is forgotten first.
const TASKS_MAX: usize = 256;

/// The newest endorsement that a client has seen of each task, so that a coordinator cannot go back to an older one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEndorsements {
    newest: BTreeMap<TaskId, u64>,
    order: Vec<TaskId>,
}

impl SeenEndorsements {
    /// Reads what [`SeenEndorsements::note`] returned last. An empty or damaged file counts as none.
    pub fn load(stored: &[u8]) -> Self {
        serde_json::from_slice(stored).unwrap_or_default()
    }

    /// Returns the number of the newest endorsement of a task, 0 if the client has seen none.
    pub fn newest(&self, task: TaskId) -> u64 {
        self.newest.get(&task).copied().unwrap_or(0)
    }

    /// Notes an endorsement. Returns the bytes to store if it is new.
    #[must_use]
    pub fn note(&mut self, task: TaskId, sequence: u64) -> Option<Vec<u8>> {
        if sequence <= self.newest(task) {
            return None;
        }
        if self.newest.insert(task, sequence).is_none() {
            self.order.push(task);
        }
        for forgotten in self.order.drain(..self.order.len().saturating_sub(TASKS_MAX)) {
            self.newest.remove(&forgotten);
        }
        Some(serde_json::to_vec(self).expect("task ids are strings"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u64) -> TaskId {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        TaskId::from_random_bytes(bytes)
    }

    #[test]
    fn the_newest_is_kept_over_a_restart() {
        let mut seen = SeenEndorsements::load(b"");
        let stored = seen.note(task(1), 3).expect("the endorsement is new");
        assert_eq!((seen.note(task(1), 3), seen.note(task(1), 2)), (None, None));
        let seen = SeenEndorsements::load(&stored);
        assert_eq!((seen.newest(task(1)), seen.newest(task(2))), (3, 0));
        assert_eq!(SeenEndorsements::load(&stored[..stored.len() - 1]), SeenEndorsements::default());
    }

    #[test]
    fn the_first_noted_is_forgotten_first() {
        let mut seen = SeenEndorsements::default();
        for number in 0..TASKS_MAX as u64 + 1 {
            assert!(seen.note(task(number), 1).is_some());
        }
        assert_eq!((seen.newest(task(0)), seen.newest(task(1)), seen.newest.len()), (0, 1, TASKS_MAX));
    }
}
