use folkmoot_protocol::{
    ChannelName, TaskId,
    limits::TEXT_BYTES_MAX,
    messages::{Rollout, RolloutReport},
};
use folkmoot_work::{NotEndorsed, Note};
use tokio::task::spawn_blocking;

use super::{Client, ClientError, fetch::fetch_missing};
use crate::{
    Budget, Host, ModelStore, TransparencyLog, Transport, endorsements::Endorsements, storage::BlobCache,
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
    log: TransparencyLog,
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
            log: client.transparency_log.clone(),
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
        // One after the other, so that an older answer never replaces a newer one.
        let _turn = self.models.updating.lock().await;
        let Some(rollout) = self.transport.rollout(&self.channel).await? else {
            self.models.end_rollout()?;
            return Ok(None);
        };
        let known = self.models.knows(&rollout);
        if known.is_none() {
            self.adopt(&rollout).await?;
        }
        let Rollout { number, task_id, version, .. } = rollout;
        if known != Some(true) && self.report(number, None).await {
            self.models.note_reported(number);
        }
        Ok(Some(RolledOutModel { rollout: number, task_id, version, is_new: known.is_none() }))
    }

    async fn adopt(&self, rollout: &Rollout) -> Result<(), ClientError> {
        let number = rollout.number;
        if let Err(refused) = self.endorsements.check_rollout(rollout, self.host.now()) {
            // A wrong clock, or an endorsement that must be renewed, says nothing about the model.
            if !matches!(refused, NotEndorsed::NotYetValid | NotEndorsed::Expired) {
                self.report(number, Some(refused.to_string())).await;
            }
            return Err(ClientError::Model { rollout: number, reason: refused.to_string() });
        }
        match self.tried(rollout).await? {
            Ok(()) => Ok(()),
            Err(reason) => {
                self.report(number, Some(reason.clone())).await;
                Err(ClientError::Model { rollout: number, reason })
            }
        }
    }

    /// Tells the coordinator whether this device can use a model. Returns whether the coordinator knows it now; if not, the next
    /// update repeats it.
    async fn report(&self, number: u64, mut failure: Option<String>) -> bool {
        if let Some(failure) = &mut failure {
            failure.truncate(failure.floor_char_boundary(TEXT_BYTES_MAX));
        }
        let report = RolloutReport { number, failure };
        self.log.write(Note::rollout_reported(&report));
        let sent = self.transport.report_rollout(&report).await;
        if let Err(error) = &sent {
            tracing::debug!(%error, number, "could not report whether the rolled-out model can be used");
        }
        sent.is_ok()
    }

    /// Fetches and tries a model. The inner error says why this device cannot use it.
    async fn tried(&self, rollout: &Rollout) -> Result<Result<(), String>, ClientError> {
        let parts = [rollout.plan, rollout.model, rollout.weights];
        let bytes = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
        let max = self.budget.model_bytes_max.min(self.blobs.bytes_max());
        if bytes > max {
            return Ok(Err(format!("the model has {bytes} bytes, and this device keeps at most {max}")));
        }
        for part in parts {
            let came = fetch_missing(&self.transport, self.blobs.clone(), &self.host, part, &mut 0).await?;
            if came > 0 {
                self.log.write(Note::rollout_fetched(rollout, came));
            }
        }
        let (models, rollout) = (self.models.clone(), rollout.clone());
        let tried = spawn_blocking(move || models.roll_out(&rollout)).await;
        Ok(tried.map_err(|error| ClientError::Transport(std::io::Error::other(error).into()))??)
    }
}
