use folkmoot_protocol::{
    AssignmentId, ErrorCode, Timestamp,
    secure::{SecureAnswered, SecureMessage, SecureProgress},
};
use folkmoot_storage::{
    AssignmentRecord, AssignmentStatus, ClientRecord, RecordOutcome, RoundRecord, RoundRepository,
    SecureRepository,
};
use folkmoot_unmasking::{Exchange, UnmaskError};

use super::own_assignment;
use crate::{coordinator::Coordinator, refusal::Refusal, signals::Signal};

/// Records a client's message of secure aggregation.
///
/// # Errors
/// Fails if the assignment belongs to another client or has ended, the step is not open, or the message is invalid or differs
/// from an earlier one.
pub async fn secure_message(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    message: &SecureMessage,
    now: Timestamp,
) -> Result<(), Refusal> {
    let (assignment, record) = open_assignment(coordinator, client, id, now).await?;
    let exchange = exchange(coordinator, &assignment, &record).await?;
    let step = exchange.check(id, &client.public_key, message).await.map_err(refusal)?;
    let text = serde_json::to_string(message).map_err(|error| Refusal::internal(&error))?;
    let turn = coordinator.tenants.turn(client.organisation_id).await;
    let outcome = coordinator.storage.record_secure(id, step, &text, now).await?;
    drop(turn);
    match outcome {
        RecordOutcome::Recorded => {
            coordinator.signal(Signal::Fact);
            if matches!(message, SecureMessage::Agreement { .. }) {
                coordinator.wake_members(&record).await?;
            }
            Ok(())
        }
        RecordOutcome::Repeated => Ok(()),
        // The update counts, and the round has enough shares without this client.
        RecordOutcome::Closed if matches!(assignment.status, AssignmentStatus::Accepted { .. }) => Ok(()),
        RecordOutcome::Conflict => Err(Refusal::new(
            ErrorCode::UpdateConflict,
            "this client has sent another message in this step before; a client must send the same message each time",
        )),
        RecordOutcome::Closed => Err(closed()),
    }
}

/// Returns the coordinator's answer to the step that a client has completed.
///
/// # Errors
/// Fails if the assignment belongs to another client, or the round continues without it.
pub async fn secure_progress(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    after: SecureAnswered,
    now: Timestamp,
) -> Result<SecureProgress, Refusal> {
    let (assignment, record) = open_assignment(coordinator, client, id, now).await?;
    let exchange = exchange(coordinator, &assignment, &record).await?;
    exchange.progress(id, after).await.map_err(refusal)
}

/// Finds an assignment that may still exchange messages, and its round.
async fn open_assignment(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    now: Timestamp,
) -> Result<(AssignmentRecord, RoundRecord), Refusal> {
    let assignment = own_assignment(coordinator, client, id).await?;
    match assignment.status {
        AssignmentStatus::Dropped { .. } => return Err(closed()),
        AssignmentStatus::Outstanding if assignment.deadline <= now => {
            let detail = "the assignment's deadline has passed; check in again";
            return Err(Refusal::new(ErrorCode::AssignmentExpired, detail));
        }
        _ => {}
    }
    let record = coordinator.storage.round(client.organisation_id, assignment.round_id).await?;
    Ok((assignment, record.ok_or_else(closed)?))
}

async fn exchange<'a>(
    coordinator: &'a Coordinator,
    assignment: &AssignmentRecord,
    record: &'a RoundRecord,
) -> Result<Exchange<'a>, Refusal> {
    let task = coordinator.catalog.task(&coordinator.storage, assignment.task_id).await?;
    coordinator.exchange(&task, record).await.map_err(refusal)
}

fn closed() -> Refusal {
    Refusal::new(ErrorCode::RoundClosed, "the round continues without this client; check in again")
}

fn refusal(error: UnmaskError) -> Refusal {
    match error {
        UnmaskError::Storage(error) => error.into(),
        UnmaskError::Stored(error) => Refusal::internal(&error),
        UnmaskError::Advertisement(_) | UnmaskError::Message(_) => {
            Refusal::new(ErrorCode::UpdateMalformed, format!("{error}; check in again"))
        }
        // Another client has spoilt the round.
        UnmaskError::OtherStep
        | UnmaskError::NotSecure
        | UnmaskError::NotSummed
        | UnmaskError::Roster(_)
        | UnmaskError::Recover(_) => closed(),
    }
}
