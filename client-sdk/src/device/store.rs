use std::path::PathBuf;

use super::DeviceMemory;
use crate::storage::{StorageError, read_if_present, write_private};

/// The file that stores knowledge about graphics adapters.
#[derive(Clone, Debug)]
pub(crate) struct DeviceStore {
    path: PathBuf,
}

impl DeviceStore {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the file. An unreadable file is treated as empty, because everything in it can be measured again.
    pub fn load(&self) -> DeviceMemory {
        let bytes = match read_if_present(&self.path) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "could not read the stored knowledge about graphics adapters");
                return DeviceMemory::default();
            }
        };
        match serde_json::from_slice::<DeviceMemory>(&bytes) {
            Ok(memory) if memory.is_known_version() => memory,
            _ if bytes.is_empty() => DeviceMemory::default(),
            _ => {
                let file = self.path.display();
                tracing::warn!(%file, "the stored knowledge about graphics adapters is damaged; starting without it");
                DeviceMemory::default()
            }
        }
    }

    /// Replaces the file.
    pub fn save(&self, memory: &DeviceMemory) -> Result<(), StorageError> {
        let json = serde_json::to_vec(memory).expect("the memory has string keys only");
        write_private(&self.path, &json)
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;
    use crate::device::AdapterId;

    #[test]
    fn a_missing_or_damaged_file_is_as_good_as_an_empty_one() {
        let directory = tempfile::tempdir().unwrap();
        let store = DeviceStore::new(directory.path().join("devices.json"));
        assert_eq!(store.load(), DeviceMemory::default());
        let id = AdapterId { name: "Card 7".into(), driver: "1.0".into() };
        let mut memory = DeviceMemory::default();
        memory.remember_fault(&id, "it was lost", Timestamp(1));
        store.save(&memory).unwrap();
        assert_eq!(store.load(), memory);
        let whole = std::fs::read(&store.path).unwrap();
        let of_the_future = String::from_utf8(whole.clone()).unwrap().replace(":1,", ":9,");
        for damaged in [&b""[..], &whole[..whole.len() / 2], b"\xff\x00", b"[]", of_the_future.as_bytes()] {
            std::fs::write(&store.path, damaged).unwrap();
            assert_eq!(store.load(), DeviceMemory::default());
        }
        store.save(&memory).unwrap();
        assert_eq!(store.load(), memory);
    }
}
