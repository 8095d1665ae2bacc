//! What a client must do in a round, as data.

mod gradient_clipping;
mod learning_rate_schedule;
mod local_optimizer;
mod loss;
mod name_pattern;
mod training;
mod transport;
mod value_grid;

use serde::{Deserialize, Serialize};

pub use gradient_clipping::GradientClipping;
pub use learning_rate_schedule::LearningRateSchedule;
pub use local_optimizer::LocalOptimizer;
pub use loss::Loss;
pub use name_pattern::NamePattern;
pub use training::{PlanError, Precision, RunningStatistics, TrainingPlan};
pub use transport::{Codec, Protection};
pub use value_grid::ValueGrid;

use crate::{BlobDigest, TensorSchema};

/// What a client must do in a round. It is data: a new plan needs no new app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The ONNX model whose graph is trained; its own weights are only the first version's.
    pub model: BlobDigest,
    /// The trainable tensors, in the order of weights and updates.
    pub schema: TensorSchema,
    /// The local work.
    pub training: TrainingPlan,
    /// How the update travels.
    pub codec: Codec,
    /// Who may see the update.
    pub protection: Protection,
    /// The grid on which updates are summed.
    pub grid: ValueGrid,
}
