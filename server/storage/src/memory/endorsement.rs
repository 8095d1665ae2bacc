use async_trait::async_trait;
use folkmoot_protocol::TaskId;

use super::{MemoryStorage, counts::check_count};
use crate::{EndorsementRecord, EndorsementRepository, StorageError, audit::Act};

#[async_trait]
impl EndorsementRepository for MemoryStorage {
    async fn publish_endorsement(&self, endorsement: &EndorsementRecord) -> Result<(), StorageError> {
        check_count(endorsement.sequence)?;
        let mut state = self.lock();
        let EndorsementRecord { task_id, sequence, .. } = *endorsement;
        let task =
            state.tasks.get(task_id).filter(|task| task.organisation_id == endorsement.organisation_id);
        task.ok_or(StorageError::NotFound("task"))?;
        if state.endorsements.get(&task_id).is_some_and(|(newest, _)| *newest >= sequence) {
            return Err(StorageError::RevisionConflict("endorsement"));
        }
        state.endorsements.insert(task_id, (sequence, endorsement.signed.clone()));
        state.record(|| Act::endorsed(endorsement))
    }

    async fn endorsement(&self, task_id: TaskId) -> Result<Option<String>, StorageError> {
        Ok(self.lock().endorsements.get(&task_id).map(|(_, signed)| signed.clone()))
    }
}
