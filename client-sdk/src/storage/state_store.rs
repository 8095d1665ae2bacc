use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use folkmoot_engine::block_on;
use folkmoot_protocol::{ClientId, PopulationName};
use folkmoot_session::Session;
use serde::{Deserialize, Serialize};
use tokio::{sync::Mutex, task::spawn_blocking};

use super::{
    PrivateFolder, StorageError,
    atomic::{private, read_if_present, remove_if_present, write_private},
    private_folder,
};

const ENROLMENT_VERSION: u32 = 1;

/// The coordinator's answer to the enrolment of the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Enrolment {
    version: u32,
    /// The coordinator's address. The id is valid only there.
    pub coordinator: String,
    pub client_id: ClientId,
    pub population: PopulationName,
}

impl Enrolment {
    pub fn new(coordinator: &str, client_id: ClientId, population: PopulationName) -> Self {
        Self { version: ENROLMENT_VERSION, coordinator: coordinator.to_owned(), client_id, population }
    }
}

/// The name of the lock file. It also marks a directory as a client's.
const LOCK: &str = "directory.lock";

/// The small files of a state directory. The directory stays locked as long as this lives. Dropping it waits for a write that
/// has begun.
#[derive(Debug)]
pub(crate) struct StateStore {
    directory: PathBuf,
    _lock: File,
    /// Locked while the session is written, also by a run that was dropped since.
    writing: Arc<Mutex<()>>,
}

