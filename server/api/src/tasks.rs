//! Tasks: their descriptions, their state and their progress.

use folkmoot_coordinator::task::{Fault, StopReason, TaskDescription, WarmStart};
use folkmoot_protocol::{BlobDigest, Count, PopulationName, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    evaluations::EvaluationView,
    rounds::{AwaitedView, RoundView},
};

/// The file name of a task description in faults and commands.
pub const TASK_FILE: &str = "task.toml";

/// The reason why the coordinator paused a task, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    /// `abandoned_rounds`, `failed_commits`, `failed_selections` or `failed_assignments`.
    pub code: String,
    /// A sentence that says what happened, with the most frequent reason for missing updates.
    pub reason: String,
    /// Advice on how to fix the problem.
    pub remedy: String,
}

/// The history of a task, version by version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesView {
    /// The distance between two points, in versions. The newest version is always included.
    pub stride: u64,
    /// The versions, oldest first.
    pub points: Vec<SeriesPoint>,
    /// The evaluations of the listed versions and of the best version, oldest first, without slices.
    pub evaluations: Vec<EvaluationView>,
    /// The reason why example counts are null. Null if no private task runs or has run in the population.
    pub withheld: Option<String>,
}

/// One version in the history of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesPoint {
    /// The version's number.
    pub version: u64,
    /// The number of the round that committed the version. Null for version 0 and for rollbacks.
    pub round_number: Option<u64>,
    /// When the version was committed.
    pub created_at: Timestamp,
    /// The number of updates that the version combines. Null if no round committed the version, or if the task claims
    /// privacy amplification by sampling.
    pub clients: Option<u64>,
    /// The number of examples that the round's clients used in total. Null if a private task runs or has run in the
    /// population.
    pub examples: Option<u64>,
    /// The mean training loss that the round's clients reported. Null without examples and for a task with `privacy`.
    pub loss: Option<f64>,
    /// The share of examples that the round's clients classified correctly while they trained, 0 to 1. Null without
    /// examples and for a task with `privacy`.
    pub accuracy: Option<f64>,
    /// The mean staleness of the version's updates, in versions.
    pub mean_staleness: f64,
    /// The maximum staleness of the version's updates, in versions.
    pub staleness_max: u64,
    /// The L2 distance from the previous version.
    pub change_norm: f64,
    /// For a rollback, the number of the version whose weights were restored.
    pub rolled_back_to: Option<u64>,
    /// The number of bytes in all updates up to and including this version. Null for a task with `privacy`.
    pub upload_bytes: Option<u64>,
}

/// A task in the list of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    /// The task's id.
    pub id: TaskId,
    /// The task's display name.
    pub name: String,
    /// The population whose clients train the task.
    pub population: PopulationName,
    /// The digest of the ONNX model.
    pub model: BlobDigest,
    /// `draft`, `active`, `paused`, `completed` or `cancelled`.
    pub state: String,
    /// The number of committed rounds.
    pub rounds_committed: u64,
    /// The number of committed rounds after which the task ends, if it has such a limit.
    pub rounds_wanted: Option<u64>,
    /// When the task was created.
    pub created_at: Timestamp,
}

/// A task with its current state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// The task's id.
    pub id: TaskId,
    /// The task description.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// `draft`, `active`, `paused`, `completed` or `cancelled`.
    pub state: String,
    /// The stop condition that ended the task.
    #[schema(value_type = Option<String>)]
    pub stop_reason: Option<StopReason>,
    /// The reason why the coordinator paused the task. Absent if the coordinator did not pause it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    /// Attacks that the task does not defend against, and what a single hostile client can do.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The digest of the ONNX model.
    pub model: BlobDigest,
    /// The number of trained values.
    pub parameter_count: u64,
    /// The number of the newest model version.
    pub latest_version: u64,
    /// The number of rounds that were opened, including abandoned ones.
    pub rounds_opened: u64,
    /// The number of committed rounds.
    pub rounds_committed: u64,
    /// The round that is open now, if any.
    pub open_round: Option<OpenRoundView>,
    /// When the task was created.
    pub created_at: Timestamp,
}

/// An open round with the outcomes of its assignments so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenRoundView {
    /// The round.
    pub round: RoundView,
    /// The number of accepted updates. All counts are null if the task claims privacy amplification by sampling.
    pub accepted: Option<u64>,
    /// The number of assignments whose update may still arrive.
    pub outstanding: Option<u64>,
    /// The number of assignments that were aborted, refused or expired.
    pub dropped: Option<u64>,
    /// The event that the round waits for. Null while it aggregates, or if the clocks of single clients decide.
    pub awaited: Option<AwaitedView>,
}

/// A task to validate. Pass it as JSON, which may be incomplete, or as the text of a task file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckTaskRequest {
    /// The task description as JSON, with the keys of a task file.
    #[schema(value_type = Option<Object>)]
    pub description: Option<Value>,
    /// The text of a task file, instead of `description`.
    pub toml: Option<String>,
    /// The digest of an uploaded model to validate against. Without it, only the description is validated.
    pub model: Option<BlobDigest>,
    /// The digest of uploaded examples for `evaluation.central`, or for an aggregator that uses them.
    pub evaluation_data: Option<BlobDigest>,
    /// The task and version whose weights the task starts from.
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
    /// If true, the returned command starts the task at once. The checks do not depend on this field.
    pub activate: bool,
}

impl CheckTaskRequest {
    /// Returns the command that creates the task from its file.
    pub fn command(&self) -> String {
        let mut words = vec![format!("folkmoot task create {TASK_FILE} --model model.onnx")];
        if self.evaluation_data.is_some() {
            words.push("--evaluation-data examples.csv".into());
        }
        if let Some(WarmStart { task_id, version }) = self.warm_start {
            words.push(format!("--warm-start {task_id}@{version}"));
        }
        if self.activate {
            words.push("--activate".into());
        }
        words.join(" ")
    }
}

/// The result of validating a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckTaskView {
    /// All faults. Empty if the task can be created.
    pub faults: Vec<FaultView>,
    /// Attacks that the task does not defend against, and what a single hostile client can do. Empty if the
    /// description cannot be read.
    pub notes: Vec<String>,
    /// The description as parsed, without defaults. Null if it cannot be read.
    #[schema(value_type = Option<Object>)]
    pub description: Option<Value>,
    /// The description as the text of a task file.
    pub toml: String,
    /// The command that creates the task from the file `toml`.
    pub command: String,
}

/// One fault of a task description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FaultView {
    /// The path of the key, for example `scheduling.report_goal`. Empty if the fault is not about a key.
    pub field: String,
    /// A description of the fault.
    pub message: String,
    /// Advice on how to fix the fault.
    pub remedy: String,
    /// The line of the file, from 1. Null if the fault has no place in the file.
    pub line: Option<usize>,
}

impl From<Fault> for FaultView {
    fn from(fault: Fault) -> Self {
        Self { field: fault.field, message: fault.message, remedy: fault.remedy, line: None }
    }
}

/// A request to roll a task back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollBackRequest {
    /// The number of the version to return to.
    #[serde(deserialize_with = "Count::read")]
    #[schema(maximum = 9007199254740992_u64)]
    pub version: u64,
}

/// A request to create a task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTaskRequest {
    /// The task description.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// The digest of an uploaded model.
    pub model: BlobDigest,
    /// The digest of uploaded examples for `evaluation.central`, or for an aggregator that uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation_data: Option<BlobDigest>,
    /// The task and version whose weights the task starts from. Without it, the task starts from the model's own
    /// weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
    /// If true, starts the task at once; otherwise it is a draft.
    #[serde(default)]
    pub activate: bool,
}
