//! Requests of edge aggregators.

use folkmoot_protocol::{AssignmentId, RoundId, TaskId, messages::UploadStatus};
use reqwest::{Method, header};

use super::{
    AdminClient, AdminError,
    request::{accepted, read},
};
use crate::rounds::aggregators::{
    AdmissionRequest, AdmissionView, AggregatorWorkRequest, AggregatorWorkView, HeldAssignmentView,
    HeldTaskView, HeldUpdateRequest, RefusedUpdateRequest,
};

impl AdminClient {
    /// Returns whether this aggregator keeps the update of an assignment.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn held_assignment(&self, id: AssignmentId) -> Result<HeldAssignmentView, AdminError> {
        self.get(&format!("aggregator/assignments/{id}")).await
    }

    /// Returns a task as an aggregator needs it.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn held_task(&self, id: TaskId) -> Result<HeldTaskView, AdminError> {
        self.get(&format!("aggregator/tasks/{id}")).await
    }

    /// Lets the coordinator verify the head of a client's request.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn admit(&self, request: &AdmissionRequest) -> Result<AdmissionView, AdminError> {
        self.send("aggregator/admissions", request).await
    }

    /// Offers an update that is checked and durable.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the update.
    pub async fn accept_held_update(&self, update: &HeldUpdateRequest) -> Result<UploadStatus, AdminError> {
        self.send("aggregator/updates", update).await
    }

    /// Reports that an update was refused.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn refuse_held_update(&self, update: &RefusedUpdateRequest) -> Result<(), AdminError> {
        let request = self.request(Method::POST, "aggregator/refusals")?;
        accepted(request.timeout(super::TIMEOUT).json(update)).await.map(|_| ())
    }

    /// Waits for work, up to `wait_seconds` of the request.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn aggregator_work(
        &self,
        request: &AggregatorWorkRequest,
    ) -> Result<AggregatorWorkView, AdminError> {
        let timeout = super::TIMEOUT + std::time::Duration::from_secs(request.wait_seconds.into());
        read(self.request(Method::POST, "aggregator/rounds")?.timeout(timeout).json(request)).await
    }

    /// Sends the sum of a round, without a timeout.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the sum.
    pub async fn send_partial_sum(&self, round: RoundId, sum: Vec<u8>) -> Result<(), AdminError> {
        let request = self
            .request(Method::POST, &format!("aggregator/rounds/{round}/sum"))?
            .header(header::CONTENT_TYPE, "application/octet-stream");
        accepted(request.body(sum)).await.map(|_| ())
    }
}
