use std::sync::Arc;

use folkmoot_protocol::{
    ChannelName, TaskId,
    limits::TEXT_BYTES_MAX,
    messages::{Rollout, RolloutReport},
};
use tokio::task::spawn_blocking;

use super::{Client, ClientError, fetch::fetch_missing};
use crate::{
    Budget, Host, ModelStore, NewestModel, Transport, endorsements::Endorsements, storage::BlobCache,
};

/// Fetches the models that the operator rolls out to this device. Clones share their state.
#[derive(Clone, Debug)]
pub struct Rollouts {
    transport: Transport,
    blobs: BlobCache,
    models: ModelStore,
    endorsements: Endorsements,
    budget: Budget,
    channel: ChannelName,
    host: Host,
}

/// A model that is rolled out to this device, and that predictions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolledOutModel {
    /// The number of the rollout.
    pub rollout: u64,
    /// The task that trained the model.
    pub task_id: TaskId,
    /// The number of the model version.
    pub version: u64,
    /// True if this update brought the model, false if it was there already.
    pub is_new: bool,
}

impl Rollouts {
    pub(super) fn of(client: &Client) -> Self {
        Self {
            transport: client.transport.clone(),
            blobs: client.blobs.clone(),
            models: client.models.clone(),
            endorsements: client.endorsements.clone(),
            budget: client.budget.clone(),
            channel: client.channel.clone(),
            host: client.host.clone(),
        }
    }

    /// Asks which model is rolled out to this device, fetches it if it is new, and tries it. From then on, predictions use it
    /// ([`ModelStore::newest`]), also without a connection and after a restart. Returns `None` if no model is rolled out to
    /// this device; predictions then use the model of the last assignment.
    ///
    /// The client reports to the coordinator whether it could load the model. If it could not, predictions keep the model
    /// before. Call this when the app starts and, for example, once a day.
    ///
    /// # Errors
    /// [`ClientError::Transport`] if the client is not enrolled yet, or the coordinator cannot be reached or refuses;
    /// [`ClientError::Model`] if the model cannot be used, for example because no pinned key has signed it.
    pub async fn update(&self) -> Result<Option<RolledOutModel>, ClientError> {
        let Some(rollout) = self.transport.rollout(&self.channel).await? else {
            self.models.end_rollout()?;
            return Ok(None);
        };
        let told = self.known()?;
        let is_new = told.is_none_or(|(known, _)| known != rollout.number);
        if is_new {
            self.adopt(&rollout).await?;
        }
        if is_new || told.is_some_and(|(_, is_reported)| !is_reported) {
            // If this fails, the next update repeats it.
            let report = RolloutReport { number: rollout.number, failure: None };
            match self.transport.report_rollout(&report).await {
                Ok(()) => self.models.note_reported(),
                Err(error) => {
                    tracing::debug!(%error, "could not report that the rolled-out model was loaded")
                }
            }
        }
        let Rollout { number, task_id, version, .. } = rollout;
        Ok(Some(RolledOutModel { rollout: number, task_id, version, is_new }))
    }

    /// Returns the number of the rollout whose model is here, and whether the coordinator knows it.
    fn known(&self) -> Result<Option<(u64, bool)>, ClientError> {
        let known = self.models.rolled_out()?;
        Ok(known.map(|(note, _)| (note.number, note.is_reported)))
    }

    async fn adopt(&self, rollout: &Rollout) -> Result<(), ClientError> {
        let refused = match self.tried(rollout).await? {
            Ok(_) => return Ok(()),
            Err(refused) => refused,
        };
        let mut failure = refused.clone();
        failure.truncate(failure.floor_char_boundary(TEXT_BYTES_MAX));
        let report = RolloutReport { number: rollout.number, failure: Some(failure) };
        if let Err(error) = self.transport.report_rollout(&report).await {
            tracing::debug!(%error, "could not report that the rolled-out model cannot be used");
        }
        Err(ClientError::Model { rollout: rollout.number, reason: refused })
    }

    /// Fetches and tries a model. The inner error says why this device cannot use it.
    async fn tried(&self, rollout: &Rollout) -> Result<Result<Arc<NewestModel>, String>, ClientError> {
        if let Err(error) = self.endorsements.check_rollout(rollout, self.host.now()) {
            return Ok(Err(error.to_string()));
        }
        let parts = [rollout.plan, rollout.model, rollout.weights];
        let bytes = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
        let max = self.budget.model_bytes_max.min(self.blobs.bytes_max());
        if bytes > max {
            return Ok(Err(format!("the model has {bytes} bytes, and this device keeps at most {max}")));
        }
        for part in parts {
            fetch_missing(&self.transport, self.blobs.clone(), &self.host, part, &mut 0).await?;
        }
        let (models, rollout) = (self.models.clone(), rollout.clone());
        let tried = spawn_blocking(move || models.roll_out(&rollout)).await;
        Ok(tried.map_err(|error| ClientError::Transport(std::io::Error::other(error).into()))??)
    }
}
