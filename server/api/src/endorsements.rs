//! Endorsements: an operator's signed statements about the work of a task.

use folkmoot_protocol::{
    BlobDigest, TaskId, Work,
    endorsement::{EndorsedPlan, Endorsement},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The model and the plans that a task gives to clients, and the endorsement in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndorsementView {
    /// The task.
    pub task_id: TaskId,
    /// The ONNX model.
    pub model: BlobDigest,
    /// The plans that the task gives to clients.
    pub plans: Vec<PlanView>,
    /// The endorsement in force; null if there is none. Clients with pinned endorsement keys then refuse the task.
    pub endorsement: Option<Endorsement>,
}

/// A plan of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanView {
    /// The work of the plan.
    pub work: Work,
    /// The digest of the plan, and the coordinator's promises for it.
    pub promise: EndorsedPlan,
    /// The plan, byte for byte as clients receive it: JSON.
    pub text: String,
}
