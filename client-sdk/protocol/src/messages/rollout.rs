use serde::{Deserialize, Serialize};

use super::Artifact;
use crate::{Count, TaskId};

/// The answer to `GET /v1/model?channel=…`: the model that the app should use on this device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RolloutResponse {
    /// The rollout; `None` if no model is rolled out to this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// A model version that an operator has rolled out to a device. The device may fetch its blobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rollout {
    /// The number of the rollout in its population, from 1.
    pub number: u64,
    /// The task that trained the model.
    pub task_id: TaskId,
    /// The number of the model version.
    pub version: u64,
    /// The task's plan. It says which tensors the weights hold.
    pub plan: Artifact,
    /// The ONNX model.
    pub model: Artifact,
    /// The weights: float32, little-endian, all tensors in schema order.
    pub weights: Artifact,
    /// The operator's signed statement about the task, if there is one: a
    /// [`crate::endorsement::Endorsement`] as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endorsement: Option<String>,
}

/// `POST /v1/model/report`: whether a device could load the model that was rolled out to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RolloutReport {
    /// The number of the rollout.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub number: u64,
    /// The reason why the model cannot be used, at most [`crate::limits::TEXT_BYTES_MAX`] bytes; `None` if it was loaded. Never contains
    /// the user's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}
