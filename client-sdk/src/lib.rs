#![doc = include_str!("../README.md")]

mod care;
mod client;
mod device;
mod endorsements;
mod host;
mod key;
mod model_file;
mod storage;
#[cfg(test)]
mod tests;
mod traffic;
mod training;
mod transparency;
mod transport;

pub use care::DeviceCare;
pub use client::{Client, ClientBuilder, ClientError, RolledOutModel, Rollouts, RunSummary};
pub use device::{Device, DeviceError, Devices, Placement};
pub use folkmoot_engine as engine;
pub use folkmoot_protocol as protocol;
pub use folkmoot_session::StopCause;
pub use folkmoot_training::{SystemChance, Trained};
pub use folkmoot_work::{
    BYTES_PER_SECOND_MIN, Budget, ClientEvent, DeviceConditions, DevicePolicy, LogAction, LogEntry,
    OverBudget, PauseReason, Thermal, TrafficLimits,
};
pub use host::Host;
pub use key::{ClientKey, SecretStorage};
pub use model_file::{ModelFile, ModelFileError, read_model_file};
pub use storage::{PrivateFolder, StorageError, private_folder, shared_paths};
pub use training::{
    ExampleSource, LocalTrainer, ModelStore, NewestModel, StopSignal, TrainerError, TrainerWork,
};
pub use transparency::TransparencyLog;
pub use transport::{
    ClientCertificate, HttpSettings, NotPinnedError, Pieces, Transport, TransportError, UpdateSource,
    build_http, build_http_from, parse_coordinator, pins_of,
};
