//! Declined assignments: what the client deletes and logs.

use folkmoot_protocol::TaskId;
use folkmoot_work::{Note, WorkError};

use super::tasks::{Outcome, work_failed};
use crate::{TransparencyLog, storage::WorkStore};

/// An assignment that may be declined.
pub(super) struct Declining {
    pub task_id: TaskId,
    pub round_number: u64,
    pub work: WorkStore,
    pub log: TransparencyLog,
}

impl Declining {
    /// Converts an error to the answer that tells the session that the work failed.
    ///
    /// If the assignment is declined, the task's compression residual and personal tensors are deleted too, because they
    /// were computed from the same examples. The transparency log names the exceeded limit; the coordinator does not learn it.
    pub fn failed(&self, error: WorkError) -> Outcome {
        if error.is_declined()
            && let Err(error) = self.work.forget_task(self.task_id)
        {
            tracing::warn!(%error, "could not delete what is kept of a declined task");
        }
        if let Some(note) = Note::declined(&error, self.task_id, self.round_number) {
            tracing::info!(over = note.detail, "declined the assignment");
            self.log.write(note);
        }
        work_failed(error)
    }
}
