//! Tasks: what is trained, and whether it goes on.

use folkmoot_coordinator::task::{Fault, StopReason, TaskDescription, WarmStart};
use folkmoot_protocol::{BlobDigest, Count, PopulationName, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{evaluations::EvaluationView, rounds::RoundView};

/// The name of a task's file in faults and in commands.
pub const TASK_FILE: &str = "task.toml";

/// Why the coordinator paused a task by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    /// `abandoned_rounds`, `failed_commits` or `failed_assignments`.
    pub code: String,
    /// What happened, and what most often kept updates away.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

/// How a task went, version after version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesView {
    /// Every so many versions one is shown, and always the newest.
    pub stride: u64,
    /// The versions, oldest first.
    pub points: Vec<SeriesPoint>,
    /// What was measured of these versions and of the best, the oldest first and without slices.
    pub evaluations: Vec<EvaluationView>,
    /// Why example counts are null, where a task with privacy runs or has run in the population.
    pub withheld: Option<String>,
}

/// How one version came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesPoint {
    /// Its number.
    pub version: u64,
    /// The number of its round; none if no round made it.
    pub round_number: Option<u64>,
    /// When it was released.
    pub created_at: Timestamp,
    /// How many updates it combines; none if no round made it, hidden where the task's `privacy` claims sampling.
    pub clients: Option<u64>,
    /// How many examples its round's clients used, all together. Null where a task with privacy runs or has run.
    pub examples: Option<u64>,
    /// The mean loss that these clients measured on the version before; none of a task with `privacy`.
    pub loss: Option<f64>,
    /// The share of their examples that the version before predicted right; none of a task with `privacy`.
    pub accuracy: Option<f64>,
    /// How many versions old its updates were, in the mean.
    pub mean_staleness: f64,
    /// How many versions old its oldest update was.
    pub staleness_max: u64,
    /// How far it lies from the version before, in L2.
    pub change_norm: f64,
    /// The version whose weights these are, where it is a return to that one.
    pub rolled_back_to: Option<u64>,
    /// The bytes of all updates up to and with this version; none of a task with `privacy`.
    pub upload_bytes: Option<u64>,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    /// Its id.
    pub id: TaskId,
    /// Its name for humans.
    pub name: String,
    /// Whose clients train it.
    pub population: PopulationName,
    /// `draft`, `active`, `paused`, `completed` or `cancelled`.
    pub state: String,
    /// How many rounds were committed.
    pub rounds_committed: u64,
    /// After how many it ends, if it is their number that ends it.
    pub rounds_wanted: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A task, with where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// What it is.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// `draft`, `active`, `paused`, `completed` or `cancelled`.
    pub state: String,
    /// Which condition ended it.
    #[schema(value_type = Option<String>)]
    pub stop_reason: Option<StopReason>,
    /// Why the coordinator paused it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    /// What it does not defend against, and what one hostile client can do to it.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The ONNX model.
    pub model: BlobDigest,
    /// How many values are trained.
    pub parameter_count: u64,
    /// The newest model version.
    pub latest_version: u64,
    /// How many rounds were opened, abandoned ones included.
    pub rounds_opened: u64,
    /// How many rounds were committed.
    pub rounds_committed: u64,
    /// The round that is open now.
    pub open_round: Option<OpenRoundView>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A round that is not over, with what its assignments have come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenRoundView {
    /// The round.
    pub round: RoundView,
    /// Updates that count; hidden where the task's `privacy` claims sampling, as is what follows.
    pub accepted: Option<u64>,
    /// Assignments that may still bring one.
    pub outstanding: Option<u64>,
    /// Assignments that were given up, refused or have expired.
    pub dropped: Option<u64>,
}

/// A task that might be made: as JSON, which may be unfinished, or as the text of a task's file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckTaskRequest {
    /// What it is, in the shape of a task's file.
    #[schema(value_type = Option<Object>)]
    pub description: Option<Value>,
    /// The same as the text of a task's file, in place of `description`.
    pub toml: Option<String>,
    /// The model that it trains, which was brought before; without it the task is checked by itself.
    pub model: Option<BlobDigest>,
    /// The operator's own examples for `evaluation.central`, which were brought before.
    pub evaluation_data: Option<BlobDigest>,
    /// The task and version with whose weights it begins.
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
    /// Start it at once.
    pub activate: bool,
}

impl CheckTaskRequest {
    /// Returns the command that makes the task of its file.
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

/// What would come of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckTaskView {
    /// Everything that is wrong; nothing if it can be made.
    pub faults: Vec<FaultView>,
    /// What the task does not defend against, and what one hostile client can do to it; nothing if it cannot be read.
    pub notes: Vec<String>,
    /// The description as it was read, defaults left out; none if it cannot be read.
    #[schema(value_type = Option<Object>)]
    pub description: Option<Value>,
    /// The task's file.
    pub toml: String,
    /// The command that makes the same task of that file.
    pub command: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FaultView {
    /// The key's path, `scheduling.report_goal`; empty where no key is concerned.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub remedy: String,
    /// The line of the file, from 1, where it has a place there.
    pub line: Option<usize>,
}

impl From<Fault> for FaultView {
    fn from(fault: Fault) -> Self {
        Self { field: fault.field, message: fault.message, remedy: fault.remedy, line: None }
    }
}

/// To which version a task is to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollBackRequest {
    /// Its number.
    #[serde(deserialize_with = "Count::read")]
    #[schema(maximum = 9007199254740992_u64)]
    pub version: u64,
}

/// A task to be made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTaskRequest {
    /// What it is.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// The model that it trains, which was brought before.
    pub model: BlobDigest,
    /// The operator's own examples for `evaluation.central`, which were brought before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation_data: Option<BlobDigest>,
    /// The task and version with whose weights it begins; without it, the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
    /// Start it at once.
    #[serde(default)]
    pub activate: bool,
}
