#![doc = include_str!("../README.md")]
// UniFFI's macros generate functions with `#[unsafe(no_mangle)]`, which the compiler treats as unsafe code.
#![allow(unsafe_code, reason = "what the export macros write; this crate's own code has none")]

mod buffer;
mod care;
mod consent;
mod error;
mod error_code;
mod event;
mod examples;
mod folkmoot;
mod log;
mod model_file;
mod options;
mod prediction;
mod runtime;
mod trainer;

pub use buffer::FloatBuffer;
pub use care::{DeviceConditions, DevicePolicy, Limits, LogEntry, SecretStorage, Thermal, reason_to_pause};
pub use consent::{AssignmentOffer, ConsentCallback};
pub use error::{CallbackError, FolkmootError};
pub use error_code::{Disposition, ErrorCodeInfo, error_codes};
pub use event::{ClientEvent, EventListener};
pub use examples::{ExampleSet, LabelKind};
pub use folkmoot::{Folkmoot, RunSummary, Status};
pub use log::{LogLevel, LogSink, set_log_sink};
pub use model_file::read_model_file;
pub use options::{ConnectOptions, DeviceChoice};
pub use prediction::{ModelUpdate, Prediction};
pub use runtime::shut_down;
pub use trainer::{Evaluated, TensorSpec, Trained, Trainer, TrainerWork};

uniffi::setup_scaffolding!("folkmoot_mobile");
