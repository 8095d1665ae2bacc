//! The limits of everything that comes from outside. A configuration may lower them, never raise them.

/// Parameters of one model, at most: 1 billion.
pub const PARAMETERS_MAX: u64 = 1_000_000_000;
/// Tensors of one model, at most.
pub const TENSORS_MAX: usize = 10_000;
/// Dimensions of one tensor, at most.
pub const DIMENSIONS_MAX: usize = 8;
/// Bytes of a tensor's name, at most.
pub const TENSOR_NAME_BYTES_MAX: usize = 256;
/// Patterns of frozen tensors in a plan, at most.
pub const FROZEN_PATTERNS_MAX: usize = 64;
/// Bytes of a control message (JSON), at most.
pub const CONTROL_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an enrolment, at most: anybody may send one.
pub const ENROLMENT_BYTES_MAX: usize = 8 * 1024;
/// Nesting of a control message, at most: serde_json stops at 128 by itself.
pub const JSON_DEPTH_MAX: usize = 128;
/// Attributes that a client may state about itself.
pub const ATTRIBUTES_MAX: usize = 32;
/// Bytes of an attribute's name or value, at most.
pub const ATTRIBUTE_BYTES_MAX: usize = 128;
/// Bytes of a free text (the detail of an abort, say), at most.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Bytes of a name for humans, at most.
pub const NAME_BYTES_MAX: usize = 128;
/// Seconds that a check-in may wait for an assignment, at most.
pub const LONG_POLL_SECONDS_MAX: u32 = 60;
/// Milliseconds by which a signed request's clock may be ahead of the coordinator's: it is learned with the first answer.
pub const CLOCK_AHEAD_MILLISECONDS_MAX: u64 = 2_000;
/// Milliseconds by which a signed request's clock may be behind the coordinator's, and the request on its way: 5 minutes.
pub const CLOCK_SKEW_MILLISECONDS_MAX: u64 = 5 * 60 * 1000;
/// Examples that a client may claim to hold: 1 trillion.
pub const EXAMPLES_MAX: u64 = 1_000_000_000_000;
/// The largest count of the wire and of the API: 2^53, up to which every whole number is exact as a float64 of JSON.
pub const COUNT_MAX: u64 = 1 << 53;
/// The largest loss of one example: losses are computed as float32.
pub const LOSS_MAX: f64 = f32::MAX as f64;
