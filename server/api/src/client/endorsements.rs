//! Requests about endorsements.

use folkmoot_protocol::{TaskId, endorsement::Endorsement};

use super::{AdminClient, AdminError};
use crate::endorsements::EndorsementView;

impl AdminClient {
    /// Returns the model and the plans that a task gives to clients, and its endorsement.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn endorsement(&self, task: TaskId) -> Result<EndorsementView, AdminError> {
        self.get(&format!("tasks/{task}/endorsement")).await
    }

    /// Publishes an endorsement of a task.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request, for example because the endorsement
    /// is not about the task's plans.
    pub async fn publish_endorsement(
        &self,
        task: TaskId,
        endorsement: &Endorsement,
    ) -> Result<EndorsementView, AdminError> {
        self.send(&format!("tasks/{task}/endorsement"), endorsement).await
    }
}
