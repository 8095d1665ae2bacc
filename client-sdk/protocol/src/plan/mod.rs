//! What a client must do in a round, as data.

mod device_rule;
mod example_privacy;
mod fault;
mod gradient_clipping;
mod learning_rate_schedule;
mod local_noise;
mod local_optimizer;
mod loss;
mod training;
mod transport;
mod value_grid;
mod work;

use serde::{Deserialize, Serialize};

pub use device_rule::{DEVICE_RULE_VALUES_MAX, DEVICE_RULES_MAX, DeviceCondition, DeviceRule};
pub use example_privacy::ExamplePrivacy;
pub use fault::PlanError;
pub use gradient_clipping::GradientClipping;
pub use learning_rate_schedule::LearningRateSchedule;
pub use local_noise::LocalNoise;
pub use local_optimizer::LocalOptimizer;
pub use loss::Loss;
pub use training::{Precision, RunningStatistics, TrainingPlan};
pub use transport::Protection;
pub use value_grid::ValueGrid;
pub use work::Work;

use crate::{BlobDigest, Codec, Recipe, TensorSchema};

/// What a client must do in a round. It is data: a new plan needs no new app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The ONNX model whose graph is trained. Tensors that are not in `schema` keep the values which they have in this file.
    pub model: BlobDigest,
    /// The tensors that the plan can change, in the order of weights and updates, which hold no others.
    pub schema: TensorSchema,
    /// What is done with it.
    #[serde(default, skip_serializing_if = "Work::is_default")]
    pub work: Work,
    /// What must hold on the device for the client to take part. The client evaluates it itself, and declines without
    /// saying why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_rules: Vec<DeviceRule>,
    /// The local work; an evaluation takes the loss from it.
    pub training: TrainingPlan,
    /// How the update travels where nothing else was agreed on: `none`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub codec: Codec,
    /// Who may see the update.
    pub protection: Protection,
    /// The grid on which updates are summed.
    pub grid: ValueGrid,
    /// The noise that the client adds. A client that does not know of it does not know the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_noise: Option<LocalNoise>,
}

impl Plan {
    /// Returns about how many bytes the update has that is sent for it: none for an evaluation, those of float32 where no
    /// recipe was given.
    pub fn update_bytes(&self, recipe: Option<&Recipe>) -> u64 {
        match self.work {
            Work::Training => recipe.map_or_else(
                || 4 * self.schema.parameter_count(),
                |recipe| recipe.nominal_bytes(&self.schema),
            ),
            Work::Evaluation => 0,
        }
    }
}
