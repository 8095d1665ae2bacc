use folkmoot_protocol::TaskId;
use serde::{Deserialize, Serialize};

/// A version of a task with whose weights another task began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmStart {
    /// The task.
    pub task_id: TaskId,
    /// The version.
    pub version: u64,
}
