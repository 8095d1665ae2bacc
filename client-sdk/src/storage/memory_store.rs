use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use folkmoot_protocol::{TaskId, Timestamp};

use super::{
    StorageError,
    atomic::{make_private, read_if_present, remove_if_present},
};

/// The maximum number of memories that are kept. More would fill the device with data of tasks that have ended.
const MEMORIES_MAX: usize = 4;
/// The maximum number of bytes of all memories together. The oldest are deleted first.
const BYTES_MAX: u64 = 256 << 20;
const DAY_MILLISECONDS: u64 = 24 * 3600 * 1000;

/// State that a client keeps between the assignments of a task, by task: compression residuals, or personal tensors.
/// They are derived from the examples on this device, so they are deleted when the examples may no longer be used.
#[derive(Clone, Debug)]
pub(crate) struct MemoryStore {
    directory: PathBuf,
    age_milliseconds_max: u64,
}

impl MemoryStore {
    /// Creates the directory if it does not exist. Memories that are older than `days_max` are no longer useful.
    pub fn open(directory: &Path, days_max: u64) -> Result<Self, StorageError> {
        make_private(directory).map_err(|error| StorageError::at(directory, error))?;
        Ok(Self { directory: directory.into(), age_milliseconds_max: days_max * DAY_MILLISECONDS })
    }

    /// Moves the file of a memory into the store. If the store then exceeds a limit, deletes the oldest memories; a
    /// memory above [`BYTES_MAX`] is deleted too.
    pub fn keep(&self, task: TaskId, file: &Path) -> Result<(), StorageError> {
        let kept = self.path(task);
        fs::rename(file, &kept).map_err(|error| StorageError::at(&kept, error))?;
        let mut bytes = 0;
        for (index, (path, metadata)) in self.newest_first()?.into_iter().enumerate() {
            bytes += metadata.len();
            if index >= MEMORIES_MAX || bytes > BYTES_MAX {
                remove_if_present(&path)?;
            }
        }
        Ok(())
    }

    pub fn load(&self, task: TaskId) -> Result<Option<Vec<u8>>, StorageError> {
        read_if_present(&self.path(task))
    }

    /// Deletes a task's memory.
    pub fn forget(&self, task: TaskId) -> Result<(), StorageError> {
        remove_if_present(&self.path(task))
    }

    /// Deletes all memories.
    pub fn forget_all(&self) -> Result<(), StorageError> {
        self.newest_first()?.iter().try_for_each(|(path, _)| remove_if_present(path))
    }

    /// Deletes memories that are too old.
    pub fn forget_old(&self, now: Timestamp) -> Result<(), StorageError> {
        let is_old = |metadata: &Metadata| {
            let changed = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(now.0.saturating_sub(changed.as_millis() as u64) > self.age_milliseconds_max)
        };
        let memories = self.newest_first()?;
        let old = memories.iter().filter(|(_, metadata)| is_old(metadata).unwrap_or(true));
        old.map(|(path, _)| path).try_for_each(|path| remove_if_present(path))
    }

    fn newest_first(&self) -> Result<Vec<(PathBuf, Metadata)>, StorageError> {
        let entries = fs::read_dir(&self.directory);
        let entries = entries.map_err(|error| StorageError::at(&self.directory, error))?;
        let with_metadata = |entry: fs::DirEntry| Some((entry.path(), entry.metadata().ok()?));
        let mut memories: Vec<_> = entries.flatten().filter_map(with_metadata).collect();
        memories.sort_by_key(|(_, metadata)| std::cmp::Reverse(metadata.modified().ok()));
        Ok(memories)
    }

    fn path(&self, task: TaskId) -> PathBuf {
        self.directory.join(task.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u8) -> TaskId {
        TaskId::from_random_bytes([number; 16])
    }

    fn store_of(tasks: std::ops::RangeInclusive<u8>) -> (tempfile::TempDir, MemoryStore) {
        let directory = tempfile::tempdir().unwrap();
        let store = MemoryStore::open(&directory.path().join("memories"), 30).unwrap();
        for number in tasks {
            let file = directory.path().join("pending");
            fs::write(&file, [number]).unwrap();
            store.keep(task(number), &file).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        (directory, store)
    }

    fn kept(store: &MemoryStore, tasks: std::ops::RangeInclusive<u8>) -> Vec<u8> {
        tasks.filter(|number| store.load(task(*number)).unwrap().is_some()).collect()
    }

    #[test]
    fn the_oldest_make_room() {
        let (directory, store) = store_of(1..=6);
        assert_eq!(kept(&store, 1..=6), [3, 4, 5, 6]);
        let large = directory.path().join("large");
        fs::File::create(&large).unwrap().set_len(BYTES_MAX - 1).unwrap();
        store.keep(task(7), &large).unwrap();
        assert_eq!(kept(&store, 1..=7), [6, 7], "one byte of room is for one memory of one byte");
        fs::File::create(&large).unwrap().set_len(BYTES_MAX + 1).unwrap();
        store.keep(task(8), &large).unwrap();
        assert!(kept(&store, 1..=8).is_empty(), "one that is too large is not kept");
    }

    #[test]
    fn the_old_and_the_unwanted_go() {
        let (_directory, store) = store_of(1..=3);
        let changed = fs::metadata(store.path(task(1))).unwrap().modified().unwrap();
        let changed = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
        store.forget_old(Timestamp(changed + 30 * DAY_MILLISECONDS)).unwrap();
        assert_eq!(kept(&store, 1..=3), [1, 2, 3]);
        store.forget_old(Timestamp(changed + 30 * DAY_MILLISECONDS + 1)).unwrap();
        assert_eq!(kept(&store, 1..=3), [2, 3]);
        store.forget(task(2)).unwrap();
        store.forget(task(2)).unwrap();
        assert_eq!(kept(&store, 1..=3), [3]);
        store.forget_all().unwrap();
        assert!(kept(&store, 1..=3).is_empty());
    }
}