impl StateStore {
    /// Creates the directory if it does not exist, and locks it.
    pub fn open(directory: &Path) -> Result<Self, StorageError> {
        match private_folder(directory, LOCK).map_err(|error| StorageError::at(directory, error))? {
            PrivateFolder::Private => {}
            PrivateFolder::Mended(paths) => {
                tracing::warn!(directory = %directory.display(), changed = paths.len(), "other users could read the state directory; its permissions are now restricted to its owner");
            }
            PrivateFolder::Shared => {
                tracing::warn!(directory = %directory.display(), "other users may read the state directory, and it holds other files too; give the client a directory of its own");
            }
        }
        let path = directory.join(LOCK);
        let lock = private()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(|error| StorageError::at(&path, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory: directory.into(), _lock: lock, writing: Arc::default() }),
            Err(TryLockError::WouldBlock) => Err(StorageError::InUse(directory.into())),
            Err(TryLockError::Error(error)) => Err(StorageError::at(&path, error)),
        }
    }

    /// Returns the path of the key.
    pub fn key_path(&self) -> PathBuf {
        self.directory.join("client.key")
    }

    /// Reads the stored enrolment. Returns `None` if there is none or it is from another coordinator. An unreadable
    /// file is renamed to `*.damaged` and treated as missing.
    pub fn load_enrolment(&self, coordinator: &str) -> Result<Option<Enrolment>, StorageError> {
        let path = self.directory.join("enrolment.json");
        let Some(bytes) = read_if_present(&path)? else { return Ok(None) };
        match serde_json::from_slice::<Enrolment>(&bytes) {
            Ok(enrolment) if enrolment.version == ENROLMENT_VERSION => {
                Ok(Some(enrolment).filter(|enrolment| enrolment.coordinator == coordinator))
            }
            Ok(enrolment) => set_aside(&path, &format!("version {} is unknown", enrolment.version)),
            Err(error) => set_aside(&path, &error.to_string()),
        }
    }

    /// Stores the enrolment.
    pub fn save_enrolment(&self, enrolment: &Enrolment) -> Result<(), StorageError> {
        let json = serde_json::to_vec(enrolment).expect("an enrolment has string keys only");
        write_private(&self.directory.join("enrolment.json"), &json)
    }

    /// Reads the stored session, after the last [`StateStore::save_session`] has ended. An unreadable file is renamed to
    /// `*.damaged` and treated as missing.
    pub async fn load_session(&self) -> Result<Option<Session>, StorageError> {
        let _written = self.writing.lock().await;
        let path = self.session_path();
        let Some(bytes) = read_if_present(&path)? else { return Ok(None) };
        match Session::from_json(&bytes) {
            Ok(session) => Ok(Some(session)),
            Err(error) => set_aside(&path, &error.to_string()),
        }
    }

    /// Stores the session. If the future is dropped, a write that has begun still completes, because it cannot be
    /// cancelled.
    pub async fn save_session(&self, session: &Session) -> Result<(), StorageError> {
        let (path, json) = (self.session_path(), session.to_json());
        let writing = Arc::clone(&self.writing).lock_owned().await;
        let written = spawn_blocking(move || {
            let written = write_private(&path, json.as_bytes());
            drop(writing);
            written
        });
        written.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    fn session_path(&self) -> PathBuf {
        self.directory.join("session.json")
    }

    /// Returns the path of the stored knowledge about graphics adapters.
    pub fn devices_path(&self) -> PathBuf {
        self.directory.join("devices.json")
    }

    /// Returns the path of the newest endorsements that the client has seen.
    pub fn endorsements_path(&self) -> PathBuf {
        self.directory.join("endorsements.json")
    }

    /// Returns the path of the day's traffic count.
    pub fn traffic_path(&self) -> PathBuf {
        self.directory.join("traffic.json")
    }

    /// Returns the path of the transparency log.
    pub fn transparency_log_path(&self) -> PathBuf {
        self.directory.join("transparency.jsonl")
    }

    /// Returns the path of the day's training time.
    pub fn training_time_path(&self) -> PathBuf {
        self.directory.join("training_time.json")
    }

    /// Returns the path of the day's training time without charging.
    pub fn battery_time_path(&self) -> PathBuf {
        self.directory.join("battery_time.json")
    }

    /// Returns the path of the record of the newest model.
    pub fn newest_model_path(&self) -> PathBuf {
        self.directory.join("newest_model.json")
    }

    /// Returns the path of the record of the model that is rolled out to this device.
    pub fn rolled_out_model_path(&self) -> PathBuf {
        self.directory.join("rolled_out_model.json")
    }

    /// Deletes all files that a client keeps here, the key first. Files of others stay.
    pub fn forget(self) -> Result<(), StorageError> {
        for name in [
            "client.key",
            "enrolment.json",
            "session.json",
            "newest_model.json",
            "rolled_out_model.json",
            "devices.json",
            "endorsements.json",
            "traffic.json",
            "training_time.json",
            "battery_time.json",
            "transparency.jsonl",
        ] {
            let path = self.directory.join(name);
            for path in [path.with_added_extension("new"), path.with_added_extension("damaged"), path] {
                remove_if_present(&path)?;
            }
        }
        for name in ["blobs", "assignments", "memories", "personal"] {
            let path = self.directory.join(name);
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StorageError::at(&path, error));
                }
                _ => {}
            }
        }
        let path = self.directory.join("directory.lock");
        // Some systems cannot delete an open file.
        drop(self);
        remove_if_present(&path)
    }

    /// Returns the path of a subdirectory for larger files.
    pub fn subdirectory(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Drop for StateStore {
    fn drop(&mut self) {
        // Otherwise the write could replace the session of the next client in this directory.
        drop(block_on(self.writing.lock()));
    }
}

/// Renames an unusable file: the client starts without it, and a person can still inspect it.
fn set_aside<T>(path: &Path, reason: &str) -> Result<Option<T>, StorageError> {
    tracing::warn!(file = %path.display(), reason, "the file cannot be used; it was renamed to *.damaged, and the client starts without it");
    let aside = path.with_added_extension("damaged");
    fs::rename(path, aside).map_err(|error| StorageError::at(path, error))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use folkmoot_protocol::messages::CheckInRequest;
    use folkmoot_session::Offer;
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_forgotten_client_leaves_only_what_is_not_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateStore::open(directory.path()).unwrap();
        for name in ["client.key", "session.json", "session.json.damaged", "newest_model.json", "notes.txt"] {
            fs::write(directory.path().join(name), b"x").unwrap();
        }
        fs::create_dir_all(store.subdirectory("blobs").join("deep")).unwrap();
        store.forget().unwrap();
        let left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["notes.txt"]);
    }

    #[test]
    fn a_session_is_read_after_a_write_whose_run_was_dropped() {
        let runtime = tokio::runtime::Builder::new_multi_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let store = StateStore::open(directory.path()).unwrap();
            let request = CheckInRequest {
                sdk_version: "0".into(),
                example_count: 1,
                attributes: BTreeMap::new(),
                codecs: Vec::new(),
            };
            let session = Session::new(Offer { request, wait_seconds: 1 });
            // The only thread for writes waits, so the write does not end before its run is dropped.
            let (open, gate) = std::sync::mpsc::channel::<()>();
            let gate = spawn_blocking(move || gate.recv());
            assert!(store.save_session(&session).now_or_never().is_none());
            let mut read = Box::pin(store.load_session());
            assert!(futures::poll!(&mut read).is_pending());
            open.send(()).unwrap();
            gate.await.unwrap().unwrap();
            assert!(read.await.unwrap().is_some());
        });
    }

    #[tokio::test]
    async fn what_is_damaged_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateStore::open(directory.path()).unwrap();
        fs::write(store.session_path(), b"{\"version\":9,\"session\":1}").unwrap();
        fs::write(directory.path().join("enrolment.json"), b"\xff").unwrap();
        assert_eq!(store.load_session().await.unwrap(), None);
        assert_eq!(store.load_enrolment("https://a.example/").unwrap(), None);
        assert!(directory.path().join("session.json.damaged").exists());
        assert!(!store.session_path().exists());
    }

    #[test]
    fn an_enrolment_is_for_one_coordinator_and_a_directory_for_one_client() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateStore::open(directory.path()).unwrap();
        let id = ClientId::from_random_bytes([1; 16]);
        let enrolment = Enrolment::new("https://a.example/", id, "digits".parse().unwrap());
        store.save_enrolment(&enrolment).unwrap();
        assert_eq!(store.load_enrolment("https://a.example/").unwrap(), Some(enrolment));
        assert_eq!(store.load_enrolment("https://b.example/").unwrap(), None);
        assert!(matches!(StateStore::open(directory.path()), Err(StorageError::InUse(_))));
    }
}
