use folkmoot_protocol::TaskId;
use serde::{Deserialize, Serialize};

/// The version of another task that provided a task's initial weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmStart {
    /// The task.
    pub task_id: TaskId,
    /// The version.
    pub version: u64,
}
