use std::sync::Arc;

use crate::FloatBuffer;

/// The outputs of the newest model that this device has.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Prediction {
    /// The outputs, row-major.
    pub outputs: Arc<FloatBuffer>,
    /// The dimensions of one row of it.
    pub shape: Vec<u64>,
    /// The task that trains the model.
    pub task_id: String,
    /// The number of the model version.
    pub version: u64,
}
