use async_trait::async_trait;
use folkmoot_coordinator::participation::{History, Waiting};
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, TaskId, Timestamp};

use crate::StorageError;

/// What clients have done for a task. It is written by the methods that record the facts: those that give
/// assignments, accept updates and drop assignments.
#[async_trait]
pub trait ParticipationRepository {
    /// Lists the population's waiting clients whose offer holds at `now` and whose key is not revoked, by client id, each
    /// with what it has done for the task.
    async fn waiting_for(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        task_id: TaskId,
        now: Timestamp,
    ) -> Result<Vec<Waiting>, StorageError>;

    /// Lists everyone who was ever given an assignment of the task, by client id.
    async fn participations(&self, task_id: TaskId) -> Result<Vec<(ClientId, History)>, StorageError>;
}
