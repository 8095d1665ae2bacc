use std::sync::Arc;

use folkmoot_client::RolledOutModel;

use crate::FloatBuffer;

/// The outputs of the newest model on this device.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Prediction {
    /// The outputs, in row-major order.
    pub outputs: Arc<FloatBuffer>,
    /// The shape of one row of outputs.
    pub shape: Vec<u64>,
    /// The task that trains the model.
    pub task_id: String,
    /// The number of the model version.
    pub version: u64,
}

/// A model that the operator has rolled out to this device, and that predictions use.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ModelUpdate {
    /// The number of the rollout.
    pub rollout: u64,
    /// The task that trained the model.
    pub task_id: String,
    /// The number of the model version.
    pub version: u64,
    /// True if this update brought the model, false if it was there already.
    pub is_new: bool,
}

impl From<RolledOutModel> for ModelUpdate {
    fn from(model: RolledOutModel) -> Self {
        let RolledOutModel { rollout, task_id, version, is_new } = model;
        Self { rollout, task_id: task_id.to_string(), version, is_new }
    }
}
