use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_protocol::{AssignmentId, DriftCorrection, Plan, TaskId, Timestamp};
use folkmoot_secure_aggregation::Journal;

use super::{
    MemoryStore, StorageError,
    atomic::{make_private, read_if_present, remove_if_present, write_private},
};

/// The number of days after which a compression residual is too old to be added to an update.
const RESIDUAL_DAYS_MAX: u64 = 30;
/// The number of days after which the client's own tensors of a task are deleted. They are useful until their task
/// ends, but a device must not fill up with the tensors of tasks that have ended.
const OWN_DAYS_MAX: u64 = 365;

/// The condition under which the client's own tensors after a training become the task's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The update was sent. Personal tensors count even if the coordinator has not accepted the update.
    Sent,
    /// The coordinator has accepted the update. Control variates must agree with the sum that it keeps of all clients.
    Accepted,
}

impl Keep {
    /// Returns the condition for a plan.
    pub fn of(plan: &Plan) -> Self {
        match plan.drift_correction.is_some_and(DriftCorrection::keeps_control_variate) {
            true => Self::Accepted,
            false => Self::Sent,
        }
    }

    /// Returns the last part of the name of a file whose update is not sent yet.
    fn suffix(self) -> &'static str {
        match self {
            Self::Sent => ".personal",
            Self::Accepted => ".control",
        }
    }
}

/// Checkpoints and updates by assignment id, and compression residuals and the client's own tensors by task.
#[derive(Clone, Debug)]
pub(crate) struct WorkStore {
    directory: PathBuf,
    memories: MemoryStore,
    own: MemoryStore,
}

impl WorkStore {
    /// Creates the directory if it does not exist.
    pub fn open(directory: &Path) -> Result<Self, StorageError> {
        make_private(directory).map_err(|error| StorageError::at(directory, error))?;
        let memories = MemoryStore::open(&directory.with_file_name("memories"), RESIDUAL_DAYS_MAX)?;
        let own = MemoryStore::open(&directory.with_file_name("personal"), OWN_DAYS_MAX)?;
        Ok(Self { directory: directory.into(), memories, own })
    }

    pub fn save_checkpoint(&self, id: AssignmentId, bytes: &[u8]) -> Result<(), StorageError> {
        write_private(&self.checkpoint_path(id), bytes)
    }

    pub fn load_checkpoint(&self, id: AssignmentId) -> Result<Option<Vec<u8>>, StorageError> {
        read_if_present(&self.checkpoint_path(id))
    }

    pub fn save_update(&self, id: AssignmentId, bytes: &[u8]) -> Result<(), StorageError> {
        write_private(&self.update_path(id), bytes)
    }

    /// Stores the state of an assignment's secure aggregation.
    pub fn save_journal(&self, id: AssignmentId, journal: &Journal) -> Result<(), StorageError> {
        let json = serde_json::to_vec(journal).expect("a journal has string keys only");
        write_private(&self.journal_path(id), &json)
    }

