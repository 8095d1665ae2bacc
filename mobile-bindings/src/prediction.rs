use std::sync::Arc;

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
