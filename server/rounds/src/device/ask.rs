use folkmoot_protocol::{AssignmentId, ErrorCode, Timestamp};
use folkmoot_storage::{AssignmentStatus, ClientRecord, RoundRepository};

use super::own_assignment;
use crate::{coordinator::Coordinator, refusal::Refusal};

/// Returns whether the coordinator asks a client to send its current update now.
///
/// # Errors
/// Fails if the client has no such assignment, or the assignment has ended.
pub async fn is_asked(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    now: Timestamp,
) -> Result<bool, Refusal> {
    let assignment = own_assignment(coordinator, client, id).await?;
    if assignment.status != AssignmentStatus::Outstanding || assignment.deadline <= now {
        let detail = format!("the assignment {id} has ended; check in again");
        return Err(Refusal::new(ErrorCode::AssignmentExpired, detail));
    }
    let round = coordinator.storage.round(client.organisation_id, assignment.round_id).await?;
    Ok(round.is_some_and(|record| record.round.phase.asked().is_some()))
}