    /// Returns the state of an assignment's secure aggregation; `None` if there is none, or it cannot be read.
    pub fn load_journal(&self, id: AssignmentId) -> Result<Option<Journal>, StorageError> {
        let stored = read_if_present(&self.journal_path(id))?;
        Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Stores the residual of an update until it is known whether the update was accepted.
    pub fn save_pending_memory(
        &self,
        id: AssignmentId,
        task: TaskId,
        bytes: &[u8],
    ) -> Result<(), StorageError> {
        write_private(&self.directory.join(format!("{id}.{task}")), bytes)
    }

    /// Makes the residual of an accepted update the task's memory. Calling it again has no effect.
    pub fn keep_memory(&self, id: AssignmentId) -> Result<(), StorageError> {
        self.pending(id, "")?.iter().try_for_each(|(task, path)| self.memories.keep(*task, path))
    }

    /// Deletes the memory of the assignment's task. Call this if it is unknown whether the update was accepted: the
    /// memory may repeat what the coordinator has already received.
    pub fn forget_memory(&self, id: AssignmentId) -> Result<(), StorageError> {
        self.pending(id, "")?.iter().try_for_each(|(task, _)| self.memories.forget(*task))
    }

    /// Deletes the residual of an earlier attempt at this update.
    pub fn forget_pending_memory(&self, id: AssignmentId) -> Result<(), StorageError> {
        self.pending(id, "")?.iter().try_for_each(|(_, path)| remove_if_present(path))
    }

    /// Stores the client's own tensors after a training, until it is known whether they count.
    pub fn save_pending_own(
        &self,
        id: AssignmentId,
        task: TaskId,
        bytes: &[u8],
        keep: Keep,
    ) -> Result<(), StorageError> {
        write_private(&self.directory.join(format!("{id}.{task}{}", keep.suffix())), bytes)
    }

    /// Makes the tensors after a training the task's, if their condition holds for an update that was sent. Returns
    /// whether there were any. Calling it again has no effect.
    pub fn keep_own(&self, id: AssignmentId, was_accepted: bool) -> Result<bool, StorageError> {
        let mut pending = self.pending(id, Keep::Sent.suffix())?;
        if was_accepted {
            pending.extend(self.pending(id, Keep::Accepted.suffix())?);
        }
        pending.iter().try_for_each(|(task, path)| self.own.keep(*task, path))?;
        Ok(!pending.is_empty())
    }

    fn pending(&self, id: AssignmentId, suffix: &str) -> Result<Vec<(TaskId, PathBuf)>, StorageError> {
        let prefix = format!("{id}.");
        let task_of = |path: PathBuf| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let task = name.strip_prefix(&prefix)?.strip_suffix(suffix)?;
            Some((task.parse::<TaskId>().ok()?, path))
        };
        Ok(entries(&self.directory)?.into_iter().filter_map(task_of).collect())
    }

    /// Returns the store of the codecs' memories (error feedback), one for each task.
    pub fn memories(&self) -> &MemoryStore {
        &self.memories
    }

    /// Returns the store of the client's own tensors.
    pub fn own_tensors(&self) -> &MemoryStore {
        &self.own
    }

    /// Deletes the data of a task that are kept between its assignments.
    pub fn forget_task(&self, task: TaskId) -> Result<(), StorageError> {
        self.memories.forget(task).and(self.own.forget(task))
    }

    /// Deletes the data of all tasks that are kept between assignments.
    pub fn forget_all_tasks(&self) -> Result<(), StorageError> {
        self.memories.forget_all().and(self.own.forget_all())
    }

    /// Deletes data of tasks that are kept between assignments and are too old.
    pub fn forget_old(&self, now: Timestamp) -> Result<(), StorageError> {
        self.memories.forget_old(now).and(self.own.forget_old(now))
    }

    /// Returns the path of an assignment's update.
    pub fn update_path(&self, id: AssignmentId) -> PathBuf {
        self.directory.join(format!("{id}.update"))
    }

    /// Returns whether an update of this length is stored.
    pub fn has_update(&self, id: AssignmentId, length: u64) -> bool {
        fs::metadata(self.update_path(id)).is_ok_and(|metadata| metadata.len() == length)
    }

    /// Deletes all files of an assignment.
    pub fn forget(&self, id: AssignmentId) -> Result<(), StorageError> {
        let prefix = format!("{id}.");
        let is_of =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        entries(&self.directory)?
            .iter()
            .filter(|path| is_of(path))
            .try_for_each(|path| remove_if_present(path))
    }

