#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod codec;
mod count;
mod data_schema;
mod digest;
pub mod endorsement;
mod error_code;
mod fault;
pub mod headers;
mod ids;
mod keys;
pub mod limits;
pub mod messages;
mod metric;
mod name_pattern;
mod outer_products;
mod plan;
mod problem;
mod role;
pub mod saturating;
pub mod secure;
pub mod signing;
mod tensor;
mod text;
mod timestamp;
pub mod update;
mod version;

pub use codec::{Codec, Recipe};
pub use count::{Count, CountTooLargeError};
pub use data_schema::{
    DataSchema, ImageFit, ImageSchema, MissingValue, TableColumn, TableLabel, TableSchema,
};
pub use digest::{BlobDigest, DigestError, UpdateDigest, UserKey};
pub use error_code::{Disposition, ErrorCode};
pub use fault::Fault;
pub use ids::{
    AssignmentId, ChannelName, ClientId, InvalidIdError, OrganisationId, PopulationName, RoundId, TaskId,
};
pub use metric::{ClassMetrics, ClassReport, Metric, MetricValues};
pub use name_pattern::NamePattern;
pub use outer_products::OuterProducts;
pub use plan::{
    Augmentation, Clusters, Curriculum, DEVICE_RULE_VALUES_MAX, DEVICE_RULES_MAX, DeviceCondition,
    DeviceRule, DriftCorrection, ElasticAveraging, ExamplePrivacy, FineTuning, GradientClipping, L1,
    LearningRateSchedule, LocalNoise, LocalOptimizer, Loss, ModelContrast, PartPlace, PersonalTraining, Plan,
    PlanError, Precision, Protection, RunningStatistics, SharpnessAware, SmallLossSelection, StretchMask,
    TrainingPlan, ValueGrid, ValueRange, Widths, Work,
};
pub use problem::{Problem, ProblemCode};
pub use role::Role;
pub use signing::SigningError;

pub use tensor::{SchemaError, TensorSchema, TensorSpec};
pub use text::{DisplayName, TextFault, check_characters, is_control};
pub use timestamp::Timestamp;
pub use version::{PROTOCOL_VERSION, PROTOCOL_VERSION_OLDEST, is_protocol_version_served};
