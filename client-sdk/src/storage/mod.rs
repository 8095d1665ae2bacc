//! The files that a client keeps in its state directory:
//!
//! ```text
//! client.key           the client's key, generated once
//! enrolment.json       the client id that the coordinator assigned to the key
//! session.json         the session
//! newest_model.json    the digests of the newest model and its weights
//! rolled_out_model.json  those of the model that the operator has rolled out to this device
//! devices.json         faults and measurements of the machine's graphics adapters
//! traffic.json         the day's traffic in bytes, if it is limited
//! training_time.json   the day's training time, if it is limited
//! battery_time.json    the day's training time without charging, if it is limited
//! transparency.jsonl   how the user's data was used
//! blobs/               plans, models and weights, by SHA-256
//! assignments/         checkpoint and update of the current assignment
//! memories/            compression residuals, by task
//! personal/            personal tensors and control variates, by task
//! directory.lock       locked while a client runs: two clients would send two updates for one assignment
//! ```

mod atomic;
mod blob_cache;
mod day_file;
mod error;
mod memory_store;
mod private_folder;
mod state_store;
mod work_store;

pub(crate) use atomic::{read_if_present, remove_if_present, write_private};
pub(crate) use blob_cache::BlobCache;
pub(crate) use day_file::DayFile;
pub use error::StorageError;
pub(crate) use memory_store::MemoryStore;
pub use private_folder::{PrivateFolder, private_folder, shared_paths};
pub(crate) use state_store::{Enrolment, StateStore};
pub(crate) use work_store::{Keep, WorkStore};
