use async_trait::async_trait;
use folkmoot_coordinator::{round::SecureStep, scheduling::ReportCounts};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, Timestamp};

use crate::{RoundRecord, StorageError};

/// The result of an attempt to record a message of secure aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// The message is now recorded.
    Recorded,
    /// The same message was recorded before.
    Repeated,
    /// Another message was recorded for this assignment and step before.
    Conflict,
    /// The step is not open, or the assignment was dropped.
    Closed,
}

/// Stores the messages of secure aggregation until their round ends.
#[async_trait]
pub trait SecureRepository {
    /// Records an assignment's message in a step, in one transaction. It is recorded only if the assignment's round accepts
    /// messages of this step, and the assignment was not dropped.
    async fn record_secure(
        &self,
        id: AssignmentId,
        step: SecureStep,
        message: &str,
        now: Timestamp,
    ) -> Result<RecordOutcome, StorageError>;

    /// Lists the messages of a step, by assignment id. After the step was closed, the list does not change.
    async fn secure_messages(
        &self,
        round_id: RoundId,
        step: SecureStep,
    ) -> Result<Vec<(AssignmentId, String)>, StorageError>;

    /// Lists the assignments that have sent a message in a step, by id. With [`SecureRepository::secure_messages_of`], a
    /// reader fetches each message of an open step once.
    async fn secure_senders(
        &self,
        round_id: RoundId,
        step: SecureStep,
    ) -> Result<Vec<AssignmentId>, StorageError>;

    /// Reads the messages of these assignments in a step, by assignment id. Leaves out assignments without a message.
    async fn secure_messages_of(
        &self,
        ids: &[AssignmentId],
        step: SecureStep,
    ) -> Result<Vec<(AssignmentId, String)>, StorageError>;

    /// Counts a round's assignments for a step. An outstanding assignment with a message counts as accepted.
    async fn step_counts(&self, round_id: RoundId, step: SecureStep) -> Result<ReportCounts, StorageError>;

    /// Records that the assignment's client was proved to have broken the protocol. Returns the client. Repeating it changes
    /// nothing.
    async fn blame(&self, id: AssignmentId, now: Timestamp) -> Result<ClientId, StorageError>;

    /// Stores a round whose step has ended. Lets the outstanding assignments without a message expire, and deletes the messages
    /// of dropped assignments.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently.
    async fn close_step(
        &self,
        record: &RoundRecord,
        step: SecureStep,
        now: Timestamp,
    ) -> Result<(), StorageError>;
}
