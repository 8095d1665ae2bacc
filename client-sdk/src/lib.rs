#![doc = include_str!("../README.md")]

#[cfg(not(target_family = "wasm"))]
mod care;
// In a browser, other code performs the session's effects. Decisions and computations are the same.
#[cfg(not(target_family = "wasm"))]
mod client;
#[cfg(not(target_family = "wasm"))]
mod device;
#[cfg(not(target_family = "wasm"))]
mod endorsements;
#[cfg(not(target_family = "wasm"))]
mod host;
#[cfg(not(target_family = "wasm"))]
mod key;
#[cfg(not(target_family = "wasm"))]
mod model_file;
#[cfg(not(target_family = "wasm"))]
mod storage;
#[cfg(test)]
mod tests;
#[cfg(not(target_family = "wasm"))]
mod traffic;
mod training;
#[cfg(not(target_family = "wasm"))]
mod transparency;
#[cfg(not(target_family = "wasm"))]
mod transport;

pub mod parts;

#[cfg(not(target_family = "wasm"))]
pub use care::DeviceCare;
#[cfg(not(target_family = "wasm"))]
pub use client::{Client, ClientBuilder, ClientError, RunSummary};
#[cfg(not(target_family = "wasm"))]
pub use device::{Device, DeviceError, Devices, Placement};
pub use folkmoot_engine as engine;
pub use folkmoot_protocol as protocol;
pub use folkmoot_session::StopCause;
pub use folkmoot_work::{
    BYTES_PER_SECOND_MIN, Budget, ClientEvent, DeviceConditions, DevicePolicy, LogAction, LogEntry,
    OverBudget, PauseReason, Thermal, TrafficLimits,
};
#[cfg(not(target_family = "wasm"))]
pub use host::Host;
#[cfg(not(target_family = "wasm"))]
pub use key::{ClientKey, SecretStorage};
#[cfg(not(target_family = "wasm"))]
pub use model_file::{ModelFile, ModelFileError, read_model_file};
#[cfg(not(target_family = "wasm"))]
pub use storage::{PrivateFolder, StorageError, private_folder, shared_paths};
pub use training::SystemChance;
#[cfg(not(target_family = "wasm"))]
pub use training::{
    ExampleSource, LocalTrainer, ModelStore, NewestModel, StopSignal, Trained, TrainerError, TrainerWork,
};
#[cfg(not(target_family = "wasm"))]
pub use transparency::TransparencyLog;
#[cfg(not(target_family = "wasm"))]
pub use transport::{
    HttpSettings, Pieces, Transport, TransportError, UpdateSource, build_http, build_http_from,
    parse_coordinator,
};
