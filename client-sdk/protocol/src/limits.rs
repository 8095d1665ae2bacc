//! Limits on all data from outside. The configuration may lower them but never raise them.

/// The maximum number of parameters of a model: 1 billion.
pub const PARAMETERS_MAX: u64 = 1_000_000_000;
/// The maximum number of tensors of a model.
pub const TENSORS_MAX: usize = 10_000;
/// The maximum number of dimensions of a tensor.
pub const DIMENSIONS_MAX: usize = 8;
/// The maximum number of bytes in a tensor's name.
pub const TENSOR_NAME_BYTES_MAX: usize = 256;
/// The maximum number of explicit learning-rate factors in a plan.
pub const LEARNING_RATE_FACTORS_MAX: usize = 4096;
/// The maximum number of patterns of frozen tensors in a plan, and of trained tensors.
pub const FROZEN_PATTERNS_MAX: usize = 64;
/// The maximum number of bytes of a data schema in a plan, as JSON. A task with it must fit into a control message.
pub const DATA_SCHEMA_BYTES_MAX: usize = 48 * 1024;
/// The maximum number of features that the columns of a table schema become.
pub const TABLE_FEATURES_MAX: usize = 1 << 20;
/// The maximum width and height of the images of a schema, in pixels.
pub const IMAGE_SIDE_MAX: u32 = 4096;
/// The maximum number of classes of a schema of images.
pub const IMAGE_CLASSES_MAX: usize = 10_000;
/// The maximum number of bytes in a control message (JSON).
pub const CONTROL_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of bytes of a message of secure aggregation: the roster of 10,000 members.
pub const SECURE_BYTES_MAX: usize = 4 << 20;
/// The maximum number of bytes in an enrolment. It is lower than for other messages, because anybody may send one.
pub const ENROLMENT_BYTES_MAX: usize = 8 * 1024;
/// The maximum nesting of a control message. serde_json enforces this limit by default.
pub const JSON_DEPTH_MAX: usize = 128;
/// The maximum number of attributes of a client.
pub const ATTRIBUTES_MAX: usize = 32;
/// The maximum number of bytes in an attribute's name or value.
pub const ATTRIBUTE_BYTES_MAX: usize = 128;
/// The maximum number of bytes in a free text, such as the detail of an abort.
pub const TEXT_BYTES_MAX: usize = 1024;
/// The maximum number of bytes in a display name.
pub const NAME_BYTES_MAX: usize = 128;
/// The maximum number of seconds that a check-in may wait for an assignment.
pub const LONG_POLL_SECONDS_MAX: u32 = 60;
/// The maximum time, in milliseconds, by which a client's clock may be ahead of the coordinator's when the client
/// signs. The client learns the coordinator's time from the first answer.
pub const CLOCK_AHEAD_MILLISECONDS_MAX: u64 = 2_000;
/// The maximum time, in milliseconds, by which a client's clock may be behind the coordinator's, including the time
/// that the request takes: 5 minutes.
pub const CLOCK_SKEW_MILLISECONDS_MAX: u64 = 5 * 60 * 1000;
/// The maximum number of examples that a client may report: 1 trillion.
pub const EXAMPLES_MAX: u64 = 1_000_000_000_000;
/// The maximum count in messages and in the API: 2^53. JSON's float64 represents every integer up to this limit
/// exactly.
pub const COUNT_MAX: u64 = 1 << 53;
/// The maximum loss of one example. Losses are computed in float32.
pub const LOSS_MAX: f64 = f32::MAX as f64;