    /// Deletes the files of all other assignments, which a crash may have left behind.
    pub fn forget_all_but(&self, kept: Option<AssignmentId>) -> Result<(), StorageError> {
        let kept = kept.map(|id| id.to_string());
        for path in entries(&self.directory)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_kept = kept.as_ref().is_some_and(|id| name.starts_with(id));
            if !is_kept {
                remove_if_present(&path)?;
            }
        }
        Ok(())
    }

    fn journal_path(&self, id: AssignmentId) -> PathBuf {
        self.directory.join(format!("{id}.secure"))
    }

    fn checkpoint_path(&self, id: AssignmentId) -> PathBuf {
        self.directory.join(format!("{id}.checkpoint"))
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let entries = fs::read_dir(directory).map_err(|error| StorageError::at(directory, error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_assignment_under_way_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = WorkStore::open(&directory.path().join("work")).unwrap();
        let [old, current] = [1, 2].map(|number| AssignmentId::from_random_bytes([number; 16]));
        store.save_update(old, b"old").unwrap();
        store.save_update(current, b"update").unwrap();
        store.save_checkpoint(current, b"checkpoint").unwrap();
        store.forget_all_but(Some(current)).unwrap();
        assert!(!store.has_update(old, 3) && store.has_update(current, 6) && !store.has_update(current, 5));
        store.forget(current).unwrap();
        assert_eq!(store.load_checkpoint(current).unwrap(), None);
        store.forget(current).unwrap();
    }

    #[test]
    fn a_memory_is_kept_when_its_update_was_accepted_and_only_then() {
        let directory = tempfile::tempdir().unwrap();
        let store = WorkStore::open(&directory.path().join("work")).unwrap();
        let id = |number: u8| AssignmentId::from_random_bytes([number; 16]);
        let task = |number: u8| TaskId::from_random_bytes([number; 16]);
        store.save_pending_memory(id(1), task(1), b"refused").unwrap();
        store.forget(id(1)).unwrap();
        store.keep_memory(id(1)).unwrap();
        assert_eq!(store.memories().load(task(1)).unwrap(), None);
        store.save_pending_memory(id(2), task(2), b"accepted").unwrap();
        store.keep_memory(id(2)).unwrap();
        store.keep_memory(id(2)).unwrap();
        store.forget_all_but(None).unwrap();
        assert_eq!(store.memories().load(task(2)).unwrap().as_deref(), Some(&b"accepted"[..]));
        // The client never learns whether the coordinator accepted the next update.
        store.save_pending_memory(id(3), task(2), b"perhaps").unwrap();
        store.forget_memory(id(3)).unwrap();
        assert_eq!(store.memories().load(task(2)).unwrap(), None);
        store.forget_pending_memory(id(3)).unwrap();
        store.keep_memory(id(3)).unwrap();
        assert_eq!(store.memories().load(task(2)).unwrap(), None);
    }

    #[test]
    fn own_tensors_are_kept_beside_the_memory_of_their_task() {
        let directory = tempfile::tempdir().unwrap();
        let store = WorkStore::open(&directory.path().join("work")).unwrap();
        let (id, task) = (AssignmentId::from_random_bytes([1; 16]), TaskId::from_random_bytes([2; 16]));
        let own = |store: &WorkStore| store.own_tensors().load(task).unwrap();
        store.save_pending_own(id, task, b"refused", Keep::Sent).unwrap();
        store.forget(id).unwrap();
        assert!(!store.keep_own(id, true).unwrap() && own(&store).is_none());
        store.save_pending_memory(id, task, b"residual").unwrap();
        store.save_pending_own(id, task, b"head", Keep::Sent).unwrap();
        store.forget_memory(id).unwrap();
        assert!(store.keep_own(id, false).unwrap() && !store.keep_own(id, false).unwrap());
        store.forget(id).unwrap();
        let again = WorkStore::open(&directory.path().join("work")).unwrap();
        assert_eq!(own(&again).as_deref(), Some(&b"head"[..]));
        assert_eq!(again.memories().load(task).unwrap(), None);
        again.forget_task(task).unwrap();
        assert_eq!(own(&again), None);
        store.save_pending_own(id, task, b"head", Keep::Sent).unwrap();
        store.keep_own(id, true).unwrap();
        store.forget_all_tasks().unwrap();
        assert_eq!(own(&store), None);
    }

    #[test]
    fn a_control_variate_is_kept_if_its_update_was_accepted() {
        let directory = tempfile::tempdir().unwrap();
        let store = WorkStore::open(&directory.path().join("work")).unwrap();
        let (id, task) = (AssignmentId::from_random_bytes([1; 16]), TaskId::from_random_bytes([2; 16]));
        store.save_pending_own(id, task, b"variate", Keep::Accepted).unwrap();
        assert!(!store.keep_own(id, false).unwrap());
        assert_eq!(store.own_tensors().load(task).unwrap(), None);
        assert!(store.keep_own(id, true).unwrap());
        assert_eq!(store.own_tensors().load(task).unwrap().as_deref(), Some(&b"variate"[..]));
    }
}
