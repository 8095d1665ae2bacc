use async_trait::async_trait;
use folkmoot_coordinator::participation::{History, Waiting};
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, TaskId, Timestamp};

use crate::StorageError;

/// Reads the histories of clients. The methods that create assignments, accept updates and drop assignments write them.
#[async_trait]
pub trait ParticipationRepository {
    /// Lists the population's waiting clients, by client id, with their histories in the task. Their check-ins
    /// are valid at `now`, and their keys are not revoked.
    async fn waiting_for(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        task_id: TaskId,
        now: Timestamp,
    ) -> Result<Vec<Waiting>, StorageError>;

    /// Lists all clients that ever got an assignment of the task, by client id.
    async fn participations(&self, task_id: TaskId) -> Result<Vec<(ClientId, History)>, StorageError>;
}
