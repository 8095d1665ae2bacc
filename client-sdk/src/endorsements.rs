//! Checks assignments against the app's endorsement keys, and remembers the endorsements that this client has seen.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_protocol::{
    TaskId, Timestamp,
    messages::{Assignment, Rollout},
};
use folkmoot_work::{EndorsementKeys, NotEndorsed, SeenEndorsements, WorkError};

use crate::{
    StorageError,
    storage::{read_if_present, write_private},
};

/// The pinned keys, and the newest endorsement of each task. Copies share their state.
#[derive(Clone, Debug)]
pub(crate) struct Endorsements(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    keys: EndorsementKeys,
    path: PathBuf,
    seen: Mutex<SeenEndorsements>,
}

impl Endorsements {
    pub fn open(keys: EndorsementKeys, path: PathBuf) -> Result<Self, StorageError> {
        let seen = Mutex::new(SeenEndorsements::load(&read_if_present(&path)?.unwrap_or_default()));
        Ok(Self(Arc::new(Shared { keys, path, seen })))
    }

    /// Checks an assignment. If the file of the seen endorsements cannot be written, the client logs a warning and
    /// continues.
    pub fn check(&self, assignment: &Assignment, now: Timestamp) -> Result<(), WorkError> {
        Ok(self.check_of(assignment.task_id, |keys, seen| keys.check(assignment, seen, now))?)
    }

    /// Checks a model that is rolled out to this device, as [`Endorsements::check`] does.
    pub fn check_rollout(&self, rollout: &Rollout, now: Timestamp) -> Result<(), NotEndorsed> {
        self.check_of(rollout.task_id, |keys, seen| keys.check_rollout(rollout, seen, now))
    }

    fn check_of(
        &self,
        task_id: TaskId,
        check: impl FnOnce(&EndorsementKeys, &SeenEndorsements) -> Result<Option<u64>, NotEndorsed>,
    ) -> Result<(), NotEndorsed> {
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sequence) = check(&self.0.keys, &seen)? else { return Ok(()) };
        if let Some(stored) = seen.note(task_id, sequence)
            && let Err(error) = write_private(&self.0.path, &stored)
        {
            tracing::warn!(%error, "could not store the endorsement's number; after a restart, an older one is accepted");
        }
        Ok(())
    }
}
