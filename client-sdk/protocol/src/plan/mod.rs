//! The plan: the work of a client in a round, as data.

mod clusters;
mod committee;
mod device_rule;
mod drift_correction;
mod elastic_averaging;
mod example_privacy;
mod fault;
mod fine_tuning;
mod gradient_clipping;
mod learning_rate_schedule;
mod local_noise;
mod local_optimizer;
mod local_rules;
mod loss;
mod part_place;
mod personal_training;
mod precision;
mod running_statistics;
mod secure_terms;
mod sharpness_aware;
mod training;
mod transport;
mod value_grid;
mod widths;
mod work;

use serde::{Deserialize, Serialize};

pub use clusters::Clusters;
pub use committee::{COMMITTEE_MAX, CommitteeFault, CommitteeTerms};
pub use device_rule::{DEVICE_RULE_VALUES_MAX, DEVICE_RULES_MAX, DeviceCondition, DeviceRule};
pub use drift_correction::DriftCorrection;
pub use elastic_averaging::ElasticAveraging;
pub use example_privacy::ExamplePrivacy;
pub use fault::PlanError;
pub use fine_tuning::FineTuning;
pub use gradient_clipping::GradientClipping;
pub use learning_rate_schedule::LearningRateSchedule;
pub use local_noise::LocalNoise;
pub use local_optimizer::LocalOptimizer;
pub use local_rules::{
    Augmentation, Curriculum, L1, ModelContrast, SmallLossSelection, StretchMask, ValueRange,
};
pub use loss::Loss;
pub use part_place::PartPlace;
pub use personal_training::PersonalTraining;
pub use precision::Precision;
pub use running_statistics::RunningStatistics;
pub use secure_terms::{COHORT_MAX, DistributedNoise, SecureTerms, SecureTermsFault, Threat};
pub use sharpness_aware::SharpnessAware;
pub use training::TrainingPlan;
pub use transport::Protection;
pub use value_grid::ValueGrid;
pub use widths::Widths;
pub use work::Work;

use crate::{BlobDigest, Codec, Recipe, TensorSchema};
#[cfg(not(target_family = "wasm"))]
use crate::{DataSchema, ImageSchema, TableSchema};

/// The work of a client in a round. Because it is data, a new plan needs no app update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The ONNX model whose graph is trained. Tensors that are not in `schema` keep
    /// their values from this file, except personal ones.
    pub model: BlobDigest,
    /// The trained tensors, in the order of weights and updates. Weights and updates contain no others.
    pub schema: TensorSchema,
    /// Whether the client trains or evaluates.
    #[serde(default, skip_serializing_if = "Work::is_default")]
    pub work: Work,
    /// The conditions under which a device takes part. The client evaluates them itself, and declines without giving a
    /// reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_rules: Vec<DeviceRule>,
    /// The local training. An evaluation uses only its loss, unless it fine-tunes.
    pub training: TrainingPlan,
    /// The fine-tuning of an evaluation, after which the client measures again. A client that does not support it refuses the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_tuning: Option<FineTuning>,
    /// The default encoding of the update if the assignment has no recipe: `none`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub codec: Codec,
    /// The parties that can see the update.
    pub protection: Protection,
    /// The grid on which updates are summed.
    pub grid: ValueGrid,
    /// The noise that the client adds. A client that does not support it refuses the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_noise: Option<LocalNoise>,
    /// The correction of local gradients. A client that does not support it refuses the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_correction: Option<DriftCorrection>,
    /// The rules by which a client encodes its table. Clients whose examples are numbers already ignore them.
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_schema: Option<TableSchema>,
    /// A browser brings numbers, so it skips the rules for tables and images. Reading them would make its module larger.
    #[cfg(target_family = "wasm")]
    #[serde(default, skip_serializing, alias = "image_schema")]
    pub table_schema: serde::de::IgnoredAny,
    /// The rules by which a client turns its images into numbers. A client that brings numbers is not affected.
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_schema: Option<Box<ImageSchema>>,
}

impl Plan {
    /// Returns the rules by which a client turns its own data into numbers, if the plan has any.
    ///
    /// # Errors
    /// A text if the plan has rules for two kinds of data.
    #[cfg(not(target_family = "wasm"))]
    pub fn data_schema(&self) -> Result<Option<DataSchema>, &'static str> {
        match (&self.table_schema, &self.image_schema) {
            (Some(_), Some(_)) => Err("the plan has a schema for tables and one for images"),
            (Some(table), None) => Ok(Some(table.clone().into())),
            (None, Some(images)) => Ok(Some(ImageSchema::clone(images).into())),
            (None, None) => Ok(None),
        }
    }

    /// Returns the approximate size of the update in bytes. Without a recipe, this is the size in float32. For an
    /// evaluation it is 0, although the sums have up to 42 KB, and twice that with a fine-tuning.
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
