use folkmoot_protocol::TaskId;
use serde::{Deserialize, Serialize};

/// The version of another task that provided a task's initial weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmStart {
    /// The id of the other task.
    pub task_id: TaskId,
    /// The number of the other task's version.
    pub version: u64,
}
