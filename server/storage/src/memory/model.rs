use std::cmp::Reverse;

use async_trait::async_trait;
use folkmoot_protocol::{BlobDigest, OrganisationId};

use super::{MemoryStorage, State, counts::check_counts};
use crate::{ModelRecord, ModelRepository, StorageError, audit::Act};

#[async_trait]
impl ModelRepository for MemoryStorage {
    async fn create_model(&self, model: &ModelRecord) -> Result<(), StorageError> {
        self.lock().create_model(model)
    }

    async fn model(
        &self,
        organisation_id: OrganisationId,
        model: BlobDigest,
    ) -> Result<Option<ModelRecord>, StorageError> {
        Ok(self.lock().models.get(&(organisation_id, model)).cloned())
    }

    async fn models(
        &self,
        organisation_id: OrganisationId,
        limit: u32,
    ) -> Result<Vec<ModelRecord>, StorageError> {
        let state = self.lock();
        let models = state.models.values().filter(|model| model.organisation_id == organisation_id);
        let mut models: Vec<ModelRecord> = models.cloned().collect();
        models.sort_by_key(|model| Reverse((model.created_at, model.model.to_string())));
        models.truncate(limit as usize);
        Ok(models)
    }
}

impl State {
    fn create_model(&mut self, model: &ModelRecord) -> Result<(), StorageError> {
        check_counts([model.model_bytes, model.created_at.0])?;
        self.check_organisation(model.organisation_id)?;
        if let Some(stored) = self.models.get_mut(&(model.organisation_id, model.model)) {
            stored.name = model.name.clone().or_else(|| stored.name.take());
            return Ok(());
        }
        self.models.insert((model.organisation_id, model.model), model.clone());
        self.record(|| Act::model_created(model))
    }
}
