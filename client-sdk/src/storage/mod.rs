//! What a client keeps on disk, in its state directory:
//!
//! ```text
//! client.key           the key, drawn once
//! enrolment.json       the client id that the coordinator gave for it
//! session.json         the session
//! newest_model.json    which model and weights came last
//! devices.json         what was learnt about the graphics adapters of the machine
//! traffic.json         the bytes of the day, where they are limited
//! training_time.json   the training time of the day, where it is limited
//! battery_time.json    that without charging, where it is limited
//! transparency.jsonl   what was done with the user's data
//! blobs/               plans, models and weights, by SHA-256
//! assignments/         checkpoint and update of the assignment under way
//! memories/            what accepted updates left out, by task
//! directory.lock       held while a client runs: two would make two updates of one assignment
//! ```

mod atomic;
mod blob_cache;
mod error;
mod memory_store;
mod private_folder;
mod state_store;
mod work_store;

pub(crate) use atomic::{read_if_present, write_private};
pub(crate) use blob_cache::BlobCache;
pub use error::StorageError;
pub(crate) use memory_store::MemoryStore;
pub use private_folder::{PrivateFolder, private_folder};
pub(crate) use state_store::{Enrolment, StateStore};
pub(crate) use work_store::WorkStore;
